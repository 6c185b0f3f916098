package optimize

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// surrogate predicts the margin of configurations that were not tried: a Gaussian process (chapter 2 of Rasmussen and
// Williams, Gaussian Processes for Machine Learning). Its covariance has a linear and a squared exponential part; the
// length scale is the most likely of a few candidates. It only ranks what to try next, and no proof rests on it.
type surrogate struct {
	amplitude, length float64
	factor            mat.Cholesky
	weights           *mat.VecDense
	at                [][]float64
}

var lengths = []float64{0.3, 0.7, 1.5}

// Parts of the model's variance, as shares of its amplitude's square.
const (
	levelShare  = 0.5
	slopeShare  = 1.0
	bendShare   = 0.5
	guessNoise  = 0.25 // variance of what a limiter lets expect of a configuration that was not tried
	leastNoise  = 1e-3
	expectation = 1.5 // the expected margin from the hardest to the easiest place, before any trial
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
		if limiter := e.judged[len(e.judged)-1].Limiter; e.verdict() == tuning.Fail && limiter != "" {
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

func mean(at []float64) float64 {
	sum := 0.0
	for _, v := range at {
		sum += v
	}
	return expectation * (sum/float64(len(at)) - 0.5)
}

func (s *surrogate) covariance(a, b []float64) float64 {
	linear, square := 0.0, 0.0
	for i := range a {
		linear += (a[i] - 0.5) * (b[i] - 0.5)
		square += (a[i] - b[i]) * (a[i] - b[i])
	}
	return s.amplitude * (levelShare + slopeShare*linear + bendShare*math.Exp(-square/(2*s.length*s.length)))
}

// fit finds the most likely model of the observations; nil without any.
func fit(all []observation) *surrogate {
	if len(all) == 0 {
		return nil
	}
	amplitude := 0.0
	rest := mat.NewVecDense(len(all), nil)
	for i, o := range all {
		rest.SetVec(i, o.margin-mean(o.at))
		amplitude += rest.AtVec(i) * rest.AtVec(i) / float64(len(all))
	}
	var best *surrogate
	likeliest := math.Inf(-1)
	for _, length := range lengths {
		s := &surrogate{amplitude: max(amplitude, 0.5), length: length, weights: mat.NewVecDense(len(all), nil)}
		k := mat.NewSymDense(len(all), nil)
		for i, a := range all {
			s.at = append(s.at, a.at)
			for j, b := range all[:i+1] {
				k.SetSym(i, j, s.covariance(a.at, b.at)+map[bool]float64{true: a.vary}[i == j])
			}
		}
		if !s.factor.Factorize(k) || s.factor.SolveVecTo(s.weights, rest) != nil {
			continue
		}
		likelihood := -0.5*mat.Dot(rest, s.weights) - 0.5*s.factor.LogDet()
		if likelihood > likeliest {
			best, likeliest = s, likelihood
		}
	}
	return best
}

// holds is the probability that the margin at a place is at least 0. A nil model knows only that easier is easier.
func (s *surrogate) holds(at []float64) float64 {
	if s == nil {
		return distuv.UnitNormal.CDF(mean(at))
	}
	k := mat.NewVecDense(len(s.at), nil)
	for i, other := range s.at {
		k.SetVec(i, s.covariance(at, other))
	}
	margin := mean(at) + mat.Dot(k, s.weights)
	var solved mat.VecDense
	if s.factor.SolveVecTo(&solved, k) != nil {
		return 0.5
	}
	vary := max(s.covariance(at, at)-mat.Dot(k, &solved), leastNoise)
	return distuv.UnitNormal.CDF(margin / math.Sqrt(vary))
}
