package tuning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// series is a first-order autoregression about a mean with deviation 1: neighbours resemble each other by that correlation.
func series(random *rand.Rand, n int, mean, correlation float64) []Figure {
	out := make([]Figure, n)
	state := random.NormFloat64()
	for i := range out {
		out[i] = Figure(mean + state)
		state = correlation*state + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
	}
	return out
}

// covered is how often in 1,000 synthetic pairs the interval holds the true change of 2.
func coveredChange(launches, n int, correlation, betweenLaunches float64) (change, ratio int) {
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		measure := func(mean float64) (m Repeated) {
			for range launches {
				m = append(m, series(random, n, mean+betweenLaunches*random.NormFloat64(), correlation))
			}
			return m
		}
		d := Compare(measure(20), measure(22), 0.95)
		change += holds(d.Change.Low, d.Change.High, 2)
		ratio += holds(d.Ratio.Low, d.Ratio.High, 0.1)
	}
	return change, ratio
}

// An interval of 95% is to hold the truth in about 950 of 1,000. Where few slices resemble each other strongly there is not enough
// to know that by; how far it then falls short is written down here.
func TestTheIntervalOfAChangeHoldsTheTruth(t *testing.T) {
	for _, c := range []struct {
		launches, slices int
		correlation      float64
		between          float64
		least            int
	}{
		{1, 4, 0, 0, 940}, {1, 30, 0, 0, 935}, {1, 30, 0.3, 0, 930}, {1, 30, 0.5, 0, 910}, {1, 30, 0.8, 0, 780}, {1, 300, 0.8, 0, 915}, {1, 16, 0.5, 0, 880},
		{1, 4, 0.5, 0, 780}, {3, 4, 0.5, 1, 930}, {5, 30, 0.8, 1, 930},
	} {
		t.Run(fmt.Sprintf("%d launches of %d slices, correlation %g", c.launches, c.slices, c.correlation), func(t *testing.T) {
			change, ratio := coveredChange(c.launches, c.slices, c.correlation, c.between)
			t.Logf("change in %d, ratio in %d of 1000", change, ratio)
			assert.GreaterOrEqual(t, change, c.least)
			assert.GreaterOrEqual(t, ratio, c.least-10)
			assert.LessOrEqual(t, change, 985, "an interval that always holds it is too wide")
		})
	}
}

func TestCompareSaysWhatItIsMadeFrom(t *testing.T) {
	a, b := Repeated{{10, 12, 11, Unknown, 13}}, Repeated{{20, 22, 21, 23}}
	d := Compare(a, b, 0.95)
	assert.InDelta(t, 11.5, float64(d.Before), 1e-12)
	assert.InDelta(t, 10, float64(d.Change.Value), 1e-12)
	assert.True(t, d.Clear)
	assert.Equal(t, "Welch's t over means of blocks: 4 of 4 slices against 4 of 4 slices", d.Method)
	assert.Contains(t, d.Note, "one launch against one")

	d = Compare(append(a, a[0], Repeated{{10, 10.5}}[0]), append(b, b[0], b[0]), 0.95)
	assert.Equal(t, "Welch's t over the means of 3 and 3 launches", d.Method)
	assert.Empty(t, d.Note)

	d = Compare(Repeated{{5, 5}}, Repeated{{5, 5}}, 0.95)
	assert.False(t, d.Clear)
	assert.Contains(t, d.Note, "no scatter")

	d = Compare(Repeated{{5}}, Repeated{{7, 8}}, 0.95)
	assert.InDelta(t, 2.5, float64(d.Change.Value), 1e-12)
	assert.False(t, d.Change.Low.Known())

	d = Compare(Repeated{{Unknown}}, Repeated{{7, 8}}, 0.95)
	assert.False(t, d.Change.Value.Known())
	assert.Equal(t, "not measured on both sides", d.Note)
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
