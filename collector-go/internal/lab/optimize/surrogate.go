package optimize

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// surrogate predicts the margin of configurations that were not tried: a prior that grows from the hardest to the
// easiest place, corrected by how far the observations nearby are from it (a kernel regression). It only ranks what to
// try next, and no proof rests on it. A Gaussian process in its place saved 3% of the trials, which was not worth its
// linear algebra (docs/decisions/0020-trials-are-ranked-without-a-gaussian-process.md).
type surrogate struct{ all []observation }

// Parts of the model. Places are between 0 and 1, margins are logarithms of ratios.
const (
	expectation = 1.5  // the expected margin from the hardest to the easiest place, before any trial
	reach       = 0.3  // distance over which an observation counts for other places
	priorWeight = 0.3  // of the prior, beside a weight of 1 for an exact observation at the place itself
	noiseWeight = 4.0  // by how much an observation's variance lessens its weight
	deviation   = 0.5  // of the margin about what the model predicts
	guessNoise  = 0.25 // variance of what a limiter lets expect of a configuration that was not tried
	leastNoise  = 1e-3
)

// observation is a margin at a place.
type observation struct {
	at           []float64
	margin, vary float64
}

// observations are the evidence, and what the limiters found let expect: what failed by a limiter fails still when all
// that does not relieve it is at its easiest.
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

// prior is the margin that is expected at a place before any trial.
func prior(at []float64) float64 {
	sum := 0.0
	for _, v := range at {
		sum += v
	}
	return expectation * (sum/float64(len(at)) - 0.5)
}

// holds is the probability that the margin at a place is at least 0.
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
