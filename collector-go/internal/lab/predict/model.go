package predict

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Model is fitted to the steps of one world. It has one cost model for each additive figure (CPU, GC, heap) and one
// queueing model for the latency, from which the capacity follows. It is immutable after Fit. It keeps the
// observations, because the width of an interval depends on how far a question lies beyond them.
type Model struct {
	observed []Observation
	costs    map[Figure]*costFit
	latency  *latencyFit
	// confidence is the probability with which an interval should contain the true value.
	confidence float64
}

// seed makes the random draws of every fit and prediction reproducible.
const seed = 18

// ErrTooFew means that there are too few steps for a prediction.
var ErrTooFew = errors.New("no figure was measured in at least 3 steps with the same machine, records and query")

// Fit fits a model for each figure that enough steps have. All observations must be of one world.
func Fit(all []Observation, confidence float64) (*Model, error) { return fit(all, confidence, nil) }

// fit starts from the chains of another model, or from the prior if begin is nil.
func fit(all []Observation, confidence float64, begin *Model) (*Model, error) {
	if begin == nil {
		begin = &Model{}
	}
	m := &Model{observed: all, costs: map[Figure]*costFit{}, confidence: confidence}
	for _, figure := range figures(all) {
		if figure == Latency {
			continue
		}
		if c := fitCost(figure, all, termsOf(figure), begin.costs[figure], seed); c != nil {
			m.costs[figure] = c
		}
	}
	m.latency = fitLatency(all, begin.latency, seed)
	if len(m.costs) == 0 && m.latency == nil {
		return nil, ErrTooFew
	}
	return m, nil
}

// figures returns the figures that any step has, in the order of display.
func figures(all []Observation) (names []Figure) {
	seen := map[Figure]bool{}
	for _, o := range all {
		for f := range o.Measured {
			seen[f] = true
		}
	}
	order := []Figure{Latency, CPU, WorkerCPU, GC, Heap, CoresHeld, MemoryHeld}
	names = slices.DeleteFunc(order, func(f Figure) bool { return !seen[f] })
	for _, f := range slices.Sorted(maps.Keys(seen)) {
		if strings.HasPrefix(string(f), busyPrefix) {
			names = append(names, f)
		}
	}
	return names
}

// termsOf returns the terms that a figure can be a sum of. The busy cores of a component depend on its own executors.
// Resource requests depend only on the records.
func termsOf(figure Figure) []term {
	component, busy := strings.CutPrefix(string(figure), busyPrefix)
	switch {
	case busy:
		own := term{"an executor", func(_ Load, s Setup) float64 { return s.Executors[component] }}
		return []term{own, perRecord, perQuery, perMatch}
	case figure == CoresHeld || figure == MemoryHeld:
		return []term{perTopology, perRecord}
	}
	return []term{perTopology, perExecutor, perRecord, perQuery, perMatch}
}

// Question is a load and a configuration to predict. If LimitMs is set, the capacity at this latency is predicted, too.
type Question struct {
	Label string
	Load  Load
	Setup Setup
	// LimitMs is the latency limit that defines the capacity, in ms. 0 means that no capacity is wanted.
	LimitMs float64
	Machine tuning.Machine
	// Request is the resource request of the configuration, or nil if it is not known.
	Request *Request
}

// Forecast is one figure with the interval that contains it at the model's confidence.
type Forecast struct {
	Name string `json:"figure"`
	Unit string `json:"unit"`
	tuning.Estimate
}

// Busy is the share of time for which the executors of a component are busy. From 1 on, the component is a bottleneck.
type Busy struct {
	Component string  `json:"component"`
	Executors float64 `json:"executors"`
	tuning.Estimate
}

// Prediction is the answer to a Question. Beyond says how far the question lies outside the measurements, because
// intervals are wider there. A figure whose interval is too wide to be useful is reported as unknown (withhold).
type Prediction struct {
	Label string `json:"label,omitempty"`
	Load  Load   `json:"load"`
	Setup Setup  `json:"setup"`
	// LimitMs is the latency limit of the capacity, or 0 if there is none.
	LimitMs float64 `json:"limit_ms"`
	// Beyond are the quantities outside the measured range, the farthest first. Scatter is the additional relative
	// standard deviation that they cause in the intervals.
	Beyond   []Reach    `json:"beyond_measured"`
	Scatter  float64    `json:"beyond_scatter_ratio"`
	Figures  []Forecast `json:"figures"`
	Busy     []Busy     `json:"busy"`
	Capacity []Forecast `json:"capacity"`
	// Costs are the costs of one more query and one more record for each figure, at the load of the question.
	Costs []Forecast `json:"costs"`
	// Machines is nil if neither a request nor the CPU is known.
	Machines *tuning.Estimate `json:"machines"`
	Request  *Request         `json:"request"`
	Notes    []string         `json:"notes"`
}

// random returns a random source for each figure, so that an additional figure does not change the others.
func random(name string) *rand.Rand {
	sum := uint64(0)
	for _, b := range []byte(name) {
		sum = sum*131 + uint64(b)
	}
	return rand.New(rand.NewPCG(seed, sum))
}

// estimate returns the median of the draws with the interval at the model's confidence.
func (m *Model) estimate(draws []float64) tuning.Estimate {
	tail := (1 - m.confidence) / 2
	q := quantiles(draws, tail, 0.5, 1-tail)
	return tuning.Estimate{Low: tuning.Figure(q[0]), Value: tuning.Figure(q[1]), High: tuning.Figure(q[2])}
}

// Predict answers a question. Figures that no step has are not in the answer. Intervals that are too wide are withheld
// before the machines are computed, so that no number of machines is derived from an unknown CPU.
func (m *Model) Predict(q Question) *Prediction {
	p := &Prediction{Label: q.Label, Load: q.Load, Setup: q.Setup, LimitMs: q.LimitMs, Figures: []Forecast{},
		Busy: []Busy{}, Capacity: []Forecast{}, Costs: []Forecast{}, Notes: []string{}, Request: q.Request}
	p.Beyond = reach(m.observed, q.Load, q.Setup)
	p.Scatter = scatter(p.Beyond)
	m.notes(p, q)
	for _, figure := range figures(m.observed) {
		e, known := m.at(figure, q.Load, q.Setup, p.Scatter)
		if !known {
			continue
		}
		component, busy := strings.CutPrefix(string(figure), busyPrefix)
		if !busy {
			p.Figures = append(p.Figures, Forecast{string(figure), figure.Unit(), e})
		} else if n := tuning.Figure(q.Setup.Executors[component]); n > 0 {
			p.Busy = append(p.Busy,
				Busy{component, float64(n), tuning.Estimate{Value: e.Value / n, Low: e.Low / n, High: e.High / n}})
		}
	}
	if m.latency != nil {
		if !m.latency.busy { // with busy shares, the busy share of the filter bolts is the same figure
			p.Figures = slices.Insert(p.Figures, min(1, len(p.Figures)), Forecast{"utilization of the filter bolts",
				"ratio", m.estimate(m.latency.utilizations(q.Load, q.Setup, p.Scatter, random("utilization")))})
		}
		m.capacities(p, q)
	}
	m.unitCosts(p, q)
	p.withhold()
	p.machines(q)
	return p
}

// at predicts a figure. It returns false if there is no model for it.
func (m *Model) at(figure Figure, l Load, s Setup, scatter float64) (e tuning.Estimate, known bool) {
	if figure == Latency {
		if m.latency == nil {
			return e, false
		}
		return m.estimate(m.latency.at(l, s, scatter, random(string(figure)))), true
	}
	if figure == BusyOf(tuning.FilterBolt) && m.latency != nil && m.latency.busy {
		// The latency model also answers this, so that busy share, latency and capacity agree.
		return m.estimate(m.latency.busyCores(l, s, scatter, random(string(figure)))), true
	}
	c := m.costs[figure]
	if c == nil {
		return e, false
	}
	return m.estimate(c.at(l, s, scatter, random(string(figure)))), true
}

// capacities predicts the most queries at the question's record rate, and the most records/s at its queries, that keep
// the latency limit. It makes two passes: the first finds the approximate capacity, and the second widens the interval
// by how far that capacity is beyond the measurements.
func (m *Model) capacities(p *Prediction, q Question) {
	if !(q.LimitMs > 0) {
		return
	}
	add := func(name, unit string, along func(float64) Load, terms ...term) {
		if m.latency.has(terms...) {
			// How far the capacity lies beyond the measurements is known only after this first estimate.
			first := m.estimate(m.latency.capacities(along, q.Setup, q.LimitMs, p.Scatter, random(name)))
			further := scatter(reach(m.observed, along(float64(first.Value)), q.Setup))
			e := m.estimate(m.latency.capacities(along, q.Setup, q.LimitMs, further, random(name)))
			for _, r := range reach(m.observed, along(float64(e.Value)), q.Setup) {
				if r.What == unit { // without the number, which is rounded in the table
					_, e.Note, _ = strings.Cut(r.Text(), ": ")
				}
			}
			p.Capacity = append(p.Capacity, Forecast{name, unit, e})
		}
	}
	limit := tuning.Digits(tuning.Figure(q.LimitMs))
	add("queries at "+limit+" ms", "queries", func(v float64) Load { return Load{v, q.Load.RecordsPerSecond} },
		perQuery, perMatch)
	add("records/s at "+limit+" ms", "records/s",
		func(v float64) Load { return Load{q.Load.Queries, tuning.Figure(v)} }, perRecord, perMatch)
}

// unitCosts predicts the CPU cost of one more query and of one more record.
func (m *Model) unitCosts(p *Prediction, q Question) {
	more := func(figure Figure, name, unit string, factor float64, l Load, terms ...term) {
		c := m.costs[figure]
		if c.has(terms...) && figure.Unit() == "cores" {
			draws := c.more(q.Load, l, q.Setup, factor)
			p.Costs = append(p.Costs, Forecast{name + ", " + string(figure), unit, m.estimate(draws)})
		}
	}
	for _, figure := range figures(m.observed) {
		if m.costs[figure] == nil {
			continue
		}
		more(figure, "a query", "cores", 1, Load{q.Load.Queries + 1, q.Load.RecordsPerSecond}, perQuery, perMatch)
		more(figure, "a record", "µs", 1e6, Load{q.Load.Queries, q.Load.RecordsPerSecond + 1}, perRecord, perMatch)
	}
}

// mostTimes is the largest ratio between the ends of an interval, and mostShare is the largest width of the interval of
// a busy share. A figure with a wider interval is reported as unknown.
const (
	mostTimes = 20
	mostShare = 0.5
)

// withhold replaces the figures with too wide intervals by unknown ones. The note keeps the interval. A latency without
// an upper bound stays, because its lower bound is still useful.
func (p *Prediction) withhold() {
	for _, all := range [][]Forecast{p.Figures, p.Capacity, p.Costs} {
		for i := range all {
			f := &all[i]
			if f.Name == string(Latency) && !(f.High <= unbounded) {
				continue
			}
			if !(f.High <= mostTimes*f.Low) {
				f.Estimate = notKnown(f.Estimate, f.Unit, roughly)
			}
		}
	}
	for i := range p.Busy {
		if b := &p.Busy[i]; b.High-b.Low > mostShare && !(b.Low >= 1) {
			b.Estimate = notKnown(b.Estimate, "", tuning.Percent)
		}
	}
}

// unbounded is a value above which a figure counts as having no upper bound.
const unbounded = 1e15

// notKnown returns an unknown estimate whose note has the interval that was withheld.
func notKnown(e tuning.Estimate, unit string, write func(tuning.Figure) string) tuning.Estimate {
	note := strings.TrimSpace(fmt.Sprintf("unknown: anywhere from %s to %s %s", write(e.Low), write(e.High), unit))
	return tuning.Estimate{Value: tuning.Unknown, Low: tuning.Unknown, High: tuning.Unknown, Note: note}
}

// machines computes the number of machines from the resource request, or else from the predicted CPU.
func (p *Prediction) machines(q Question) {
	if q.Request != nil && q.Request.Machines > 0 {
		n := tuning.Figure(q.Request.Machines)
		p.Machines = &tuning.Estimate{Value: n, Low: n, High: n, Note: "from the resource request"}
		return
	}
	for _, f := range p.Figures {
		if (f.Name == string(CPU) || f.Name == string(CoresHeld)) && f.Value.Known() && q.Machine.CPUCores > 0 {
			of := func(v tuning.Figure) tuning.Figure {
				return tuning.Figure(math.Ceil(float64(v / q.Machine.CPUCores)))
			}
			p.Machines = &tuning.Estimate{Value: of(f.Value), Low: of(f.Low), High: of(f.High), Note: "by " + f.Name}
			return
		}
	}
}

// answers returns an error if the question has a record rate but the record rate of the steps is not known.
func (m *Model) answers(q Question) error {
	known := func(o Observation) bool { return o.Load.RecordsPerSecond.Known() }
	if !slices.ContainsFunc(m.observed, known) && q.Load.RecordsPerSecond.Known() {
		return fmt.Errorf("no prediction at %s records/s, because the record rate of the steps is unknown; set --query-records-per-s",
			tuning.Digits(q.Load.RecordsPerSecond))
	}
	return nil
}

// notes adds what a reader must know about unmeasured effects. A note names each quantity that was the same in all
// steps, because its effect follows from the model and not from a measurement.
func (m *Model) notes(p *Prediction, q Question) {
	varies := func(what string, of func(Load, Setup) float64) {
		least, most := math.Inf(1), math.Inf(-1)
		for _, o := range m.observed {
			if v := of(o.Load, o.Setup); !math.IsNaN(v) {
				least, most = min(least, v), max(most, v)
			}
		}
		asked := of(q.Load, q.Setup)
		switch {
		case asked > 0 && most <= 0:
			p.Notes = append(p.Notes, fmt.Sprintf("no step had %s, so the prediction does not include their cost", what))
		case most > 0 && most <= least*(1+beside) && math.Abs(asked/most-1) > beside:
			p.Notes = append(p.Notes, fmt.Sprintf("all steps had %s %s, so the effect of another number is an assumption of the model, and its interval covers every possibility",
				tuning.Digits(tuning.Figure(most)), what))
		}
	}
	varies("records/s", func(l Load, _ Setup) float64 { return float64(l.RecordsPerSecond) })
	varies("queries", func(l Load, _ Setup) float64 { return l.Queries })
	varies("filter bolts", func(_ Load, s Setup) float64 { return s.filterBolts() })
	launches := len(launchesOf(m.observed))
	if launches < leastLaunches {
		p.Notes = append(p.Notes, fmt.Sprintf("the variation between launches is assumed to be 4%%, within a factor of 2.5, because only %s measured",
			map[bool]string{true: "1 launch was", false: fmt.Sprint(launches, " were")}[launches == 1]))
	}
}

// leastLaunches is the number of launches below which the variation between launches is an assumption.
const leastLaunches = 3

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
