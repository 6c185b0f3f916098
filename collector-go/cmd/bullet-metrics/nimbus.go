package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/nimbus"
)

// killings reports to the registry the topologies that Nimbus had and has killed, so that nobody is alerted by their
// silence.
type killings struct {
	every   time.Duration // how often Nimbus is asked
	ask     func(ctx context.Context) ([]nimbus.Topology, error)
	known   annotator
	logger  *slog.Logger
	had     map[string]string // by id, the name of each topology that Nimbus had and that is not reported as killed
	failing bool
}

// annotator is where annotations are set; registry.Registry is one.
type annotator interface {
	Annotate(ctx context.Context, a registry.Annotation) (registry.Annotation, error)
}

// run asks until ctx is done.
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

// look asks once. A topology that Nimbus never had since this process began is not known to be killed where it is not
// there: it may be another cluster's.
func (k *killings) look(ctx context.Context) {
	found, err := k.ask(ctx)
	if err != nil {
		if !k.failing && ctx.Err() == nil {
			k.logger.Warn("Nimbus does not say which topologies there are; where one is killed on purpose, alerts will not know; trying again",
				"error", err)
		}
		k.failing = true
		return
	}
	k.failing = false
	there := map[string]bool{}
	for _, t := range found {
		if !t.Killed() {
			there[t.ID] = true
			k.had[t.ID] = t.Name
		}
	}
	for id, name := range k.had {
		if there[id] {
			continue
		}
		_, err := k.known.Annotate(ctx, registry.Annotation{ID: "nimbus-" + id, Topology: name,
			Title: "Killed, as Nimbus reports", Text: "id " + id,
			Tags: []string{registry.KilledTag, registry.NimbusTag}})
		if err != nil {
			k.logger.Warn("that a topology was killed is not kept; trying again", "topology", name, "error", err)
			continue
		}
		delete(k.had, id)
	}
}
