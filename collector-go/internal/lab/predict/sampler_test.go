package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
)

// The sampler draws from a long and thin normal, which resembles the posterior of terms that can hardly be separated.
func TestDrawsHaveTheMomentsOfTheirDensity(t *testing.T) {
	const long, thin = 5.0, 0.02
	density := func(p []float64) float64 {
		a, b := (p[0]+p[1]-3)/thin, (p[0]-p[1]+1)/long
		return -(a*a + b*b) / 2
	}
	random := rand.New(rand.NewPCG(1, 2))
	kept, end := draws(density, chainsOf([]normal{{0, 3}, {0, 3}}, random), 4*coldRounds, random)
	require.Len(t, end, 24)
	var sum, difference []float64
	for _, p := range kept {
		sum, difference = append(sum, p[0]+p[1]), append(difference, p[0]-p[1])
	}
	mean, deviation := stat.MeanStdDev(sum, nil)
	assert.InDelta(t, 3, mean, 0.2*thin)
	assert.InEpsilon(t, thin, deviation, 0.15)
	mean, deviation = stat.MeanStdDev(difference, nil)
	assert.InDelta(t, -1, mean, 0.3*long)
	assert.InEpsilon(t, long, deviation, 0.15)
}

// The likelihood of launches equals its slow equivalent: a multivariate normal with a dimension for each step.
func TestTheLikelihoodOfLaunches(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	launches := [][]int{{0, 1, 2}, {3}, {4, 5}}
	of := func(between float64, residuals []scattered) float64 {
		return launchesLikelihood(residuals, launches, between)
	}
	twin := func(between float64, residuals []scattered) float64 {
		sum := 0.0
		for _, launch := range launches {
			covariance, x := mat.NewSymDense(len(launch), nil), make([]float64, len(launch))
			for a, i := range launch {
				x[a] = residuals[i].residual
				for b, j := range launch {
					v := between * residuals[i].share * residuals[j].share
					if i == j {
						v += residuals[i].variance
					}
					covariance.SetSym(a, b, v)
				}
			}
			n, valid := distmv.NewNormal(make([]float64, len(launch)), covariance, nil)
			require.True(t, valid)
			sum += n.LogProb(x) + float64(len(launch))*math.Log(2*math.Pi)/2
		}
		return sum
	}
	for range 100 {
		var residuals []scattered
		for range 6 {
			residuals = append(residuals, scattered{random.NormFloat64(), 0.1 + random.Float64(), 3 * random.Float64()})
		}
		between := random.Float64()
		assert.InDelta(t, twin(between, residuals), of(between, residuals), 1e-9)
	}
}

// The queue is that of M/M/1 far below 1, and a line above 1.
func TestTheQueue(t *testing.T) {
	const overload = 1e-6
	for _, u := range []float64{0.1, 0.5, 0.9} {
		assert.InEpsilon(t, u/(1-u), queue(u, overload), 1e-3)
	}
	assert.InEpsilon(t, 0.5/overload, queue(1.5, overload), 1e-3)
	for _, u := range []float64{0.2, 0.99, 1, 1.01, 2} {
		const h = 1e-6
		assert.InEpsilon(t, (queue(u+h, 0.01)-queue(u-h, 0.01))/(2*h), queueSlope(u, 0.01), 1e-4)
	}
}

func TestTheLargestLoadThatHolds(t *testing.T) {
	for _, limit := range []float64{0.7, 5, 123.4, 98_765} {
		assert.InEpsilon(t, limit, largest(func(v float64) bool { return v <= limit }), 2e-3)
	}
	assert.Zero(t, largest(func(float64) bool { return false }))
	assert.True(t, math.IsInf(largest(func(float64) bool { return true }), 1))
}
