package httpapi

import (
	"context"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
)

// api holds what the handlers share.
type api struct {
	options Options
	engine  *query.Engine
	now     func() time.Time
	started time.Time
}

// New returns the handler alone.
func New(options Options) (http.Handler, error) {
	switch {
	case options.Engine == nil || options.Gatherer == nil:
		return nil, errors.New("httpapi: an engine and a gatherer are required")
	case options.MaxBodyBytes < 1 || options.RequestTimeout <= 0 || options.ShutdownTimeout <= 0:
		return nil, errors.New("httpapi: the limits must be above 0; start from DefaultOptions")
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	a := &api{options: options, engine: options.Engine, now: time.Now, started: time.Now()}
	return a.guard(a.routes()), nil
}

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	both := func(path string, handle func(*http.Request) answer) {
		mux.Handle("GET /api/v1/"+path, a.answering(handle))
		mux.Handle("POST /api/v1/"+path, a.answering(handle))
	}
	both("query", a.instant)
	both("query_range", a.rangeOf)
	both("format_query", a.formatQuery)
	both("labels", a.labelNames)
	both("series", a.series)
	mux.Handle("GET /api/v1/label/{name}/values", a.answering(a.labelValues))
	mux.Handle("GET /api/v1/metadata", a.answering(a.metadata))
	mux.Handle("GET /api/v1/status/buildinfo", a.answering(func(*http.Request) answer { return answer{data: a.options.Version} }))
	mux.Handle("GET /api/v1/status/runtimeinfo", a.answering(a.runtimeInfo))
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.options.Gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "healthy") })
	mux.HandleFunc("GET /-/ready", a.ready)
	mux.HandleFunc("GET /{$}", a.front)
	return mux
}

// answering turns a handler's answer into a response.
func (a *api) answering(handle func(*http.Request) answer) http.Handler {
	return gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			a.send(w, r, failed(badData, err))
			return
		}
		a.send(w, r, handle(r))
	}))
}

func (a *api) send(w http.ResponseWriter, r *http.Request, found answer) {
	if found.close != nil {
		defer found.close()
	}
	if err := found.write(w, r.FormValue("query")); err != nil {
		a.options.Logger.Debug("an answer was not sent whole", "path", r.URL.Path, "error", err)
	}
}

// guard applies what holds for every request: the Host header, the size of a body, the time it may take.
func (a *api) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.known(r.Host) {
			say(w, http.StatusForbidden, "this server does not answer to the name "+r.Host+"; http.allowed_hosts lists further names")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), a.options.RequestTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, a.options.MaxBodyBytes)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// known refuses names that are not ours, so that no web page can reach the collector through a name of its own (DNS rebinding).
func (a *api) known(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip := net.ParseIP(host); ip != nil || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(a.options.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

func (a *api) ready(w http.ResponseWriter, _ *http.Request) {
	if a.options.Ready != nil {
		if reason := a.options.Ready(); reason != "" {
			say(w, http.StatusServiceUnavailable, "not ready: "+reason)
			return
		}
	}
	say(w, http.StatusOK, "ready")
}

// runtimeInfo is the part of Prometheus' answer that holds here.
func (a *api) runtimeInfo(*http.Request) answer {
	return answer{data: map[string]any{
		"startTime":      a.started.UTC(),
		"goroutineCount": runtime.NumGoroutine(),
		"GOMAXPROCS":     runtime.GOMAXPROCS(0),
	}}
}

var frontPage = template.Must(template.New("front").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Bullet Metrics</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:3em auto;max-width:40em;padding:0 1em;color-scheme:light dark}</style>
<h1>Bullet Metrics</h1>
<p>The collector {{.Version}} is up.</p>
<ul>
<li><a href="/api/v1/query?query=bullet_worker_info">workers</a>, <a href="/api/v1/label/__name__/values">metrics</a> (Prometheus API)</li>
<li><a href="/metrics">the collector's own figures</a></li>
<li><a href="/-/ready">whether it is ready</a></li>
</ul></html>
`))

// front says what runs. The page with live figures takes its place.
func (a *api) front(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	if err := frontPage.Execute(w, a.options.Version); err != nil {
		a.options.Logger.Debug("the page was not sent whole", "error", err)
	}
}
