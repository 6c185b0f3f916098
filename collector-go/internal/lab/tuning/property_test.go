package tuning

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// seeds is the number of synthetic tables on which an interval is tested. At 95% the truth is in 950 intervals on
// average, with a standard deviation of 7; more than 4 deviations are an error.
const seeds = 1000

func assertCoverage(t *testing.T, covered int, what string) {
	t.Helper()
	assert.InDelta(t, 950, covered, 28, "%s: the interval of 95%% held the truth in %d of %d", what, covered, seeds)
}

func holds(low, high Figure, truth float64) int {
	if low <= Figure(truth) && Figure(truth) <= high {
		return 1
	}
	return 0
}

func TestLinesCoverTheTruth(t *testing.T) {
	slope, origin, prediction := 0, 0, 0
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 1))
		var x, y, through []float64
		for i := range 6 {
			v := 100 * float64(i+1)
			x, y, through = append(x, v), append(y, 50+7*v+40*random.NormFloat64()),
				append(through, 7*v+40*random.NormFloat64())
		}
		l := FitLine(x, y, 0.95)
		slope += holds(l.Low, l.High, 7)
		p := l.Predict(450)
		prediction += holds(p.Low, p.High, 50+7*450+40*random.NormFloat64())
		o := FitLine(x, through, 0.95)
		origin += holds(o.ThroughOriginLow, o.ThroughOriginHigh, 7)
	}
	assertCoverage(t, slope, "slope")
	assertCoverage(t, origin, "slope through the origin")
	assertCoverage(t, prediction, "prediction of a new point")
}

// grid returns a synthetic table: capacity = 5 + 3x + N(0, deviation), as the interval of steps that contains it. The
// last rows never failed.
func grid(random *rand.Rand, rows, censored int, deviation, step float64) (out []CensoredRow) {
	for i := range rows {
		x := float64(4 * (i + 1))
		capacity, offset := 5+3*x+deviation*random.NormFloat64(), random.Float64()
		low := (math.Floor(capacity/step+offset) - offset) * step
		row := CensoredRow{X: x, Low: low, High: low + step}
		if i >= rows-censored {
			row.High = math.Inf(1)
		}
		out = append(out, row)
	}
	return out
}

func TestCensoredFitsCoverTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		rows, censored  int
		deviation, step float64
	}{
		"three rows": {3, 0, 1, 0.2}, "six rows": {6, 0, 1, 0.5}, "one censored": {6, 1, 1, 0.2},
		"steps of a deviation": {5, 0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slope, sum, failed := 0, 0.0, 0
			for seed := range uint64(seeds) {
				f := FitCensored(grid(rand.New(rand.NewPCG(seed, 2)), c.rows, c.censored, c.deviation, c.step), 0.95)
				require.True(t, f.Slope.Known(), "seed %d: %s", seed, f.Note)
				if !f.Low.Known() {
					failed++
				}
				slope += holds(f.Low, f.High, 3)
				sum += float64(f.Slope)
			}
			assert.Zero(t, failed)
			assertCoverage(t, slope, "queries per core")
			assert.InDelta(t, 3, sum/seeds, 0.05, "the mean over the seeds is the true slope")
		})
	}
}

// If steps are wide, the interval may only be too wide.
func TestWideStepsAreOnTheSafeSide(t *testing.T) {
	covered := 0
	for seed := range uint64(seeds) {
		f := FitCensored(grid(rand.New(rand.NewPCG(seed, 3)), 6, 0, 0.5, 10), 0.95)
		covered += holds(f.Low, f.High, 3)
	}
	assert.Greater(t, covered, 950-28)
}

func TestCrossingsCoverTheTruth(t *testing.T) {
	covered := 0
	for seed := range uint64(seeds) {
		e := FitCensored(grid(rand.New(rand.NewPCG(seed, 4)), 6, 0, 1, 0.5), 0.95).XFor(5 + 3*14)
		covered += holds(e.Low, e.High, 14)
	}
	assertCoverage(t, covered, "cores for a capacity")
}

func TestTheScalabilityLawCoversTheTruth(t *testing.T) {
	truth := []float64{1000, 0.05, 0.002}
	covered := make([]int, 3)
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 5))
		var n, y []float64
		for _, size := range []float64{1, 2, 4, 8, 12, 16, 24, 32} {
			n, y = append(n, size), append(y, uslAt(truth, size)+40*random.NormFloat64())
		}
		u := FitUSL(n, y, 0.95)
		for i, e := range []Estimate{u.Rate, u.Contention, u.Coherency} {
			covered[i] += holds(e.Low, e.High, truth[i])
		}
	}
	for i, what := range []string{"rate", "contention", "coherency"} {
		assertCoverage(t, covered[i], what)
	}
}

// points draws a grid of queries: rows of a few steps with rising latency.
func points(r *rapid.T) (out []QueryPoint) {
	for i, bolts := range rapid.SliceOfNDistinct(rapid.IntRange(1, 64), 1, 6, rapid.ID).Draw(r, "filter bolts") {
		latency, queries := rapid.Float64Range(1, 20).Draw(r, "latency"), 0
		for range rapid.IntRange(1, 9).Draw(r, "steps") {
			queries += rapid.IntRange(1, 80).Draw(r, "more queries")
			latency *= rapid.Float64Range(1, 6).Draw(r, "rise")
			out = append(out, QueryPoint{FilterBolts: bolts, Queries: queries, LatencyMs: latency,
				TopologyCPUCores: Figure(70 + bolts), TopologyMemoryMiB: Figure(1000 * (i + 1))})
		}
	}
	return out
}

var queryGoals = QueryGoals{LimitMs: 200, Headroom: DefaultHeadroom, Confidence: 0.95}

func text(t require.TestingT, v any) string {
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func TestTheOrderOfRowsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := points(r)
		want, err := AnalyzeQueries(rows, queryGoals)
		require.NoError(r, err)
		got, err := AnalyzeQueries(rapid.Permutation(rows).Draw(r, "shuffled"), queryGoals)
		require.NoError(r, err)
		assert.Equal(r, text(r, want), text(r, got))
		assert.NotContains(r, text(r, got), "NaN")
	})
}

// Points beyond the first failure do not change capacity, knee or fit. Only a row that was too short for a knee may
// get one.
func TestPointsBeyondTheFirstFailureMoveNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := points(r)
		before, err := AnalyzeQueries(rows, queryGoals)
		require.NoError(r, err)
		at := rapid.IntRange(0, len(before.Rows)-1).Draw(r, "row")
		row := before.Rows[at]
		if row.Capacity.FirstFail == nil {
			return
		}
		last := row.Points[len(row.Points)-1]
		more := append(rows[:len(rows):len(rows)], QueryPoint{FilterBolts: row.FilterBolts, Queries: last.Queries +
			rapid.IntRange(1, 5000).Draw(r, "further"), LatencyMs: 200.1 +
			rapid.Float64Range(0, 1e5).Draw(r, "latency"),
			TopologyCPUCores: row.TopologyCPUCores, TopologyMemoryMiB: row.TopologyMemoryMiB})
		after, err := AnalyzeQueries(more, queryGoals)
		require.NoError(r, err)
		assert.Equal(r, text(r, before.Fit), text(r, after.Fit))
		assert.Equal(r, text(r, row.Capacity), text(r, after.Rows[at].Capacity))
		if row.Knee != nil && row.Knee.Stable {
			assert.Equal(r, row.Knee.Queries, after.Rows[at].Knee.Queries)
		}
	})
}

// A failing point within the interval narrows it from above, a passing one from below.
func TestPointsWithinTheIntervalNarrowIt(t *testing.T) {
	rows := []QueryPoint{{4, 100, 10, 78, Unknown, 0, ""}, {4, 200, 900, 78, Unknown, 0, ""}}
	for _, c := range []struct {
		latency, last, first float64
	}{{900, 100, 150}, {199, 150, 200}, {200, 150, 200}} {
		q, err := AnalyzeQueries(append(rows[:2:2], QueryPoint{4, 150, c.latency, 78, Unknown, 0, ""}), queryGoals)
		require.NoError(t, err)
		assert.Equal(t, c.last, *q.Rows[0].Capacity.LastOK)
		assert.Equal(t, c.first, *q.Rows[0].Capacity.FirstFail)
	}
}

// Other units of latency change nothing; other units of cores scale the slope.
func TestUnitsScale(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	rows := grid(random, 6, 1, 2, 1)
	want := FitCensored(rows, 0.95)
	for _, c := range []struct{ x, y float64 }{{1000, 1}, {1, 1000}, {1e-6, 1e6}, {47, 0.001}} {
		var scaled []CensoredRow
		for _, r := range rows {
			scaled = append(scaled, CensoredRow{c.x * r.X, c.y * r.Low, c.y * r.High})
		}
		got := FitCensored(scaled, 0.95)
		factor := c.y / c.x
		same(t, factor*float64(want.Slope), got.Slope, 1e-6, "slope")
		same(t, factor*float64(want.Low), got.Low, 1e-6, "low")
		same(t, factor*float64(want.High), got.High, 1e-6, "high")
		same(t, c.y*float64(want.Intercept), got.Intercept, 1e-5, "intercept")
		same(t, c.y*float64(want.Deviation), got.Deviation, 1e-5, "deviation")
	}
	x, y := []float64{1, 2, 3, 5, 8}, []float64{2, 4.5, 5, 11, 15}
	line := FitLine(x, y, 0.9)
	for i := range x {
		x[i], y[i] = 1024*x[i], y[i]/60
	}
	scaled := FitLine(x, y, 0.9)
	same(t, float64(line.R2), scaled.R2, 1e-12, "R-squared")
	same(t, float64(line.High)/60/1024, scaled.High, 1e-9, "high")
	curve := []LatencyPoint{{1, 7}, {10, 8}, {20, 9}, {30, 40}, {40, 900}}
	knee, _ := FindKnee(curve, 200)
	for i := range curve {
		curve[i].LatencyMs /= 1000
	}
	seconds, _ := FindKnee(curve, 0.2)
	assert.Equal(t, knee, seconds)
}

// Synthetic grids with different numbers of censored rows.
func TestCensoredFitsRecoverAKnownSlope(t *testing.T) {
	for censored := range 2 {
		f := FitCensored(grid(rand.New(rand.NewPCG(1, 1)), 8, censored, 0.01, 0.05), 0.95)
		assert.InDelta(t, 3, float64(f.Slope), 0.01)
		assert.Equal(t, 8-censored, f.Intervals)
		assert.Equal(t, censored, f.Bounds)
		assert.Less(t, float64(f.High-f.Low), 0.05)
	}
	f := FitCensored(grid(rand.New(rand.NewPCG(1, 1)), 8, 8, 0.01, 0.05), 0.95)
	assert.False(t, f.Slope.Known() || f.Low.Known() || f.High.Known())
	assert.Contains(t, f.Note, "no row has both an OK step and a FAIL step")
	// A lower bound above the line of the others pulls it up; one below it has no effect.
	rows := []CensoredRow{{4, 16, 18}, {8, 28, 30}, {12, 40, 42}, {16, 60, math.Inf(1)}}
	up := FitCensored(rows, 0.95)
	without := FitCensored(rows[:3], 0.95)
	assert.Greater(t, up.Slope, without.Slope)
	rows[3].Low = 20
	assert.InDelta(t, float64(without.Slope), float64(FitCensored(rows, 0.95).Slope), 1e-9)
}

// Whatever the rows, no figure in the output is NaN or infinite, and a note explains each unknown one.
func TestNothingIsEverNaN(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q, err := AnalyzeQueries(points(r), queryGoals)
		require.NoError(r, err)
		out := text(r, q)
		assert.False(r, strings.Contains(out, "NaN") || strings.Contains(out, "Inf"))
		if !q.Fit.QueriesPerCore.Known() || !q.Fit.Low.Known() {
			assert.NotEmpty(r, q.Fit.Note)
		} else {
			assert.LessOrEqual(r, q.Fit.Low, q.Fit.QueriesPerCore+1e-6)
			assert.GreaterOrEqual(r, q.Fit.High, q.Fit.QueriesPerCore-1e-6)
		}
		for _, row := range q.Rows {
			if row.Capacity.LastOK != nil && row.Capacity.FirstFail != nil {
				assert.Less(r, *row.Capacity.LastOK, *row.Capacity.FirstFail)
			}
			assert.Equal(r, row.Knee == nil, row.KneeNote != "")
			if row.Recommended != nil {
				assert.LessOrEqual(r, float64(*row.Recommended), *row.Capacity.LastOK)
			}
		}
	})
}
