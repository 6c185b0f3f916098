package tuning

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Two autocorrelated figures share a cause, and their correlation is 0.6.
func TestTheIntervalOfACorrelationHoldsTheTruth(t *testing.T) {
	for _, autocorrelation := range []float64{0, 0.5} {
		covered := 0
		for seed := range uint64(seeds) {
			random := rand.New(rand.NewPCG(seed, 31))
			cause, other := series(random, 60, 0, autocorrelation), series(random, 60, 0, autocorrelation)
			y := make([]Figure, len(cause))
			for i := range y {
				y[i] = 0.6*cause[i] + 0.8*other[i]
			}
			e := Correlate(cause, y, 0.95)
			covered += holds(e.Low, e.High, 0.6)
		}
		assert.InDelta(t, 940, covered, 35, "neighbours correlated by %g: held in %d of %d", autocorrelation, covered, seeds)
	}
}

func TestCorrelateSaysWhyItCannot(t *testing.T) {
	u := Unknown
	assert.Contains(t, Correlate([]Figure{1, 2, 3, u, 5, 6}, []Figure{1, 2, u, 4, 5, 6}, 0.95).Note,
		"4 slices have both figures")
	assert.Contains(t, Correlate([]Figure{1, 1, 1, 1, 1}, []Figure{1, 2, 3, 4, 5}, 0.95).Note, "is constant")
	e := Correlate([]Figure{1, 2, 3, 4, 5, 6, 7, 8}, []Figure{1, 2, 3, 4, 5, 6, 7, 8}, 0.95)
	assert.InDelta(t, 1, float64(e.Value), 1e-12)
	assert.True(t, math.IsNaN(float64(e.Low)))
}
