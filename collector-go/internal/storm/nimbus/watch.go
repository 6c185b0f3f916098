package nimbus

import (
	"context"
	"log/slog"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Watch reports topologies that Nimbus had and has killed, so that their silence raises no alert. Run uses it from one
// goroutine.
type Watch struct {
	Every time.Duration
	Ask   func(context.Context) ([]Topology, error)
	// Killed receives each killed topology. If it returns an error, it is called again later.
	Killed func(ctx context.Context, id, name string) error
	Logger *slog.Logger

	had     map[string]string // id -> name of the topologies that Nimbus had and that are not reported yet
	failing bool
}

// Run asks Nimbus until ctx is done.
func (w *Watch) Run(ctx context.Context) error {
	poll.Every(ctx, w.Every, func() { w.look(ctx) })
	return nil
}

// look asks once. Topologies that Nimbus never had since the start of this process are ignored: they may run in another
// cluster.
func (w *Watch) look(ctx context.Context) {
	found, err := w.Ask(ctx)
	if err != nil {
		if !w.failing && ctx.Err() == nil {
			w.Logger.Warn("querying Nimbus for topologies failed; alerts may fire for killed topologies; retrying", "error", err)
		}
		w.failing = true
		return
	}
	w.failing = false
	if w.had == nil {
		w.had = map[string]string{}
	}
	running := map[string]bool{}
	for _, t := range found {
		if !t.Killed() {
			running[t.ID] = true
			w.had[t.ID] = t.Name
		}
	}
	for id, name := range w.had {
		if running[id] {
			continue
		}
		if err := w.Killed(ctx, id, name); err != nil {
			w.Logger.Warn("storing the annotation of a killed topology failed; retrying", "topology", name, "error", err)
			continue
		}
		delete(w.had, id)
	}
}
