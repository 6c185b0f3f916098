package predict

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// latencyFit is the posterior of the filter latency as a queue: what the filter bolts have to do over what they can is
// their utilization, and
//
//	latency = service + wait x queue(utilization)
//
// with the time-dependent queue of Akçelik ("Travel time functions for transport planning purposes", 1991): utilization
// / (1 - utilization) as of M/M/1 far below 1, and a line above it, along which a queue grows that is overloaded for as
// long as a step lasts. A step's utilization differs from the next's by a log-normal, a launch's by another, and the
// latency itself by a third. Where the busy share of the filter bolts was measured, it is a second figure of the same
// utilization.
type latencyFit struct {
	basis
	bolts float64 // the most filter bolts, by which they are divided; 0 where they are not known
	heap  float64 // the least heap of a worker, 0 where it was the same in all
	unit  float64 // ms, the least latency that was measured
	posterior
	busy bool // whether a busy share of the filter bolts was measured, which then is the utilization's
}

// The parameters behind the terms' unit costs, all but the power as logarithms.
const (
	ofService  = iota // ms, in units of the least latency
	ofWait            // over the service
	ofOverload        // the queue's curvature at a utilization of 1
	ofPower           // of the number of filter bolts
	ofLatency         // the latency's scatter
	ofStep            // the utilization's, step by step
	ofLaunch          // the utilization's, launch by launch
	ofBusy            // the measured busy share over the utilization
	ofHeap            // what the least heap adds to the work, as a share of it; only where steps differ in it
	latencyParameters
)

// Priors: more bolts hold about in proportion more; latency scatters by 15%, give or take a factor of 2; utilization by
// 3%, that of launches alike.
var latencyPriors = [latencyParameters]normal{
	ofService: {-0.1, 0.3}, ofWait: {-1, 1.2}, ofOverload: {math.Log(0.003), 1.5}, ofPower: {1, 0.2},
	ofLatency: {math.Log(0.15), 0.7},
	ofStep:    {math.Log(0.03), 0.7}, ofLaunch: {math.Log(0.03), 0.9}, ofBusy: {0, 0.3}, ofHeap: {-1.5, 1.5},
}

// mostBusy is the busy share beyond which it shows only that the bolts are full.
const mostBusy = 0.9

// queue is Akçelik's over a utilization.
func queue(utilization, overload float64) float64 {
	below := utilization - 1
	return (below + math.Sqrt(below*below+4*overload*utilization)) / (2 * overload)
}

// queueSlope is its derivative by the utilization.
func queueSlope(utilization, overload float64) float64 {
	below := utilization - 1
	return (1 + (below+2*overload)/math.Sqrt(below*below+4*overload*utilization)) / (2 * overload)
}

// bounds of what is still a utilization, so that a draw from a prior is no infinity.
const leastUtilization, mostUtilization = 1e-6, 1e3

// capability is what a setup has to work with: its filter bolts over the most, and the square of the least heap over
// its own, by which garbage collection takes the more of its time. More bolts lower the utilization, and more heap
// lowers what garbage collection adds to it.
type capability struct{ bolts, pressure float64 }

// utilization is by a draw what a row asks of a setup.
func (f *latencyFit) utilization(p, units, row []float64, c capability) float64 {
	q := p[len(f.terms):]
	u := dot(f.unitCosts(p, units), row) / math.Pow(c.bolts, q[ofPower])
	if f.heap > 0 {
		u *= 1 + math.Exp(q[ofHeap])*c.pressure
	}
	return math.Min(mostUtilization, math.Max(leastUtilization, u))
}

// ms is by a draw the latency at a utilization, in units of the least.
func ms(p []float64, utilization float64) float64 {
	service := math.Exp(p[ofService])
	return service + service*math.Exp(p[ofWait])*queue(utilization, math.Exp(p[ofOverload]))
}

// msSlope is the derivative of the latency's logarithm by the utilization's.
func msSlope(p []float64, utilization float64) float64 {
	service := math.Exp(p[ofService])
	return utilization * service * math.Exp(p[ofWait]) * queueSlope(utilization, math.Exp(p[ofOverload])) / ms(p,
		utilization)
}

// latencyTerms are what a filter bolt's work adds up from.
var latencyTerms = []term{perRecord, perMatch, perQuery, perTopology}

// fitLatency fits the latency; nil where too few steps have it. Both the latency and, where it was measured, the busy
// share of the filter bolts inform the utilization.
func fitLatency(all []Observation, begin *latencyFit, seed uint64) *latencyFit {
	of := with(Latency, all)
	if len(of) < leastSteps {
		return nil
	}
	f := &latencyFit{basis: newBasis(of, latencyTerms...), bolts: 1, heap: leastHeap(of), unit: math.Inf(1)}
	if f.has(perRecord) { // a record's cost is that of the topology where its rate was the same in all
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

// of is what a setup has, over what was measured; the most and much where nothing is known.
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

// drawn is one launch and step of a posterior.
type drawn struct {
	p []float64 // the parameters behind the unit costs
	// factor is by how much its utilization differs from the mean one, latency the same of the latency.
	factor, latency float64
}

// each calls with every draw of the posterior, for a step of a launch that was not measured. The scatter of the launch,
// of the step and of what lies beyond the measurements adds up in squares.
func (f *latencyFit) each(reach float64, random *rand.Rand, call func(p []float64, d drawn)) {
	k := len(f.terms)
	for _, p := range f.kept {
		q := p[k:]
		scatter := math.Sqrt(math.Exp(2*q[ofStep]) + math.Exp(2*q[ofLaunch]) + reach*reach)
		call(p, drawn{q, math.Exp(scatter * random.NormFloat64()),
			math.Exp(math.Exp(q[ofLatency]) * random.NormFloat64())})
	}
}

// ms is the latency at a utilization, for this launch and step, in units of the least latency.
func (d drawn) ms(utilization float64) float64 {
	return ms(d.p, math.Min(mostUtilization, math.Max(leastUtilization, utilization*d.factor))) * d.latency
}

// at are draws of the latency in ms.
func (f *latencyFit) at(l Load, s Setup, reach float64, random *rand.Rand) (out []float64) {
	row, bolts, units := f.row(l, s), f.of(s), make([]float64, len(f.terms))
	f.each(reach, random, func(p []float64, d drawn) {
		out = append(out, f.unit*d.ms(f.utilization(p, units, row, bolts)))
	})
	return out
}

// utilizations are draws of the filter bolts' utilization.
func (f *latencyFit) utilizations(l Load, s Setup, reach float64, random *rand.Rand) (out []float64) {
	row, bolts, units := f.row(l, s), f.of(s), make([]float64, len(f.terms))
	f.each(reach, random, func(p []float64, d drawn) {
		out = append(out, d.factor*f.utilization(p, units, row, bolts))
	})
	return out
}

// busyCores are draws of how many cores' time the filter bolts are busy: their utilization, as it shows in what was
// measured of that.
func (f *latencyFit) busyCores(l Load, s Setup, reach float64, random *rand.Rand) (out []float64) {
	row, bolts, units := f.row(l, s), f.of(s), make([]float64, len(f.terms))
	f.each(reach, random, func(p []float64, d drawn) {
		out = append(out, s.filterBolts()*d.factor*f.utilization(p, units, row, bolts)*math.Exp(d.p[ofBusy]))
	})
	return out
}

// capacities are draws of the most load along an axis whose latency is at most a limit; infinite where no load reaches
// it, 0 where none holds.
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

// beyondAll is a load that no topology sees: what holds it holds any.
const beyondAll = 1e12

// largest is the largest load that holds, to a thousandth. It doubles an upper bound until it fails and then halves the
// bracket, since holds has no inverse.
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
