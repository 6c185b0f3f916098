package tuning_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// rowOf is a step of two workers whose total is told.
func rowOf(queries int, verdict tuning.Verdict, totals ...tuning.Figure) tuning.ConcurrencyRow {
	r := tuning.ConcurrencyRow{Queries: queries, Verdict: verdict, AverageResultSize: 10, Workers: 2, AverageGCMsPerMinute: 600}
	for _, total := range totals {
		r.Launches = append(r.Launches, tuning.LaunchCost{AverageCPUMsPerMinute: total / 2, TotalCPUMsPerMinute: total})
		r.TotalCPUMsPerMinute += total / tuning.Figure(len(totals))
	}
	r.AverageCPUMsPerMinute = r.TotalCPUMsPerMinute / 2
	return r
}

// What a query costs while all is well comes from the steps that say so, in the whole topology.
func TestOnlyCompleteStepsTellWhatAQueryCosts(t *testing.T) {
	c, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{
		rowOf(0, tuning.OK, 60_000), rowOf(100, tuning.OK, 70_000), rowOf(200, tuning.OK, 80_010), rowOf(300, tuning.Inconclusive, 81_000),
		rowOf(400, tuning.Limited, 82_000), rowOf(500, tuning.Fail, 83_000)}, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	assert.InDelta(t, 60_000, float64(c.BaselineTotalCPUMsPerMinute), 1e-9)
	assert.InDelta(t, 1, float64(c.BaselineTotalCPUCores), 1e-9)
	assert.InDelta(t, 100.05, float64(c.MarginalTotalWhileComplete.Value), 1e-9)
	assert.InDelta(t, 50.025, float64(c.MarginalWhileComplete.Value), 1e-9)
	assert.Less(t, float64(c.MarginalTotal.Value), 50.0, "over all steps the cost looks lower")
	assert.InDelta(t, 100.05/60_000, float64(c.MarginalTotalCoresWhileComplete.Value), 1e-12)
	assert.Equal(t, 3, c.TotalFitWhileComplete.Points)
	assert.InDelta(t, 1200, float64(c.Steps[0].TotalGCMsPerMinute), 1e-9)

	without, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{rowOf(100, tuning.OK, 70_000), rowOf(200, tuning.OK, 80_000)}, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	assert.False(t, without.BaselineTotalCPUMsPerMinute.Known())
	assert.Contains(t, without.Notes[0], "no step of 0 queries")
}

// Launches that differ widen the interval, which a line through their means hides.
func TestTheCostIsFittedOverLaunches(t *testing.T) {
	c, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{
		rowOf(0, tuning.OK, 58_000, 62_000), rowOf(100, tuning.OK, 68_000, 72_000), rowOf(200, tuning.OK, 78_000, 82_000)}, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	e := c.MarginalTotalWhileComplete
	assert.InDelta(t, 100, float64(e.Value), 1e-9)
	assert.Equal(t, 6, c.TotalFitWhileComplete.Points)
	// By hand: residuals of 2,000 six times, s = sqrt(24e6/4), se = s/sqrt(2*2*100^2), t(0.975, 4) = 2.776445.
	assert.InDelta(t, 100-34.0044, float64(e.Low), 0.001)
	assert.InDelta(t, 100+34.0044, float64(e.High), 0.001)
}

// An interval of 95% of a slope's change holds the truth in about 95 of 100 pairs of lines.
func TestTheChangeOfASlopeHoldsTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 5))
	line := func(slope, scatter float64, n int) tuning.Line {
		var x, y []float64
		for i := range n {
			x = append(x, float64(i))
			y = append(y, 7+slope*float64(i)+scatter*random.NormFloat64())
		}
		return tuning.FitLine(x, y, 0.95)
	}
	held, pairs := 0, 2000
	for range pairs {
		d := tuning.CompareSlopes(line(10, 3, 6), line(7, 9, 9), 0.95)
		if d.Change.Low <= -3 && -3 <= d.Change.High {
			held++
		}
	}
	assert.InDelta(t, 0.95, float64(held)/float64(pairs), 0.015)
	d := tuning.CompareSlopes(line(10, 0.01, 6), line(5, 0.01, 6), 0.95)
	assert.True(t, d.Clear)
	assert.InDelta(t, -0.5, float64(d.Ratio.Value), 0.01)
	assert.True(t, d.Ratio.Low <= d.Ratio.Value && d.Ratio.Value <= d.Ratio.High)
	assert.Contains(t, tuning.CompareSlopes(line(1, 1, 2), line(1, 1, 6), 0.95).Note, "no interval")
	assert.Contains(t, tuning.CompareSlopes(tuning.FitLine(nil, nil, 0.95), line(1, 1, 6), 0.95).Note, "not measured on both sides")
}
