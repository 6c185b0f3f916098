package optimize

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// surrogate predicts the margin of configurations that were not tried. It is a kernel regression: a prior that grows
// from the hardest to the easiest place, corrected by the deviations of nearby observations. It only ranks the next
// trials, and no proof depends on it. A Gaussian process instead saved 3% of the trials, which was not worth its linear
// algebra (docs/decisions/0020-trials-are-ranked-without-a-gaussian-process.md).
type surrogate struct{ all []observation }

// Parameters of the model. Coordinates are between 0 and 1, and margins are logarithms of ratios.
const (
	expectation = 1.5  // expected growth of the margin from the hardest to the easiest place, before any trial
	reach       = 0.3  // distance over which an observation affects other places
	priorWeight = 0.3  // weight of the prior; an exact observation at the place itself has the weight 1
	noiseWeight = 4.0  // how strongly the variance of an observation reduces its weight
	deviation   = 0.5  // standard deviation of the margin about the prediction
	guessNoise  = 0.25 // variance of an expectation that follows from a limiter and not from a trial
	leastNoise  = 1e-3
)

// observation is the margin at a place, with its variance.
type observation struct {
	at           []float64
	margin, vary float64
}

// observations returns the margins of the tried configurations. A limiter adds an expectation: a configuration that
// failed by a limiter is expected to fail still if every setting that does not relieve the limiter gets its easiest
// value.
func observations(g *grid, all []*evidence) (out []observation) {
	for _, e := range all {
		if e.trials == 0 {
			continue
		}
		out = append(out, observation{g.places[e.at], e.margin, e.deviation*e.deviation + leastNoise})
		if limiter := e.decided[len(e.decided)-1].Limiter; e.verdict() == tuning.Fail && limiter != "" {
			beyond := g.easiest(g.points[e.at], func(i int) bool {
				return slices.Contains(g.space.Settings[i].Relieves, limiter)
			})
			if n := g.number(beyond); n != e.at {
				out = append(out, observation{g.places[n], e.margin, guessNoise})
			}
		}
	}
	return out
}

// prior returns the expected margin at a place before any trial.
func prior(at []float64) float64 {
	sum := 0.0
	for _, v := range at {
		sum += v
	}
	return expectation * (sum/float64(len(at)) - 0.5)
}

// holds returns the probability that the margin at a place is at least 0.
func (s surrogate) holds(at []float64) float64 {
	sum, weight := 0.0, priorWeight
	for _, o := range s.all {
		square := 0.0
		for i := range at {
			square += (at[i] - o.at[i]) * (at[i] - o.at[i])
		}
		w := math.Exp(-square/(2*reach*reach)) / (1 + noiseWeight*o.vary)
		sum, weight = sum+w*(o.margin-prior(o.at)), weight+w
	}
	return distuv.UnitNormal.CDF((prior(at) + sum/weight) / deviation)
}
