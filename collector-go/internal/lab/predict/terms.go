package predict

import (
	"math"
	"slices"
)

// term is a quantity that a cost can be proportional to. The cost per unit is a parameter of the fit.
type term struct {
	name string
	of   func(Load, Setup) float64
}

// The terms. perMatch is a product because each record is matched with each query.
var (
	perTopology = term{"the topology", func(Load, Setup) float64 { return 1 }}
	perExecutor = term{"an executor", func(_ Load, s Setup) float64 { return s.all() }}
	perRecord   = term{"a record", func(l Load, _ Setup) float64 { return float64(l.RecordsPerSecond) }}
	perQuery    = term{"a query", func(l Load, _ Setup) float64 { return l.Queries }}
	perMatch    = term{"a record matched with a query", func(l Load, _ Setup) float64 {
		return l.Queries * float64(l.RecordsPerSecond)
	}}
)

// perPressure is the additional GC cost of records in a small heap. A small heap is collected more often, and each
// collection frees less.
var perPressure = term{"a record in little heap", func(l Load, s Setup) float64 {
	return float64(l.RecordsPerSecond) / (s.HeapMiB * s.HeapMiB)
}}

// leastHeap returns the smallest heap of a worker. It returns 0 if all heaps are equal, because the steps then cannot
// show the effect of the heap, or if a heap is unknown.
func leastHeap(of []Observation) float64 {
	least, most := math.Inf(1), 0.0
	for _, o := range of {
		least, most = math.Min(least, o.Setup.HeapMiB), math.Max(most, o.Setup.HeapMiB)
	}
	if len(of) == 0 || most <= least*(1+beside) {
		return 0
	}
	return least
}

// basis is the terms of a fit, each divided by its largest measured value. The scaling keeps the logarithms of all unit
// costs in the range of one prior.
type basis struct {
	terms []term
	most  []float64
}

// newBasis selects the terms that the steps say something about. A term that is unknown in any step, or 0 in all of
// them, is left out. A term with the same value in all steps stays: the posterior then shares the cost between it and
// the others.
func newBasis(of []Observation, candidates ...term) (b basis) {
	for _, t := range candidates {
		most, known := 0.0, true
		for _, o := range of {
			v := t.of(o.Load, o.Setup)
			known = known && !math.IsNaN(v) && !math.IsInf(v, 0)
			most = max(most, v)
		}
		if known && most > 0 {
			b.terms, b.most = append(b.terms, t), append(b.most, most)
		}
	}
	return b
}

// has reports whether the basis has any of the terms.
func (b basis) has(wanted ...term) bool {
	return slices.ContainsFunc(b.terms, func(t term) bool {
		return slices.ContainsFunc(wanted, func(w term) bool { return w.name == t.name })
	})
}

// row returns the scaled values of the terms at a load.
func (b basis) row(l Load, s Setup) []float64 {
	row := make([]float64, len(b.terms))
	for k, t := range b.terms {
		row[k] = t.of(l, s) / b.most[k]
	}
	return row
}

// unitCosts writes the terms' unit costs, from their logarithms, into a slice that must be long enough.
func (b basis) unitCosts(logs, into []float64) []float64 {
	for k := range b.terms {
		into[k] = math.Exp(logs[k])
	}
	return into[:len(b.terms)]
}

// dot returns the sum of a row's values times their unit costs.
func dot(units, row []float64) (sum float64) {
	for k, v := range row {
		sum += v * units[k]
	}
	return sum
}

// launchesOf returns the indices of the observations of each launch, in the order of their first steps.
func launchesOf(of []Observation) (groups [][]int) {
	at := map[string]int{}
	for i, o := range of {
		g, known := at[o.Launch]
		if !known {
			g = len(groups)
			at[o.Launch], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}
