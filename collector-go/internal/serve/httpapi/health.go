package httpapi

import (
	"fmt"
	"net/http"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// healthy answers 200 as long as the process can answer at all, so that a supervisor does not restart it for a full
// disk.
func healthy(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "Bullet Metrics is Healthy.")
}

// ready answers 200 when the collector accepts samples, and 503 otherwise. Only a caller that may read is given the
// reason, since it names directories and addresses.
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

// isReader reports whether the caller may read. A caller without credentials may not, and is no failed attempt either:
// health checks ask every few seconds without any.
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
