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

// The file in the binary is a whole experiment: it measures a query's cost, climbs until a goal is missed, and then is
// done, not failed.
func TestTheDemosOwnExperiment(t *testing.T) {
	plan := demoPlan(t, Demo{})
	assert.Equal(t, []float64{0, 25, 50, 50, 25, 0}, plan.CostLoads)
	assert.Equal(t, []float64{0, 25, 50, 100, 200, 400}, places(t, plan))
	assert.Equal(t, []any{tuning.StepSearch, true, false, runstore.OfConcurrency, runstore.LocalLaunch},
		[]any{plan.Search, plan.Confirm, plan.FailFails, plan.Analysis, plan.Launch})
	assert.GreaterOrEqual(t, plan.SustainMs, tuning.LeastSlices*plan.SliceMs, "a mean of CPU in each step")
	assert.Equal(t, 400, plan.MostQueries())
	assert.False(t, plan.Load.RecordsPerSecond.Known(), "calibrated")
}

func TestABoundedDemoHasTheStepsThatFit(t *testing.T) {
	for seconds, want := range map[int][]float64{60: {0, 25, 50}, 180: {0, 25, 50, 100},
		3600: {0, 25, 50, 100, 200, 400}} {
		limit := time.Duration(seconds) * time.Second
		plan := demoPlan(t, Demo{Limit: limit})
		assert.Equal(t, want, places(t, plan), "%d s", seconds)
		assert.GreaterOrEqual(t, plan.SustainMs, tuning.LeastSlices*plan.SliceMs, "%d s", seconds)
		if seconds >= 180 {
			least := time.Duration(DemoLeastSteps) * plan.StepTime()
			assert.LessOrEqual(t, demoStart+least+DemoReporting, limit, "the least steps fit in %d s", seconds)
		}
	}
}

func TestFlagsChangeTheDemosExperiment(t *testing.T) {
	plan := demoPlan(t, Demo{Queries: []int{0, 5, 10}, RecordsPerSecond: 500})
	assert.Equal(t, []float64{0, 5, 10}, places(t, plan))
	assert.Empty(t, plan.CostLoads, "nobody wants 50 queries")
	assert.Equal(t, tuning.Figure(500), plan.Load.RecordsPerSecond)
	assert.NotEmpty(t, demoPlan(t, Demo{Queries: []int{0, 50, 100}}).CostLoads)
}

func TestDemosThatMakeNoSense(t *testing.T) {
	for says, d := range map[string]Demo{
		"needs at least 1m0s":                   {Limit: 59 * time.Second},
		"at least 3 steps":                      {Queries: []int{0, 10}},
		"the first with 0 queries":              {Queries: []int{5, 10, 20}},
		"is not a whole number of queries from": {Queries: []int{0, 10, 2000}},
		"must not be negative":                  {RecordsPerSecond: -1},
	} {
		d.BulletConf = DemoConf
		_, _, err := d.File()
		assert.ErrorContains(t, err, says)
	}
}
