package report

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

// A line is solid over the points to which it was fitted, and dashed beyond.
func TestAFitIsDashedBeyondItsPoints(t *testing.T) {
	all := fitOver("fit", 1, []float64{20, 5, 10}, 0, 30, func(x float64) Figure { return Figure(2 * x) })
	require.Len(t, all, 3)
	ends := func(p chart.Points) []float64 { return []float64{p.X[0], p.X[len(p.X)-1]} }
	assert.Equal(t, []float64{5, 20}, ends(all[0]))
	assert.False(t, all[0].Dashed)
	assert.Equal(t, []float64{0, 5}, ends(all[1]))
	assert.Equal(t, []float64{20, 30}, ends(all[2]))
	assert.True(t, all[1].Dashed && all[2].Dashed)
	assert.Len(t, fitOver("fit", 1, []float64{0, 30}, 0, 30, func(x float64) Figure { return Figure(x) }), 1)
}

// The chart of a query's cost draws the fitted points, and the line only over their range.
func TestTheCostsFigureDrawsWhatWasFitted(t *testing.T) {
	var rows []tuning.ConcurrencyRow
	for queries, cores := range map[int]float64{0: 1, 20: 1.02, 50: 1.05} {
		cpu := Figure(cores * 60_000)
		measured := []tuning.LaunchCost{{AverageCPUMsPerMinute: cpu, TotalCPUMsPerMinute: cpu, Slices: 9},
			{AverageCPUMsPerMinute: cpu + 90, TotalCPUMsPerMinute: cpu + 90, Slices: 9}}
		rows = append(rows, tuning.ConcurrencyRow{Queries: queries, Verdict: tuning.OK, Workers: 1,
			AverageResultSize: 10, AverageCPUMsPerMinute: cpu, TotalCPUMsPerMinute: cpu,
			Launches: []tuning.LaunchCost{}, Mirrored: measured})
	}
	for _, queries := range []int{100, 200} { // steps of the search for the capacity
		rows = append(rows, tuning.ConcurrencyRow{Queries: queries, Verdict: tuning.OK, Workers: 1,
			AverageResultSize: 10, AverageCPUMsPerMinute: 90_000, TotalCPUMsPerMinute: 90_000,
			Launches: []tuning.LaunchCost{{AverageCPUMsPerMinute: 90_000, TotalCPUMsPerMinute: 90_000, Slices: 9}},
			Mirrored: []tuning.LaunchCost{}})
	}
	goals := tuning.DefaultGoals()
	c, err := tuning.AnalyzeConcurrency(rows, goals, 0.95)
	require.NoError(t, err)
	require.Equal(t, tuning.FromMirroredLoads, c.CostFrom)
	plot := costChart(c)
	named := func(name string) chart.Points {
		i := slices.IndexFunc(plot.Points, func(p chart.Points) bool { return p.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		return plot.Points[i]
	}
	assert.Equal(t, []float64{0, 0, 20, 20, 50, 50}, named("measured, cost steps").X)
	assert.Equal(t, []float64{100, 200}, named("other steps, not fitted (hollow: not OK)").X)
	assert.InDelta(t, 50, slices.Max(named("least squares").X), 1e-9, "and no further")
	for _, p := range plot.Points {
		assert.False(t, p.Dashed)
	}
}

// A step that was OK in one attempt and FAIL in another is inconclusive, so its point is hollow. A step without queries
// is filled, although it is called a baseline.
func TestAStepWhoseAttemptsDisagreeIsHollow(t *testing.T) {
	c := &tuning.Concurrency{Steps: []tuning.ConcurrencyStep{{Queries: 0, Verdict: tuning.Baseline},
		{Queries: 100, Verdict: tuning.OK, AverageResultSize: 10},
		{Queries: 200, Verdict: tuning.Inconclusive, AverageResultSize: 5},
		{Queries: 400, Verdict: tuning.Fail, AverageResultSize: 4}}}
	assert.Equal(t, []bool{true, true, false, false}, completenessChart(c).Points[0].Full)
}
