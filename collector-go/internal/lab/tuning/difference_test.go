package tuning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// series returns a first-order autoregression about a mean with deviation 1. Neighbours have the given correlation.
func series(random *rand.Rand, n int, mean, correlation float64) []Figure {
	out := make([]Figure, n)
	state := random.NormFloat64()
	for i := range out {
		out[i] = Figure(mean + state)
		state = correlation*state + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
	}
	return out
}

// coveredChange returns how often in 1,000 synthetic pairs the intervals contain the true change of 2.
func coveredChange(before, after, n int, correlation, betweenLaunches float64) (change, ratio int) {
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		measure := func(launches int, mean float64) (m Repeated) {
			for range launches {
				m = append(m, series(random, n, mean+betweenLaunches*random.NormFloat64(), correlation))
			}
			return m
		}
		d := Compare(measure(before, 20), measure(after, 22), 0.95)
		change += holds(d.Change.Low, d.Change.High, 2)
		ratio += holds(d.Ratio.Low, d.Ratio.High, 0.1)
	}
	return change, ratio
}

// A 95% interval must contain the truth in about 950 of 1,000 cases, whatever the autocorrelation and the variation
// between launches. With two launches per side there is hardly a degree of freedom, so it may be a few more.
func TestTheIntervalOfAChangeHoldsTheTruth(t *testing.T) {
	for _, c := range []struct {
		before, after, slices int
		correlation           float64
		between               float64
		least                 int
	}{
		{2, 2, 4, 0, 0, 940}, {2, 2, 30, 0.8, 1, 940}, {3, 3, 4, 0.5, 1, 930}, {5, 5, 30, 0.8, 1, 930},
		{1, 3, 30, 0.5, 1, 930}, {5, 1, 30, 0.5, 2, 930},
	} {
		t.Run(fmt.Sprintf("%d launches against %d of %d slices, correlation %g", c.before, c.after, c.slices,
			c.correlation), func(t *testing.T) {
			change, ratio := coveredChange(c.before, c.after, c.slices, c.correlation, c.between)
			t.Logf("change in %d, ratio in %d of 1000", change, ratio)
			assert.GreaterOrEqual(t, change, c.least)
			assert.GreaterOrEqual(t, ratio, c.least-10)
			assert.LessOrEqual(t, change, 990, "an interval that always holds it is too wide")
		})
	}
}

func TestCompareSaysWhatItIsMadeFrom(t *testing.T) {
	a, b := Repeated{{10, 12, 11, Unknown, 13}}, Repeated{{20, 22, 21, 23}}
	d := Compare(append(a, a[0], Repeated{{10, 10.5}}[0]), append(b, b[0], b[0]), 0.95)
	assert.Equal(t, "Welch's t over the means of 3 and 3 launches", d.Method)
	assert.True(t, d.Clear)
	assert.Empty(t, d.Note)

	d = Compare(Repeated{{5, 5}, {5}}, Repeated{{5, 5}, {5}}, 0.95)
	assert.False(t, d.Clear)
	assert.Contains(t, d.Note, "the launches did not differ")

	d = Compare(Repeated{{Unknown}}, Repeated{{7, 8}}, 0.95)
	assert.False(t, d.Change.Value.Known())
	assert.Equal(t, "not measured in both runs", d.Note)
}

// Two launches of one configuration had heaps of 100 and 204 MiB, with little variation between slices: +104%,
// although nothing had changed.
func TestOneLaunchAgainstOneHasNoInterval(t *testing.T) {
	d := Compare(Repeated{{100, 101, 99, 100, 100}}, Repeated{{204, 203, 205, 204, 204}}, 0.95)
	assert.InDelta(t, 104, float64(d.Change.Value), 1e-9)
	assert.InDelta(t, 1.04, float64(d.Ratio.Value), 1e-9)
	assert.False(t, d.Clear)
	assert.False(t, d.Change.Low.Known() || d.Change.High.Known() || d.Ratio.Low.Known())
	assert.Contains(t, d.Note, "only one launch each")
}

// One launch against several: the several show how much launches differ.
func TestOneLaunchAgainstSeveralHasTheirScatter(t *testing.T) {
	several := Repeated{{100, 100, 100}, {204, 204, 204}, {150, 150, 150}}
	one := Repeated{{180, 180, 180}}
	for _, d := range []Difference{Compare(one, several, 0.95), Compare(several, one, 0.95)} {
		assert.False(t, d.Clear)
		// Calculated by hand: s of 100, 204 and 150 is 52.0128, t(0.975, 2) = 4.302653, half = t s sqrt(1+1/3).
		assert.InDelta(t, 2*258.4124, float64(d.Change.High-d.Change.Low), 0.01)
		assert.Contains(t, d.Method, "the variation of 3 launches of one run")
	}
	assert.True(t, Compare(Repeated{{100}, {101}, {102}}, Repeated{{200}}, 0.95).Clear)
}

func TestFewSlicesHaveNoInterval(t *testing.T) {
	few, enough := Repeated{{5, 6}, {5, 6, 7}}, Repeated{{15, 16, 17}, {15, 16, 18}}
	d := CompareSlices(few, enough, 0.95)
	assert.True(t, d.Change.Value.Known())
	assert.False(t, d.Change.Low.Known() || d.Clear)
	assert.Contains(t, d.Note, "fewer than 3 slices")
	assert.True(t, CompareSlices(enough, Repeated{{25, 26, 27}, {25, 26, 28}}, 0.95).Clear)
	assert.True(t, Compare(few, Repeated{{15}, {16}}, 0.95).Change.Low.Known(), "figures that are one a launch")
}

func TestWelchAgreesWithSciPy(t *testing.T) {
	witness := loadIndependent(t)
	require.NotEmpty(t, witness.Welch)
	for _, w := range witness.Welch {
		figures := func(values []float64) (m Repeated) {
			for _, v := range values {
				m = append(m, []Figure{Figure(v)})
			}
			return m
		}
		d := Compare(figures(w.Before), figures(w.After), 0.95)
		assert.InEpsilon(t, w.Change, float64(d.Change.Value), 1e-9)
		assert.InEpsilon(t, w.Low, float64(d.Change.Low), 1e-9)
		assert.InEpsilon(t, w.High, float64(d.Change.High), 1e-9)
	}
}
