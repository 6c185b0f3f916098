package experimentfile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// demoPlan is the plan of a demo with these flags.
func demoPlan(t *testing.T, d Demo) runstore.Plan {
	t.Helper()
	d.BulletConf = DemoConf
	file, text, err := d.File()
	require.NoError(t, err)
	assert.Contains(t, string(text), `conf: "`+DemoConf+`"`)
	return file.Plan()
}

// places are where on its axis a plan's only trial has its steps.
func places(t *testing.T, plan runstore.Plan) (all []float64) {
	t.Helper()
	require.Len(t, plan.Trials, 1)
	for _, s := range plan.Trials[0].Steps {
		all = append(all, s.Value)
	}
	return all
}

// The file in the binary is a whole experiment: it doubles the queries until a goal is missed, and then is done, not
// failed.
func TestTheDemosOwnExperiment(t *testing.T) {
	plan := demoPlan(t, Demo{Limit: DemoLimit})
	assert.Empty(t, plan.CostLoads, "the climb shows the cost")
	assert.Equal(t, []float64{0, 50, 100, 200, 400, 800}, places(t, plan))
	assert.Equal(t, []any{tuning.StepSearch, true, false, runstore.OfConcurrency, runstore.LocalLaunch},
		[]any{plan.Search, plan.Confirm, plan.FailFails, plan.Analysis, plan.Launch})
	assert.Equal(t, 800, plan.MostQueries())
	assert.False(t, plan.Load.RecordsPerSecond.Known(), "calibrated")
}

// All steps of a climb to the last value and both confirmations fit the time, and a longer demo has longer steps.
func TestStepsShareTheTimeOfTheDemo(t *testing.T) {
	for seconds, sustain := range map[int]int64{180: 10_000, 300: 10_000, 900: 84_000} {
		limit := time.Duration(seconds) * time.Second
		plan := demoPlan(t, Demo{Limit: limit})
		assert.Equal(t, sustain, plan.SustainMs, "%d s", seconds)
		assert.GreaterOrEqual(t, plan.SustainMs, max(tuning.LeastSlices*plan.SliceMs, 2*plan.Load.QueryDurationMs))
		if limit >= DemoLimit {
			assert.LessOrEqual(t, demoStart+8*plan.StepTime()+DemoReporting, limit, "%d s", seconds)
		}
	}
}

func TestFlagsChangeTheDemosExperiment(t *testing.T) {
	plan := demoPlan(t, Demo{Limit: DemoLimit, Queries: []int{0, 5, 10}, RecordsPerSecond: 500})
	assert.Equal(t, []float64{0, 5, 10}, places(t, plan))
	assert.Equal(t, tuning.Figure(500), plan.Load.RecordsPerSecond)
}

func TestDemosThatMakeNoSense(t *testing.T) {
	for says, d := range map[string]Demo{
		"needs at least 3m0s":                   {Limit: -time.Second},
		"at least 3 steps":                      {Queries: []int{0, 10}},
		"the first with 0 queries":              {Queries: []int{5, 10, 20}},
		"is not a whole number of queries from": {Queries: []int{0, 10, 2000}},
		"must not be negative":                  {RecordsPerSecond: -1},
	} {
		d.BulletConf, d.Limit = DemoConf, d.Limit+leastDemo
		_, _, err := d.File()
		assert.ErrorContains(t, err, says)
	}
}
