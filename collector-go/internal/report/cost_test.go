package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// mirrored is a trial of the loads 0, a, b, b, a, 0, whose cores are those given.
func mirrored(cores ...float64) column {
	c := column{label: "as it is", memoryMiB: 100}
	for i, queries := range []float64{0, 20, 60, 60, 20, 0} {
		c.cells = append(c.cells, cell{value: queries, latencyMs: 5, recordsPerS: 1000, mibPerS: 1.8, verdict: tuning.OK, cores: cores[i]})
	}
	return c
}

// Each time that a load was measured in one launch is a point of the cost's fit, so that its drift is in the interval.
func TestMirroredLoadsAreAllInTheCost(t *testing.T) {
	r, text := written(t, asRun(t, rundir.OfConcurrency, rundir.Queries, []column{mirrored(1.000, 1.030, 1.090, 1.080, 1.010, 0.970)}))
	require.Len(t, r.Judged.Concurrency, 1)
	c := r.Judged.Concurrency[0]
	assert.Equal(t, 6, c.TotalFitWhileComplete.Points)
	assert.InDelta(t, 100, float64(c.MarginalTotalWhileComplete.Value), 2, "0.1 cores in 60 queries")
	assert.Less(t, float64(c.MarginalTotalWhileComplete.Low), 85.0)
	assert.Contains(t, text, "Each query adds: 9")
}

// The seen case: the topology did less from step to step, whatever the load.
func TestAReportHasNoCostBelowNothing(t *testing.T) {
	r, text := written(t, asRun(t, rundir.OfConcurrency, rundir.Queries, []column{mirrored(1.2, 1.1, 1.0, 0.99, 1.1, 1.19)}))
	assert.False(t, r.Judged.Concurrency[0].MarginalTotal.Value.Known())
	assert.Contains(t, text, "Each query adds: not determined: the fitted slope of ")
	data, err := r.JSON()
	require.NoError(t, err)
	assert.Contains(t, string(data), `"marginal_total_cpu_ms_per_minute_per_query": {
     "value": null,
     "low": null,
     "high": null,`)
}
