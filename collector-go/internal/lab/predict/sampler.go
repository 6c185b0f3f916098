package predict

import (
	"math"
	"math/rand/v2"
)

// The numbers of rounds of the sampler: cold for a fit that starts from draws of the prior, warm for one that starts
// from another fit.
const (
	coldRounds = 1500
	warmRounds = 500
	// keptDraws is the approximate number of draws that are kept of a posterior.
	keptDraws = 1000
)

// draws samples a density, given as its logarithm, by differential evolution. Each chain proposes a step along the
// difference of two other chains, so that no scale must be known in advance. See ter Braak, "A Markov Chain Monte
// Carlo version of the genetic algorithm Differential Evolution", 2006. draws returns a thinned sample of the second
// half of the rounds, and the last state of the chains, from which another fit may start. The same random source gives
// the same draws, so that predictions are reproducible.
func draws(density func([]float64) float64, chains [][]float64, rounds int, random *rand.Rand) (kept, end [][]float64) {
	d, n := len(chains[0]), len(chains)
	at, now := make([][]float64, n), make([]float64, n)
	for i, c := range chains {
		at[i] = append([]float64{}, c...)
		now[i] = density(c)
	}
	step := 2.38 / math.Sqrt(2*float64(d))
	every := max(1, rounds/2*n/keptDraws)
	proposal := make([]float64, d)
	for round, visited := 0, 0; round < rounds; round++ {
		scale := step
		if round%10 == 9 {
			scale = 1 // a jump from one mode to another
		}
		for i := range at {
			a, b := random.IntN(n), random.IntN(n)
			for k := range proposal {
				proposal[k] = at[i][k] + scale*(at[a][k]-at[b][k]) + 1e-4*random.NormFloat64()
			}
			if then := density(proposal); then >= now[i] || math.Log(random.Float64()) < then-now[i] {
				copy(at[i], proposal)
				now[i] = then
			}
			if visited++; round >= rounds/2 && visited%every == 0 {
				kept = append(kept, append([]float64{}, at[i]...))
			}
		}
	}
	return kept, at
}

// posterior is the result of a fit: draws of its parameters, and the last state of the chains.
type posterior struct{ kept, chains [][]float64 }

// sample draws from a posterior. It starts from the chains of an earlier fit, which takes fewer rounds. Without one, or
// if that fit had other parameters, it starts from draws of the prior.
func sample(density func([]float64) float64, prior []normal, begin *posterior, random *rand.Rand) (p posterior) {
	start, rounds := chainsOf(prior, random), coldRounds
	if begin != nil && len(begin.chains[0]) == len(prior) {
		start, rounds = begin.chains, warmRounds
	}
	p.kept, p.chains = draws(density, start, rounds, random)
	return p
}

// chainsOf returns starting points of chains, drawn from the prior.
func chainsOf(prior []normal, random *rand.Rand) (chains [][]float64) {
	for range max(24, 3*len(prior)) {
		c := make([]float64, len(prior))
		for k, p := range prior {
			c[k] = p.mean + p.deviation*random.NormFloat64()
		}
		chains = append(chains, c)
	}
	return chains
}

// normal is the prior of one parameter. Parameters are logarithms, so a deviation of 0.7 is about a factor of 2.
type normal struct{ mean, deviation float64 }

// logPrior returns the logarithm of the prior density, without its constant.
func logPrior(prior []normal, p []float64) (sum float64) {
	for k, n := range prior {
		z := (p[k] - n.mean) / n.deviation
		sum -= z * z / 2
	}
	return sum
}

// scattered is a residual with its variance, and the factor with which the effect of the launch enters it. A variance
// of 0 marks a residual that was not measured.
type scattered struct{ residual, variance, share float64 }

// launchesLikelihood returns the logarithm of the likelihood of residuals. The steps of a launch share a random effect
// with the variance between, which is integrated out.
func launchesLikelihood(residuals []scattered, launches [][]int, between float64) (sum float64) {
	for _, launch := range launches {
		var squares, shares, both float64
		for _, i := range launch {
			r := residuals[i]
			if r.variance == 0 {
				continue // not measured
			}
			sum -= math.Log(r.variance) / 2
			squares += r.residual * r.residual / r.variance
			shares += r.share * r.share / r.variance
			both += r.share * r.residual / r.variance
		}
		inflated := 1 + between*shares
		sum -= math.Log(inflated)/2 + (squares-between*both*both/inflated)/2
	}
	return sum
}
