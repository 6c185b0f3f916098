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
