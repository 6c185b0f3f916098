package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// mirrored returns a trial that measures the loads 0, a, b, b, a, 0 for the cost, with the given used cores.
func mirrored(cores ...float64) column {
	c := column{label: "as it is", memoryMiB: 100}
	for i, queries := range []float64{0, 20, 60, 60, 20, 0} {
		c.cells = append(c.cells, cell{kind: runstore.CostStep, value: queries, latencyMs: 5, recordsPerS: 1000,
			mibPerS: 1.8, verdict: tuning.OK, cores: cores[i]})
	}
	return c
}

// The steps of the capacity are not points of the cost, because the cost rises near the capacity. The cost steps do not
// affect the capacity.
func TestTheCostAndTheCapacityAreMeasuredApart(t *testing.T) {
	c := mirrored(1.000, 1.030, 1.090, 1.080, 1.010, 0.970)
	c.cells[2].verdict = tuning.Fail // does not affect the capacity
	for _, step := range []cell{{value: 100, cores: 1.6, verdict: tuning.OK},
		{value: 200, cores: 1.7, verdict: tuning.Fail}, {value: 100, cores: 1.5, verdict: tuning.OK},
		{value: 200, cores: 1.9, verdict: tuning.OK}} {
		step.latencyMs, step.recordsPerS, step.mibPerS = 5, 1000, 1.8
		c.cells = append(c.cells, step)
	}
	r, text := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{c}))
	cost := r.Results.Concurrency[0]
	assert.Equal(t, 5, cost.CPUFit.Points, "the cost's loads that were OK")
	assert.Less(t, float64(cost.Marginal.Value), 120.0, "0.1 cores in 60 queries, not 0.6 in 100")
	assert.Contains(t, text, "the cost per query is fitted to the dedicated cost steps")
	assert.Equal(t, "at least 100", r.Rows[0].Capacity.String())
	assert.Equal(t, []float64{200}, r.Rows[0].Capacity.Inconclusive, "its attempts contradict each other")
	assert.Contains(t, section(t, text, "Steps that were not OK"), "200 queries (FAIL; another attempt was OK): ",
		"what the attempt before its last missed is explained")
	verdicts := map[int]tuning.Verdict{}
	for _, s := range cost.Steps {
		verdicts[s.Queries] = s.Verdict
	}
	assert.Equal(t, map[int]tuning.Verdict{0: tuning.Baseline, 20: tuning.OK, 60: tuning.OK, 100: tuning.OK,
		200: tuning.Inconclusive}, verdicts)
	first, steps, _ := strings.Cut(text, "\n## ")
	assert.NotContains(t, first, "for the cost |", "the first table is the climb")
	_, costSteps, _ := strings.Cut(section(t, "\n## "+steps, "Steps"), "### Cost steps")
	assert.Equal(t, 6, strings.Count(costSteps, "for the cost |"), "and the others are apart")
	answer := strings.Join(r.Answer(), "\n")
	assert.Regexp(t, `(?m)^  as it is: each query adds \d+ ms/min of CPU in the whole topology \(95%: `, answer)
	assert.Contains(t, answer, "  as it is: the limiter is unknown", "an attempt at 200 failed without evidence")
}

// Each measurement of a load in one launch is a point of the cost's fit, so that the drift widens the interval.
func TestMirroredLoadsAreAllInTheCost(t *testing.T) {
	r, text := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries,
		[]column{mirrored(1.000, 1.030, 1.090, 1.080, 1.010, 0.970)}))
	require.Len(t, r.Results.Concurrency, 1)
	c := r.Results.Concurrency[0]
	assert.Equal(t, 6, c.TotalFitWhileComplete.Points)
	assert.InDelta(t, 100, float64(c.MarginalTotalWhileComplete.Value), 2, "0.1 cores in 60 queries")
	assert.Less(t, float64(c.MarginalTotalWhileComplete.Low), 85.0)
	assert.Contains(t, text, "each query adds: 100 ms/min of CPU (95%: 63 to 136)", "two digits of half the interval")
}

// A case that occurred: the topology used less CPU from step to step, whatever the load.
func TestAReportHasNoCostBelowNothing(t *testing.T) {
	r, text := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries,
		[]column{mirrored(1.2, 1.1, 1.0, 0.99, 1.1, 1.19)}))
	assert.False(t, r.Results.Concurrency[0].MarginalTotal.Value.Known())
	assert.Contains(t, text, "Each query adds: not determined: the fitted slope of ")
	data, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	assert.Contains(t, string(data), `"marginal_total_cpu_ms_per_minute_per_query": {
     "value": null,
     "low": null,
     "high": null,`)
}

// MiB/s come from the bytes that the source counted. If it counts none, they are computed from the stated record size
// and called an estimate.
func TestMiBPerSecondAreCountedOrCalledAnEstimate(t *testing.T) {
	counted, estimated := mirrored(1, 1, 1, 1, 1, 1), mirrored(1, 1, 1, 1, 1, 1)
	for i := range counted.cells {
		counted.cells[i].bytesPerS = 3 << 20
	}
	r, text := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{counted}))
	assert.InDelta(t, 3, float64(r.Trials[0].Report.Steps[1].MiBPerSecond), 1e-9, "not the 1.8 of 1,843 bytes a record")
	assert.InDelta(t, 3, float64(r.Volume.MiBPerSecond), 1e-9)
	assert.NotContains(t, text, "MiB/s is an estimate")
	r, text = written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{estimated}))
	assert.InDelta(t, 1.8, float64(r.Volume.MiBPerSecond), 1e-9)
	assert.Contains(t, text,
		"MiB/s is an estimate: records/s times the stated mean record size (1,843 bytes), because the source does not count bytes.")
}

// The queries were not meant to find any record, so an average result size of 0.00 would be meaningless.
func TestNoResultSizeWhereNoneWasToMatch(t *testing.T) {
	dir := asRun(t, runstore.OfConcurrency, runstore.Queries, []column{mirrored(1, 1, 1, 1, 1, 1)})
	edited(t, dir, runstore.PlanFile, func(plan *runstore.Plan) { plan.Load.MatchingPerSecond = 0 })
	r, text := written(t, dir)
	assert.False(t, r.Trials[0].Report.Steps[1].AverageResultSize.Known())
	assert.NotContains(t, text, "A step is OK if its average result size")
	assert.Contains(t, text, "Completeness is not judged, because no records were made for the queries to find.")
}
