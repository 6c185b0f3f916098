package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// A late query of those that are held only leaves its place empty; where its latency is measured, being late is all of
// it.
func TestHowLongQueriesAreHeld(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rundir.Plan)
		step   rundir.Step
		want   tuning.Figure
	}{
		"held": {func(*rundir.Plan) {}, rundir.Step{Queries: 50}, 10_000},
		"none": {func(*rundir.Plan) {}, rundir.Step{}, tuning.Unknown},
		"started at a rate": {func(p *rundir.Plan) { p.Axis = rundir.QueriesPerSecond },
			rundir.Step{Queries: 50}, tuning.Unknown},
		"started at a rate besides": {func(p *rundir.Plan) { p.Load.QueriesPerSecond = 3 }, rundir.Step{Queries: 50},
			tuning.Unknown},
		"their latency is a goal": {func(p *rundir.Plan) { p.Goals = []tuning.Goal{{Figure: tuning.QueryLatency}} },
			rundir.Step{Queries: 50}, tuning.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			plan := rundir.Plan{Axis: rundir.Queries,
				Load: rundir.Load{QueryDurationMs: 10_000, QueriesPerSecond: tuning.Unknown}}
			c.change(&plan)
			s := &Session{o: SessionOptions{Plan: plan}}
			got := s.heldMs(c.step)
			assert.Equal(t, c.want.Known(), got.Known())
			if got.Known() {
				assert.Equal(t, c.want, got)
			}
		})
	}
}
