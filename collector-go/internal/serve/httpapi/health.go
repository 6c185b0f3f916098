package httpapi

import (
	"fmt"
	"net/http"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// healthy answers 200 as long as the process can answer at all. Conditions such as a full disk do not matter, because
// a restart by a supervisor would not repair them.
func healthy(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "Bullet Metrics is Healthy.")
}

// ready answers 200 if the collector accepts samples, and 503 otherwise. Only callers with the read scope see the
// reason, because it contains directories and addresses.
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

// isReader reports whether the caller has the read scope. A caller without credentials has not, and this is not
// counted as a failed login: health checks call every few seconds without credentials.
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
