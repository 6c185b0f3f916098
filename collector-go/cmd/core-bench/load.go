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
	now    []float64 // the values of the present step, host by host
}

func newLoad(hosts, metrics, steps int, startMs, stepMs int64) *load {
	l := &load{hosts: hosts, metrics: metrics, steps: steps, startMs: startMs, stepMs: stepMs, random: rand.New(rand.NewPCG(1, 2)),
		now: make([]float64, hosts*metrics)}
	for i := range l.now {
		l.now[i] = float64(l.random.IntN(101))
	}
	return l
}

// next moves every value on: a random walk of deviation 1 within 0 to 100, as TSBS has its cpu-only rows, whole numbers.
func (l *load) next() {
	for i, v := range l.now {
		v = min(max(v+l.random.NormFloat64(), 0), 100)
		if !l.doubles {
			v = math.Round(v)
		}
		l.now[i] = v
	}
}

func (l *load) samples() int { return l.hosts * l.metrics * l.steps }

// names of TSBS' cpu-only fields; more are numbered.
var fields = []string{"usage_user", "usage_system", "usage_idle", "usage_nice", "usage_iowait", "usage_irq", "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice"}
