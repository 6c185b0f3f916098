package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/nimbus"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/registry"
)

type annotations struct {
	set    []registry.Annotation
	refuse error
}

func (a *annotations) Annotate(_ context.Context, one registry.Annotation) (registry.Annotation, error) {
	if a.refuse == nil {
		a.set = append(a.set, one)
	}
	return one, a.refuse
}

// A topology that Nimbus had is told as killed once, when it says so or has it no more; nothing is concluded from a Nimbus that does not answer, nor
// of topologies that it never had.
func TestWhatNimbusKilledIsTold(t *testing.T) {
	var says []nimbus.Topology
	var fails error
	told := &annotations{}
	k := &killings{ask: func(context.Context) ([]nimbus.Topology, error) { return says, fails }, known: told, logger: slog.New(slog.DiscardHandler), had: map[string]string{}}
	names := func() (all []string) {
		k.look(t.Context())
		for _, a := range told.set {
			all = append(all, a.ID)
			assert.Contains(t, a.Tags, experiment.KilledTag, "the tag that tune sets")
		}
		return all
	}
	says = []nimbus.Topology{{ID: "b-1", Name: "b", Status: "ACTIVE"}, {ID: "c-2", Name: "c", Status: "REBALANCING"}, {ID: "d-3", Name: "d", Status: "KILLED"}}
	assert.Empty(t, names())
	says, fails = nil, errors.New("down")
	assert.Empty(t, names())
	says, fails = []nimbus.Topology{{ID: "b-1", Name: "b", Status: "KILLED"}, {ID: "c-2", Name: "c", Status: "ACTIVE"}}, nil
	told.refuse = errors.New("full")
	assert.Empty(t, names())
	told.refuse = nil
	assert.Equal(t, []string{"nimbus-b-1"}, names())
	assert.Equal(t, "b", told.set[0].Topology)
	says = nil
	assert.Equal(t, []string{"nimbus-b-1", "nimbus-c-2"}, names())
	assert.Equal(t, []string{"nimbus-b-1", "nimbus-c-2"}, names())
}
