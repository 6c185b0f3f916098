package nimbus

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A topology that Nimbus had is reported as killed once, when Nimbus reports it as killed or has it no more; nothing is
// concluded from a Nimbus that does not answer, nor of topologies that it never had.
func TestWhatNimbusKilledIsReported(t *testing.T) {
	var listed []Topology
	var fails error
	var reported []string
	var refuse error
	w := &Watch{Ask: func(context.Context) ([]Topology, error) { return listed, fails },
		Killed: func(_ context.Context, id, name string) error {
			if refuse == nil {
				reported = append(reported, id+" "+name)
			}
			return refuse
		}, Logger: slog.New(slog.DiscardHandler)}
	names := func() []string {
		w.look(t.Context())
		return reported
	}
	listed = []Topology{{ID: "b-1", Name: "b", Status: "ACTIVE"}, {ID: "c-2", Name: "c", Status: "REBALANCING"},
		{ID: "d-3", Name: "d", Status: "KILLED"}}
	assert.Empty(t, names())
	listed, fails = nil, errors.New("down")
	assert.Empty(t, names())
	listed, fails = []Topology{{ID: "b-1", Name: "b", Status: "KILLED"},
		{ID: "c-2", Name: "c", Status: "ACTIVE"}}, nil
	refuse = errors.New("full")
	assert.Empty(t, names())
	refuse = nil
	assert.Equal(t, []string{"b-1 b"}, names())
	listed = nil
	assert.Equal(t, []string{"b-1 b", "c-2 c"}, names())
	assert.Equal(t, []string{"b-1 b", "c-2 c"}, names())
}
