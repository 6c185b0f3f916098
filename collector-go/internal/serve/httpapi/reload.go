package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// Reloader reads rules, access files and settings again while the collector runs.
type Reloader interface {
	// Reload takes all or nothing: where something has a fault, the error names file and line, and what was in force
	// stays. needRestart are settings that changed and take effect with the next start only.
	Reload() (needRestart []string, err error)
	// LastReload reports whether the last reload succeeded, or the start where there was none, and when the last that
	// did so was.
	LastReload() (successful bool, at time.Time)
}

// reload answers as Prometheus does: 200, or 500 with what is wrong. It concerns all topologies, so that it is for who
// may write for all of them: unlike Prometheus' it needs no flag, since it takes what the operator put on disk, as
// SIGHUP does, and ends nothing.
func (a *api) reload(w http.ResponseWriter, r *http.Request) {
	if _, err := a.admit(r, access.Requirement{Scope: access.Write, All: true}); err != nil {
		a.turnAway(w, r, err)
		return
	}
	needRestart, err := a.options.Reloader.Reload()
	if err != nil {
		http.Error(w, "reload failed, and what was in force stays: "+err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "Bullet Metrics reloaded its rules and access files.")
	if len(needRestart) > 0 {
		fmt.Fprintf(w, "Restart it for settings that changed: %s\n", strings.Join(needRestart, ", "))
	}
}
