package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// costFit is the posterior of an additive figure: figure = (sum of unit costs x terms) x heap^elasticity, times two
// log-normal deviations, one of the launch and one of the step. Unit costs are positive. Some steps cannot separate two
// terms, such as records and the topology itself at a single record rate. The posterior then contains every split
// between them.
type costFit struct {
	basis
	unit float64 // geometric mean of the figure; values are divided by it
	heap float64 // MiB; heaps are divided by it. 0 if the figure does not depend on the heap
	// Each draw of the posterior has the logarithms of the terms' unit costs, the logarithms of the two deviations, and
	// the elasticity.
	posterior
}

// Priors of the logarithms. A unit cost is between about a hundredth of the figure and all of it. Steps differ by 6%
// and launches by 4%, each within a factor of 2.5.
var (
	unitCostPrior      = normal{-1.5, 1.5}
	stepScatterPrior   = normal{math.Log(0.06), 0.9}
	launchScatterPrior = normal{math.Log(0.04), 0.9}
	// elasticities say how a figure depends on the heap: GC falls roughly in proportion to it, and the used heap grows
	// with it.
	elasticities = map[Figure]normal{GC: {-1, 0.5}, Heap: {0.5, 0.5}}
)

// leastSteps is the smallest number of steps from which a figure is predicted.
const leastSteps = 3

// fitCost fits a figure. It returns nil if too few steps have it. begin is a fit whose chains are the starting points,
// or nil. The figure, the loads and the heaps are all scaled to about 1, so that one prior suits every figure.
func fitCost(figure Figure, all []Observation, terms []term, begin *costFit, seed uint64) *costFit {
	of := with(figure, all)
	if len(of) < leastSteps {
		return nil
	}
	if figure == CPU && leastHeap(of) > 0 {
		terms = append(slices.Clone(terms), perPressure)
	}
	f := &costFit{basis: newBasis(of, terms...), unit: 1}
	if len(f.terms) == 0 {
		return nil
	}
	var logs []float64
	var sum float64
	for _, o := range of {
		logs = append(logs, math.Log(o.Measured[figure]))
		sum += logs[len(logs)-1]
	}
	f.unit = math.Exp(sum / float64(len(of)))
	elasticity, follows := elasticities[figure]
	if follows {
		f.heap = commonHeap(of)
	}
	rows := make([][]float64, len(of))
	heaps := make([]float64, len(of))
	for i, o := range of {
		rows[i], heaps[i] = f.row(o.Load, o.Setup), f.heapOf(o.Setup)
		logs[i] -= math.Log(f.unit)
	}
	k := len(f.terms)
	prior := append(slices.Repeat([]normal{unitCostPrior}, k), stepScatterPrior, launchScatterPrior)
	if f.heap > 0 {
		prior = append(prior, elasticity)
	}
	launches, residuals, units := launchesOf(of), make([]scattered, len(of)), make([]float64, k)
	density := func(p []float64) float64 {
		variance, costs := math.Exp(2*p[k]), f.unitCosts(p, units)
		for i, row := range rows {
			mean := math.Log(dot(costs, row))
			if f.heap > 0 {
				mean += p[k+2] * heaps[i]
			}
			residuals[i] = scattered{logs[i] - mean, variance, 1}
		}
		if v := logPrior(prior, p) + launchesLikelihood(residuals, launches, math.Exp(2*p[k+1])); !math.IsNaN(v) {
			return v
		}
		return math.Inf(-1)
	}
	var before *posterior
	if begin != nil {
		before = &begin.posterior
	}
	f.posterior = sample(density, prior, before, rand.New(rand.NewPCG(seed, uint64(len(of)))))
	return f
}

// with returns the observations that have a figure.
func with(figure Figure, all []Observation) []Observation {
	return slices.DeleteFunc(slices.Clone(all), func(o Observation) bool { return !positive(o.Measured[figure]) })
}

// commonHeap returns the geometric mean of the heaps. It returns 0 if any heap is unknown; the figure is then modelled
// without the heap.
func commonHeap(of []Observation) float64 {
	sum := 0.0
	for _, o := range of {
		if o.Setup.HeapMiB <= 0 {
			return 0
		}
		sum += math.Log(o.Setup.HeapMiB)
	}
	return math.Exp(sum / float64(len(of)))
}

// heapOf returns the logarithm of a heap relative to the common one.
func (f *costFit) heapOf(s Setup) float64 {
	if f.heap == 0 || s.HeapMiB <= 0 {
		return 0
	}
	return math.Log(s.HeapMiB / f.heap)
}

// at returns draws of the figure for a step of a new launch. reach is the additional scatter of a question beyond the
// measurements.
func (f *costFit) at(l Load, s Setup, reach float64, random *rand.Rand) []float64 {
	k, row, heap := len(f.terms), f.row(l, s), f.heapOf(s)
	out, units := make([]float64, len(f.kept)), make([]float64, k)
	for i, p := range f.kept {
		scatter := math.Sqrt(math.Exp(2*p[k]) + math.Exp(2*p[k+1]) + reach*reach)
		v := math.Log(f.unit*dot(f.unitCosts(p, units), row)) + scatter*random.NormFloat64()
		if f.heap > 0 {
			v += p[k+2] * heap
		}
		out[i] = math.Exp(v)
	}
	return out
}

// more returns draws of the difference in cost between two loads, times a factor and without the scatter of a step.
func (f *costFit) more(from, to Load, s Setup, factor float64) []float64 {
	out, units, row := make([]float64, len(f.kept)), make([]float64, len(f.terms)), f.row(to, s)
	for k, v := range f.row(from, s) {
		row[k] -= v
	}
	heap := f.heapOf(s)
	for i, p := range f.kept {
		out[i] = factor * f.unit * dot(f.unitCosts(p, units), row)
		if f.heap > 0 {
			out[i] *= math.Exp(p[len(f.terms)+2] * heap)
		}
	}
	return out
}

// quantiles returns the quantiles of draws, interpolated between two draws.
func quantiles(draws []float64, shares ...float64) []float64 {
	sorted := append([]float64{}, draws...)
	sort.Float64s(sorted)
	out := make([]float64, len(shares))
	for i, share := range shares {
		at := share * float64(len(sorted)-1)
		low := int(at)
		high := min(low+1, len(sorted)-1)
		out[i] = sorted[low]
		if sorted[high] != sorted[low] { // infinite values must not be subtracted
			out[i] += (at - float64(low)) * (sorted[high] - sorted[low])
		}
	}
	return out
}
