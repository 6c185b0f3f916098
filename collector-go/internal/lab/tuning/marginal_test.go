package tuning_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// rowOf returns a step of two workers with a stated total.
func rowOf(queries int, verdict tuning.Verdict, totals ...tuning.Figure) tuning.ConcurrencyRow {
	r := tuning.ConcurrencyRow{Queries: queries, Verdict: verdict, AverageResultSize: 10, Workers: 2,
		AverageGCMsPerMinute: 600}
	for _, total := range totals {
		r.Launches = append(r.Launches, tuning.LaunchCost{AverageCPUMsPerMinute: total / 2, TotalCPUMsPerMinute: total})
		r.TotalCPUMsPerMinute += total / tuning.Figure(len(totals))
	}
	r.AverageCPUMsPerMinute = r.TotalCPUMsPerMinute / 2
	return r
}

// The cost of a query comes only from complete steps, and is that of the whole topology.
func TestOnlyCompleteStepsTellWhatAQueryCosts(t *testing.T) {
	c, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{
		rowOf(0, tuning.OK, 60_000), rowOf(100, tuning.OK, 70_000), rowOf(200, tuning.OK, 80_010),
		rowOf(300, tuning.Inconclusive, 81_000),
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

	without, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{rowOf(100, tuning.OK, 70_000),
		rowOf(200, tuning.OK, 80_000)}, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	assert.False(t, without.BaselineTotalCPUMsPerMinute.Known())
	assert.Contains(t, without.Notes[0], "no step has 0 queries")
}

// Differing launches widen the interval. A line through their means would hide that.
func TestTheCostIsFittedOverLaunches(t *testing.T) {
	c, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{
		rowOf(0, tuning.OK, 58_000, 62_000), rowOf(100, tuning.OK, 68_000, 72_000),
		rowOf(200, tuning.OK, 78_000, 82_000)}, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	e := c.MarginalTotalWhileComplete
	assert.InDelta(t, 100, float64(e.Value), 1e-9)
	assert.Equal(t, 6, c.TotalFitWhileComplete.Points)
	// Calculated by hand: residuals of 2,000 six times, s = sqrt(24e6/4), se = s/sqrt(2*2*100^2), t(0.975, 4) =
	// 2.776445.
	assert.InDelta(t, 100-34.0044, float64(e.Low), 0.001)
	assert.InDelta(t, 100+34.0044, float64(e.High), 0.001)
}

// A 95% interval of a slope's change contains the truth in about 95 of 100 pairs of lines.
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
	assert.Contains(t, tuning.CompareSlopes(tuning.FitLine(nil, nil, 0.95), line(1, 1, 6), 0.95).Note,
		"not measured in both runs")
}

// measuredRow returns a step of a run with the totals of its measurements, each over the given number of slices.
func measuredRow(queries, slices int, totals ...tuning.Figure) tuning.ConcurrencyRow {
	r := rowOf(queries, tuning.OK, totals...)
	for i := range r.Launches {
		r.Launches[i].Slices = slices
	}
	return r
}

func costOf(t *testing.T, rows ...tuning.ConcurrencyRow) *tuning.Concurrency {
	t.Helper()
	c, err := tuning.AnalyzeConcurrency(rows, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	return c
}

// On a real Bullet at 0, 20 and 60 queries, whose workers were still compiling, each query seemed to add -133 ms/min
// (-147 to -119).
func TestACostBelowNothingIsNotDetermined(t *testing.T) {
	c := costOf(t, measuredRow(0, 12, 48_000, 47_900), measuredRow(20, 12, 45_300, 45_400),
		measuredRow(60, 12, 40_000, 40_020))
	for name, e := range map[string]tuning.Estimate{"total": c.MarginalTotal,
		"total while complete": c.MarginalTotalWhileComplete, "worker": c.Marginal,
		"worker while complete": c.MarginalWhileComplete, "cores": c.MarginalCores,
		"total cores": c.MarginalTotalCoresWhileComplete} {
		assert.False(t, e.Value.Known() || e.Low.Known() || e.High.Known(), "%s: %v", name, e)
		assert.Contains(t, e.Note, "below 0", name)
	}
	assert.Contains(t, c.MarginalTotal.Note, "-132.5")
	text, err := json.Marshal(c.MarginalTotal)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"value":null,"low":null,"high":null`)
}

// Mirrored loads (0 a b b a 0): the drift between repeats is in the interval, and the steady drift is not in the cost.
func TestTheDriftBetweenRepeatsIsInTheInterval(t *testing.T) {
	const perQuery, drift = 100, 400 // ms/min; the CPU falls by drift from one step to the next
	at := func(queries, first, second int) tuning.ConcurrencyRow {
		cost := func(place int) tuning.Figure { return tuning.Figure(60_000 + perQuery*queries - drift*place) }
		return measuredRow(queries, 12, cost(first), cost(second))
	}
	c := costOf(t, at(0, 0, 5), at(20, 1, 4), at(60, 2, 3))
	e := c.MarginalTotalWhileComplete
	assert.InDelta(t, perQuery, float64(e.Value), 1e-6, "the drift cancels out")
	assert.Less(t, float64(e.Low), 90.0, "and is in the interval")
	assert.Greater(t, float64(e.High), 110.0)
	steady := costOf(t, measuredRow(0, 12, 60_000, 60_010), measuredRow(20, 12, 62_000, 62_010),
		measuredRow(60, 12, 66_000, 66_010)).MarginalTotalWhileComplete
	assert.Less(t, float64(steady.High-steady.Low), 1.0)
}

// A climb that measured each step once does not show the drift. Its interval is the scatter about the line, and a note
// says so.
func TestAClimbWithoutRepeatsStatesWhatItsIntervalLacks(t *testing.T) {
	c := costOf(t, measuredRow(0, 12, 48_000), measuredRow(20, 12, 50_650), measuredRow(60, 12, 56_000))
	e := c.MarginalTotalWhileComplete
	assert.InDelta(t, 133, float64(e.Value), 1)
	assert.True(t, e.Low < 130 && e.High > 136, "%v", e)
	assert.Contains(t, e.Note, "no step was measured twice")
	assert.Equal(t, tuning.FromClimb, c.CostFrom)
	table := costOf(t, rowOf(0, tuning.OK, 48_000), rowOf(20, tuning.OK, 50_650), rowOf(60, tuning.OK, 56_000))
	assert.True(t, table.MarginalTotalWhileComplete.Low.Known(), "a table has the means of what was measured")
	assert.Contains(t, strings.Join(table.Notes, "\n"), "no step was measured twice")
}

// mirroredRow adds measurements for the cost alone to a row of the climb.
func mirroredRow(r tuning.ConcurrencyRow, slices int, totals ...tuning.Figure) tuning.ConcurrencyRow {
	r.Mirrored = measuredRow(r.Queries, slices, totals...).Launches
	return r
}

// The cost comes from the mirrored loads if they suffice, otherwise from the climb, otherwise it is not determined.
// The result states which.
func TestWhichStepsTheCostIsFrom(t *testing.T) {
	missed := rowOf(100, tuning.Fail)
	missed.AverageCPUMsPerMinute, missed.TotalCPUMsPerMinute = 10_000, 20_000
	climb := []tuning.ConcurrencyRow{measuredRow(0, 3, 60_000), measuredRow(20, 3, 62_010, 61_990),
		measuredRow(60, 3, 66_000), missed}
	starved := rowOf(50, tuning.Inconclusive)
	starved.AverageCPUMsPerMinute, starved.TotalCPUMsPerMinute = 5_000, 10_000
	starved.Launches, missed.Launches = []tuning.LaunchCost{}, []tuning.LaunchCost{}
	with := func(zero, twenty, sixty tuning.ConcurrencyRow) []tuning.ConcurrencyRow {
		return []tuning.ConcurrencyRow{zero, twenty, sixty, missed}
	}
	for name, c := range map[string]struct {
		rows []tuning.ConcurrencyRow
		from tuning.CostSource
		cost tuning.Figure
		why  string
	}{
		"mirrored loads": {with(mirroredRow(climb[0], 3, 60_000, 60_010), mirroredRow(climb[1], 3, 64_000, 64_010),
			mirroredRow(climb[2], 3, 72_000, 72_010)),
			tuning.FromMirroredLoads, 200, ""},
		"no mirrored loads": {climb, tuning.FromClimb, 100, ""},
		"mirrored loads of too few slices": {with(mirroredRow(climb[0], 2, 60_000, 60_010),
			mirroredRow(climb[1], 2, 64_000, 64_010), climb[2]), tuning.FromClimb, 100, ""},
		"mirrored loads that ended half-way": {with(mirroredRow(climb[0], 3, 60_000),
			mirroredRow(climb[1], 3, 64_000), mirroredRow(climb[2], 3, 72_000)), tuning.FromClimb, 100, ""},
		"mirrored loads that fell": {with(mirroredRow(climb[0], 3, 60_000, 60_010),
			mirroredRow(climb[1], 3, 58_000, 58_010), climb[2]), tuning.FromMirroredLoads, tuning.Unknown, "below 0"},
		"a climb of two steps": {[]tuning.ConcurrencyRow{measuredRow(0, 3, 60_000),
			measuredRow(20, 3, 62_000), missed}, tuning.FromClimb, tuning.Unknown, "2 of the capacity steps were OK"},
		"a climb of too few slices": {[]tuning.ConcurrencyRow{measuredRow(0, 3, 60_000),
			measuredRow(20, 3, 62_000), measuredRow(60, 2, 66_000)}, tuning.FromClimb, tuning.Unknown,
			"2 of the capacity steps were OK and had at least 3 slices"},
		"a climb of which no step was OK": {[]tuning.ConcurrencyRow{starved, missed}, tuning.FromClimb,
			tuning.Unknown, "0 of the capacity steps were OK"},
		"a climb that fell": {[]tuning.ConcurrencyRow{measuredRow(0, 3, 66_000),
			measuredRow(20, 3, 64_000), measuredRow(60, 3, 60_000)}, tuning.FromClimb, tuning.Unknown, "below 0"},
		"a climb that scatters by more than that": {[]tuning.ConcurrencyRow{measuredRow(0, 3, 60_000),
			measuredRow(20, 3, 66_000), measuredRow(60, 3, 62_000)}, tuning.FromClimb, tuning.Unknown,
			"may be 0: the scatter of the steps"},
	} {
		t.Run(name, func(t *testing.T) {
			got := costOf(t, c.rows...)
			assert.Equal(t, c.from, got.CostFrom)
			for which, e := range map[string]tuning.Estimate{"all": got.MarginalTotal,
				"complete": got.MarginalTotalWhileComplete} {
				require.Equal(t, c.cost.Known(), e.Value.Known(), "%s: %v", which, e)
				assert.Equal(t, e.Value.Known(), e.Low.Known() && e.Low > 0, "%s: %v", which, e)
				if c.cost.Known() {
					assert.InDelta(t, float64(c.cost), float64(e.Value), 1, which)
				}
				assert.Contains(t, e.Note, c.why)
			}
			text, err := json.Marshal(got)
			require.NoError(t, err)
			assert.Contains(t, string(text), `"cost_from":"`+string(c.from)+`"`)
		})
	}
}

func TestTooFewSlicesHaveNoCost(t *testing.T) {
	c := costOf(t, measuredRow(0, 2, 48_000, 48_100), measuredRow(20, 2, 50_650, 50_700),
		measuredRow(60, 30, 56_000, 56_100))
	assert.False(t, c.MarginalTotal.Value.Known())
	assert.Contains(t, c.MarginalTotal.Note, "2 of the capacity steps were OK and had at least 3 slices")
	assert.Contains(t, strings.Join(c.Notes, "\n"),
		"4 of 6 measurements have fewer than 3 slices; the cost per query is estimated without them")
}

func TestAChangeOfACostBelowNothingIsNone(t *testing.T) {
	below := tuning.FitLine([]float64{0, 20, 60, 60}, []float64{48_000, 45_300, 40_000, 40_010}, 0.95)
	above := tuning.FitLine([]float64{0, 20, 60, 60}, []float64{48_000, 50_000, 54_000, 54_010}, 0.95)
	for _, d := range []tuning.Difference{tuning.CompareSlopes(below, above, 0.95),
		tuning.CompareSlopes(above, below, 0.95)} {
		assert.False(t, d.Clear)
		assert.False(t, d.Change.Value.Known() || d.Ratio.Value.Known(), "%v", d)
		assert.Contains(t, d.Note, "below 0")
	}
}
