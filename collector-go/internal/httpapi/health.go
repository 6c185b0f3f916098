package httpapi

import (
	"fmt"
	"net/http"
)

func healthy(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "Bullet Metrics is Healthy.")
}

// ready answers 200 when the collector can take samples, else 503 with the reason.
func (a *api) ready(w http.ResponseWriter, _ *http.Request) {
	if a.options.Ready != nil {
		if reason := a.options.Ready(); reason != "" {
			http.Error(w, "Service Unavailable: "+reason, http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "Bullet Metrics is Ready.")
}

const pageText = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Bullet Metrics</title>
<h1>Bullet Metrics</h1>
<p>The collector runs. It answers Prometheus' API here; give Grafana this address as a Prometheus data source.</p>
<ul>
<li><a href="/api/v1/labels">Labels</a> and <a href="/api/v1/metadata">metrics</a> that it knows</li>
<li><a href="/api/v1/query?query=bullet_active_queries">Queries that run now</a></li>
<li><a href="/metrics">Its own figures</a></li>
<li>Its health: <a href="/-/healthy">healthy</a>, <a href="/-/ready">ready</a></li>
</ul>
</html>
`

// page tells a person what runs here.
func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, pageText)
}
