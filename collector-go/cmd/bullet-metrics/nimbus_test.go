package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/nimbus"
)

type recordedAnnotations struct {
	set    []registry.Annotation
	refuse error
}

func (a *recordedAnnotations) Annotate(_ context.Context, one registry.Annotation) (registry.Annotation, error) {
	if a.refuse == nil {
		a.set = append(a.set, one)
	}
	return one, a.refuse
}

// A topology that Nimbus had is reported as killed once, when Nimbus reports it as killed or has it no more; nothing is
// concluded from a Nimbus that does not answer, nor of topologies that it never had.
func TestWhatNimbusKilledIsReported(t *testing.T) {
	var listed []nimbus.Topology
	var fails error
	written := &recordedAnnotations{}
	k := &killings{ask: func(context.Context) ([]nimbus.Topology, error) { return listed, fails }, known: written,
		logger: slog.New(slog.DiscardHandler), had: map[string]string{}}
	names := func() (all []string) {
		k.look(t.Context())
		for _, a := range written.set {
			all = append(all, a.ID)
			assert.Contains(t, a.Tags, measure.KilledTag, "the tag that tune sets")
		}
		return all
	}
	listed = []nimbus.Topology{{ID: "b-1", Name: "b", Status: "ACTIVE"}, {ID: "c-2", Name: "c", Status: "REBALANCING"},
		{ID: "d-3", Name: "d", Status: "KILLED"}}
	assert.Empty(t, names())
	listed, fails = nil, errors.New("down")
	assert.Empty(t, names())
	listed, fails = []nimbus.Topology{{ID: "b-1", Name: "b", Status: "KILLED"},
		{ID: "c-2", Name: "c", Status: "ACTIVE"}}, nil
	written.refuse = errors.New("full")
	assert.Empty(t, names())
	written.refuse = nil
	assert.Equal(t, []string{"nimbus-b-1"}, names())
	assert.Equal(t, "b", written.set[0].Topology)
	listed = nil
	assert.Equal(t, []string{"nimbus-b-1", "nimbus-c-2"}, names())
	assert.Equal(t, []string{"nimbus-b-1", "nimbus-c-2"}, names())
}
