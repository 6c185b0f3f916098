package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// demoPlan is the plan of a demo with these flags.
func demoPlan(t *testing.T, o demoOptions) runstore.Plan {
	t.Helper()
	o.stack.BulletConf = demoConf
	file, text, err := o.experiment(true)
	require.NoError(t, err)
	assert.Contains(t, string(text), `conf: "`+demoConf+`"`)
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
	plan := demoPlan(t, demoOptions{})
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
		o := demoOptions{seconds: seconds}
		plan := demoPlan(t, o)
		assert.Equal(t, want, places(t, plan), "%d s", seconds)
		assert.GreaterOrEqual(t, plan.SustainMs, tuning.LeastSlices*plan.SliceMs, "%d s", seconds)
		if seconds >= 180 {
			least := time.Duration(leastSteps) * plan.StepTime()
			assert.LessOrEqual(t, demoStart+least+demoReporting, o.bound(), "the least steps fit in %d s", seconds)
		}
	}
}

func TestFlagsChangeTheDemosExperiment(t *testing.T) {
	plan := demoPlan(t, demoOptions{queries: []int{0, 5, 10}, recordsPerSecond: 500})
	assert.Equal(t, []float64{0, 5, 10}, places(t, plan))
	assert.Empty(t, plan.CostLoads, "nobody wants 50 queries")
	assert.Equal(t, tuning.Figure(500), plan.Load.RecordsPerSecond)
	assert.NotEmpty(t, demoPlan(t, demoOptions{queries: []int{0, 50, 100}}).CostLoads)
}

func TestSecondsOfTheEnvironment(t *testing.T) {
	t.Setenv(secondsVariable, "90")
	o := demoOptions{seconds: 180, stack: stack.Options{BulletConf: demoConf}}
	_, _, err := o.experiment(false)
	require.NoError(t, err)
	assert.Equal(t, 90, o.seconds)
	t.Setenv(secondsVariable, "soon")
	_, _, err = o.experiment(false)
	assert.ErrorContains(t, err, `DEMO_SECONDS="soon" is not a whole number of seconds`)
	_, _, err = o.experiment(true)
	assert.NoError(t, err, "the flag is given")
}

func TestDemosThatMakeNoSense(t *testing.T) {
	for says, o := range map[string]demoOptions{
		"cannot be bounded to less than 1m0s": {seconds: 59},
		"at least 3 steps":                    {queries: []int{0, 10}},
		"the first has 0 queries":             {queries: []int{5, 10, 20}},
		"is not a whole number of queries up": {queries: []int{0, 10, 2000}},
		"is below 0":                          {recordsPerSecond: -1},
	} {
		o.stack.BulletConf = demoConf
		_, _, err := o.experiment(true)
		assert.ErrorContains(t, err, says)
	}
}
