package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/nimbus"
)

// killings reports to the registry which topologies Nimbus killed, so that no alert fires because they are silent.
type killings struct {
	every   time.Duration // how often Nimbus is queried
	ask     func(ctx context.Context) ([]nimbus.Topology, error)
	known   annotator
	logger  *slog.Logger
	had     map[string]string // names by id, of the topologies that Nimbus had and that are not reported as killed
	failing bool
}

// annotator stores annotations. registry.Registry is one.
type annotator interface {
	Annotate(ctx context.Context, a registry.Annotation) (registry.Annotation, error)
}

// run queries Nimbus repeatedly until ctx is done.
func (k *killings) run(ctx context.Context) error {
	ticker := time.NewTicker(k.every)
	defer ticker.Stop()
	for {
		k.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look queries Nimbus once. It concludes that a topology was killed only if Nimbus has listed it since this process
// started, because another topology may belong to another cluster.
func (k *killings) look(ctx context.Context) {
	found, err := k.ask(ctx)
	if err != nil {
		if !k.failing && ctx.Err() == nil {
			k.logger.Warn("querying Nimbus for topologies failed; alerts may fire for killed topologies; retrying", "error", err)
		}
		k.failing = true
		return
	}
	k.failing = false
	running := map[string]bool{}
	for _, t := range found {
		if !t.Killed() {
			running[t.ID] = true
			k.had[t.ID] = t.Name
		}
	}
	for id, name := range k.had {
		if running[id] {
			continue
		}
		_, err := k.known.Annotate(ctx, registry.Annotation{ID: "nimbus-" + id, Topology: name,
			Title: "Killed, as Nimbus reports", Text: "id " + id,
			Tags: []string{registry.KilledTag, registry.NimbusTag}})
		if err != nil {
			k.logger.Warn("storing the annotation of a killed topology failed; retrying", "topology", name, "error", err)
			continue
		}
		delete(k.had, id)
	}
}
