package predict

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// latencyFit is the posterior of the filter latency, modelled as a queue. The utilization is the work of the filter
// bolts over their capability, and
//
//	latency = service + wait x queue(utilization)
//
// The queue is the time-dependent one of Akçelik ("Travel time functions for transport planning purposes", 1991). Far
// below 1 it is utilization / (1 - utilization) as in M/M/1. Above 1 it is a line, along which an overloaded queue
// grows for as long as a step lasts. The utilization has a log-normal deviation for each step and another for each
// launch, and the latency has a third. If the busy share of the filter bolts was measured, it is a second figure that
// depends on the same utilization.
type latencyFit struct {
	basis
	bolts float64 // largest number of filter bolts, by which numbers are divided; 0 if any is unknown
	heap  float64 // smallest heap of a worker; 0 if all heaps are equal or one is unknown
	unit  float64 // ms; the smallest measured latency
	posterior
	busy bool // whether a busy share of the filter bolts was measured; it is then a second figure of the utilization
}

// Indices of the parameters behind the terms' unit costs. All are logarithms except the power.
const (
	ofService  = iota // service time, in units of the smallest latency
	ofWait            // waiting time relative to the service time
	ofOverload        // curvature of the queue at a utilization of 1
	ofPower           // exponent of the number of filter bolts
	ofLatency         // scatter of the latency
	ofStep            // scatter of the utilization between steps
	ofLaunch          // scatter of the utilization between launches
	ofBusy            // measured busy share relative to the utilization
	ofHeap            // share of work that the smallest heap adds; only if heaps differ
	latencyParameters
)

// Priors. The capacity is roughly proportional to the number of bolts. Latency scatters by 15% within a factor of 2.
// Utilization scatters by 3% between steps and between launches.
var latencyPriors = [latencyParameters]normal{
	ofService: {-0.1, 0.3}, ofWait: {-1, 1.2}, ofOverload: {math.Log(0.003), 1.5}, ofPower: {1, 0.2},
	ofLatency: {math.Log(0.15), 0.7},
	ofStep:    {math.Log(0.03), 0.7}, ofLaunch: {math.Log(0.03), 0.9}, ofBusy: {0, 0.3}, ofHeap: {-1.5, 1.5},
}

// mostBusy is the busy share above which the share shows only that the bolts are saturated.
const mostBusy = 0.9

// queue returns Akçelik's queue at a utilization.
func queue(utilization, overload float64) float64 {
	below := utilization - 1
	return (below + math.Sqrt(below*below+4*overload*utilization)) / (2 * overload)
}

// queueSlope returns the derivative of queue by the utilization.
func queueSlope(utilization, overload float64) float64 {
	below := utilization - 1
	return (1 + (below+2*overload)/math.Sqrt(below*below+4*overload*utilization)) / (2 * overload)
}

// Bounds of a utilization. They keep a draw from the prior from becoming infinite.
const leastUtilization, mostUtilization = 1e-6, 1e3

// capability is what a setup has to do its work. bolts is its filter bolts relative to the largest measured number.
// pressure is the square of the smallest heap over its own heap, to which garbage collection is proportional. More
// bolts lower the utilization, and more heap lowers what garbage collection adds to it.
type capability struct{ bolts, pressure float64 }

// utilization returns the utilization that a row of terms causes in a setup, for one draw.
func (f *latencyFit) utilization(p, units, row []float64, c capability) float64 {
	q := p[len(f.terms):]
	u := dot(f.unitCosts(p, units), row) / math.Pow(c.bolts, q[ofPower])
	if f.heap > 0 {
		u *= 1 + math.Exp(q[ofHeap])*c.pressure
	}
	return math.Min(mostUtilization, math.Max(leastUtilization, u))
}

// ms returns the latency at a utilization for one draw, in units of the smallest latency.
func ms(p []float64, utilization float64) float64 {
	service := math.Exp(p[ofService])
	return service + service*math.Exp(p[ofWait])*queue(utilization, math.Exp(p[ofOverload]))
}

// msSlope returns the derivative of the latency's logarithm by the logarithm of the utilization.
func msSlope(p []float64, utilization float64) float64 {
	service := math.Exp(p[ofService])
	return utilization * service * math.Exp(p[ofWait]) * queueSlope(utilization, math.Exp(p[ofOverload])) / ms(p,
		utilization)
}

// latencyTerms are the terms that the work of a filter bolt is a sum of.
var latencyTerms = []term{perRecord, perMatch, perQuery, perTopology}

// fitLatency fits the latency. It returns nil if too few steps have it. The utilization is inferred from the latency
// and, if it was measured, from the busy share of the filter bolts.
func fitLatency(all []Observation, begin *latencyFit, seed uint64) *latencyFit {
	of := with(Latency, all)
	if len(of) < leastSteps {
		return nil
	}
	f := &latencyFit{basis: newBasis(of, latencyTerms...), bolts: 1, heap: leastHeap(of), unit: math.Inf(1)}
	if f.has(perRecord) { // the term of records then covers the cost of the topology
		f.basis = newBasis(of, latencyTerms[:len(latencyTerms)-1]...)
	}
	k := len(f.terms)
	known := true
	for _, o := range of {
		f.unit = math.Min(f.unit, o.Measured[Latency])
		f.bolts = math.Max(f.bolts, o.Setup.filterBolts())
		known = known && o.Setup.filterBolts() > 0
	}
	if !known {
		f.bolts = 0
	}
	rows, bolts, logs, busy := make([][]float64, len(of)), make([]capability, len(of)), make([]float64, len(of)),
		make([]float64, len(of))
	for i, o := range of {
		rows[i], bolts[i], logs[i] = f.row(o.Load, o.Setup), f.of(o.Setup), math.Log(o.Measured[Latency]/f.unit)
		if share := o.Measured[BusyOf(tuning.FilterBolt)] / o.Setup.filterBolts(); share > 0 && share < mostBusy {
			busy[i], f.busy = math.Log(share), true
		}
	}
	prior := append(slices.Repeat([]normal{unitCostPrior}, k), latencyPriors[:ofHeap]...)
	if f.heap > 0 {
		prior = append(prior, latencyPriors[ofHeap])
	}
	launches, latencies, shares, units := launchesOf(of), make([]scattered, len(of)), make([]scattered, len(of)),
		make([]float64, k)
	density := func(p []float64) float64 {
		q := p[k:]
		latency, step, between := math.Exp(2*q[ofLatency]), math.Exp(2*q[ofStep]), math.Exp(2*q[ofLaunch])
		for i, row := range rows {
			u := f.utilization(p, units, row, bolts[i])
			slope := msSlope(q, u)
			latencies[i] = scattered{logs[i] - math.Log(ms(q, u)), latency + slope*slope*step, slope}
			if busy[i] != 0 {
				shares[i] = scattered{busy[i] - math.Log(u) - q[ofBusy], step, 1}
			}
		}
		v := logPrior(prior, p) + launchesLikelihood(latencies, launches, between) +
			launchesLikelihood(shares, launches, between)
		if math.IsNaN(v) {
			return math.Inf(-1)
		}
		return v
	}
	var before *posterior
	if begin != nil {
		before = &begin.posterior
	}
	f.posterior = sample(density, prior, before, rand.New(rand.NewPCG(seed, uint64(len(of)))))
	return f
}

// of returns the capability of a setup. It assumes the largest number of bolts and a large heap if they are unknown.
func (f *latencyFit) of(s Setup) capability {
	c := capability{bolts: 1}
	if f.bolts > 0 && s.filterBolts() > 0 {
		c.bolts = s.filterBolts() / f.bolts
	}
	if f.heap > 0 && s.HeapMiB > 0 {
		c.pressure = f.heap * f.heap / (s.HeapMiB * s.HeapMiB)
	}
	return c
}

// drawn is one draw of the posterior for one launch and step.
type drawn struct {
	p []float64 // the parameters behind the unit costs
	// factor is the deviation of the utilization from its mean, and latency the deviation of the latency from its mean,
	// both as ratios.
	factor, latency float64
}

// each calls a function with every draw of the posterior, for a step of a new launch. The variances of the launch, of
// the step and of the reach beyond the measurements are added.
func (f *latencyFit) each(reach float64, random *rand.Rand, call func(p []float64, d drawn)) {
	k := len(f.terms)
	for _, p := range f.kept {
		q := p[k:]
		scatter := math.Sqrt(math.Exp(2*q[ofStep]) + math.Exp(2*q[ofLaunch]) + reach*reach)
		call(p, drawn{q, math.Exp(scatter * random.NormFloat64()),
			math.Exp(math.Exp(q[ofLatency]) * random.NormFloat64())})
	}
}

// ms returns the latency at a mean utilization for this launch and step, in units of the smallest latency.
func (d drawn) ms(utilization float64) float64 {
	return ms(d.p, math.Min(mostUtilization, math.Max(leastUtilization, utilization*d.factor))) * d.latency
}

// at returns draws of the latency in ms.
func (f *latencyFit) at(l Load, s Setup, reach float64, random *rand.Rand) []float64 {
	return f.draws(l, s, reach, random, func(d drawn, used float64) float64 { return f.unit * d.ms(used) })
}

// draws returns what figure makes of each draw and its utilization, before the scatter of the draw.
func (f *latencyFit) draws(l Load, s Setup, reach float64, random *rand.Rand,
	figure func(d drawn, utilization float64) float64) (out []float64) {
	row, bolts, units := f.row(l, s), f.of(s), make([]float64, len(f.terms))
	f.each(reach, random, func(p []float64, d drawn) {
		out = append(out, figure(d, f.utilization(p, units, row, bolts)))
	})
	return out
}

// utilizations returns draws of the utilization of the filter bolts.
func (f *latencyFit) utilizations(l Load, s Setup, reach float64, random *rand.Rand) []float64 {
	return f.draws(l, s, reach, random, func(d drawn, utilization float64) float64 { return d.factor * utilization })
}

// busyCores returns draws of the cores' time for which the filter bolts are busy. This is the utilization, corrected by
// its ratio to the measured busy share.
func (f *latencyFit) busyCores(l Load, s Setup, reach float64, random *rand.Rand) []float64 {
	return f.draws(l, s, reach, random, func(d drawn, utilization float64) float64 {
		return s.filterBolts() * d.factor * utilization * math.Exp(d.p[ofBusy])
	})
}

// capacities returns draws of the largest load along an axis whose latency is within a limit. A draw is infinite if no
// load reaches the limit, and 0 if no load is within it.
func (f *latencyFit) capacities(along func(float64) Load, s Setup, limit, reach float64, random *rand.Rand) (
	out []float64) {
	bolts, units := f.of(s), make([]float64, len(f.terms))
	f.each(reach, random, func(p []float64, d drawn) {
		holds := func(v float64) bool {
			return f.unit*d.ms(f.utilization(p, units, f.row(along(v), s), bolts)) <= limit
		}
		out = append(out, largest(holds))
	})
	return out
}

// beyondAll is a load that no topology ever sees. A setup that holds it is taken to hold any load.
const beyondAll = 1e12

// largest returns the largest load for which holds is true, to a thousandth. It doubles an upper bound until holds is
// false and then bisects, because holds has no inverse.
func largest(holds func(float64) bool) float64 {
	if !holds(0) {
		return 0
	}
	low, high := 0.0, 1.0
	for holds(high) {
		if low, high = high, 2*high; high > beyondAll {
			return math.Inf(1)
		}
	}
	for high-low > high/1000 && high > 1e-3 {
		if middle := (low + high) / 2; holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
