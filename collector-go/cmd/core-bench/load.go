package main

import (
	"math"
	"math/rand/v2"
)

// load is rows of measurements: for each host, at each step, one value a metric.
type load struct {
	hosts, metrics, steps int
	startMs, stepMs       int64
	doubles               bool // values with a fraction, as heap and CPU have them, in place of TSBS' whole numbers

	random *rand.Rand
	deltas []float64 // of the random walk, drawn once: what sends should not be busier than what is measured
	now    []float64 // the values of the present step, host by host
}

func newLoad(hosts, metrics, steps int, startMs, stepMs int64) *load {
	l := &load{hosts: hosts, metrics: metrics, steps: steps, startMs: startMs, stepMs: stepMs, random: rand.New(rand.NewPCG(1, 2)),
		now: make([]float64, hosts*metrics)}
	for i := range l.now {
		l.now[i] = float64(l.random.IntN(101))
	}
	l.deltas = make([]float64, drawn)
	for i := range l.deltas {
		l.deltas[i] = l.random.NormFloat64()
	}
	return l
}

// drawn is how many steps of random walks are drawn, a power of two; each series goes on by another of them each time.
const drawn = 1 << 18

// next moves every value on: a random walk of deviation 1 within 0 to 100, as TSBS has its cpu-only rows, whole numbers.
func (l *load) next() {
	from := l.random.IntN(drawn)
	for i, v := range l.now {
		delta := l.deltas[(from+i)&(drawn-1)]
		if !l.doubles {
			delta = math.RoundToEven(delta)
		}
		l.now[i] = min(max(v+delta, 0), 100)
	}
}

func (l *load) samples() int { return l.hosts * l.metrics * l.steps }

// names of TSBS' cpu-only fields; more are numbered.
var fields = []string{"usage_user", "usage_system", "usage_idle", "usage_nice", "usage_iowait", "usage_irq", "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice"}
