package measure

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// A late held query only leaves its slot empty for a while. If latency itself is measured, all of the lateness counts.
func TestHowLongQueriesAreHeld(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*runstore.Plan)
		step   runstore.Step
		want   tuning.Figure
	}{
		"held": {func(*runstore.Plan) {}, runstore.Step{Queries: 50}, 10_000},
		"none": {func(*runstore.Plan) {}, runstore.Step{}, tuning.Unknown},
		"started at a rate": {func(p *runstore.Plan) { p.Axis = runstore.QueriesPerSecond },
			runstore.Step{Queries: 50}, tuning.Unknown},
		"started at a rate besides": {func(p *runstore.Plan) { p.Load.QueriesPerSecond = 3 }, runstore.Step{Queries: 50},
			tuning.Unknown},
		"their latency is a goal": {func(p *runstore.Plan) { p.Goals = []tuning.Goal{{Figure: tuning.QueryLatency}} },
			runstore.Step{Queries: 50}, tuning.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			plan := runstore.Plan{Axis: runstore.Queries,
				Load: runstore.Load{QueryDurationMs: 10_000, QueriesPerSecond: tuning.Unknown}}
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
