package httpapi

import (
	"fmt"
	"net/http"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

func healthy(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "Bullet Metrics is Healthy.")
}

// ready answers 200 when the collector can take samples, else 503 with the reason for who may read.
func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if a.options.Ready != nil {
		if reason := a.options.Ready(); reason != "" {
			text := "Service Unavailable"
			if a.isReader(r) {
				text += ": " + reason
			}
			http.Error(w, text, http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "Bullet Metrics is Ready.")
}

// isReader reports whether who asks may read; who shows nothing where something is asked for is not one, and is not
// turned away either.
func (a *api) isReader(r *http.Request) bool {
	guard := a.options.Guard
	if guard == nil || !guard.Guarded() {
		return true
	}
	if r.Header.Get("Authorization") == "" && (r.TLS == nil || len(r.TLS.PeerCertificates) == 0) {
		return false
	}
	_, err := a.admit(r, access.Requirement{Scope: access.Read})
	return err == nil
}
