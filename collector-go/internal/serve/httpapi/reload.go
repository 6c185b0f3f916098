package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// Reloader reloads rules, access files and settings while the collector runs.
type Reloader interface {
	// Reload applies all files or none. If a file is invalid, the error names the file and the line, and the previous
	// configuration stays in force. needRestart are changed settings that take effect only after a restart.
	Reload() (needRestart []string, err error)
	// LastReload reports whether the last reload succeeded, and the time of the last successful one. Before the first
	// reload, the start of the collector counts as one.
	LastReload() (successful bool, at time.Time)
}

// reload answers /-/reload as Prometheus does: 200, or 500 with the error. The caller needs write access for all
// topologies, because a reload affects all of them. Unlike in Prometheus, no flag is needed. A reload only applies
// files that the operator has put on disk, as SIGHUP does, and it cannot stop the process.
func (a *api) reload(w http.ResponseWriter, r *http.Request) {
	if _, err := a.admit(r, access.Requirement{Scope: access.Write, All: true}); err != nil {
		a.turnAway(w, r, err)
		return
	}
	needRestart, err := a.options.Reloader.Reload()
	if err != nil {
		http.Error(w, "reload failed; the previous rules and access files remain in use: "+err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "Reloaded rules and access files.")
	if len(needRestart) > 0 {
		fmt.Fprintf(w, "These changed settings need a restart: %s\n", strings.Join(needRestart, ", "))
	}
}
