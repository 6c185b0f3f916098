package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Rows are TSBS' cpu-only rows: for each host, at each step, one value a metric, a random walk of deviation 1 within 0
// to 100. They follow from the seed, whoever sends which of them, so that two stores can be given the same rows and a
// sum can be checked. After NewRows it is read only, and safe from any goroutine.
type Rows struct {
	Hosts, Metrics int
	Seed           uint64

	// Play, where it is set, is the value of a host's metric at a step, from 0 on, in the place of a random walk.
	Play   func(host, metric, step int) float64
	deltas []float64 // drawn once: what sends should not be busier than what is measured
}

// drawn is how many steps of random walks are drawn, a power of two; each series goes on by another of them each time.
const drawn = 1 << 18

// NewRows draws what the rows are made of.
func NewRows(seed uint64, hosts, metrics int) *Rows {
	r := &Rows{Hosts: hosts, Metrics: metrics, Seed: seed, deltas: make([]float64, drawn)}
	random := rand.New(rand.NewPCG(seed, 2))
	for i := range r.deltas {
		r.deltas[i] = math.RoundToEven(random.NormFloat64())
	}
	return r
}

// Mixed spreads a number over 64 bits (splitmix64).
func (r *Rows) Mixed(n uint64) uint64 {
	z := r.Seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Walk is the rows of some hosts, step after step. It is for one goroutine.
type Walk struct {
	// Values are those of the present step, host by host.
	Values []float64
	// Sums are, by metric, of all values of all steps so far; exact for whole numbers.
	Sums []float64
	// Steps is how many there were.
	Steps int

	rows  *Rows
	hosts []int
}

// Walk begins before the first step of some hosts.
func (r *Rows) Walk(hosts []int) *Walk {
	w := &Walk{rows: r, hosts: hosts, Values: make([]float64, len(hosts)*r.Metrics), Sums: make([]float64, r.Metrics)}
	for i, h := range hosts {
		for m := range r.Metrics {
			w.Values[i*r.Metrics+m] = float64(r.Mixed(uint64(h*r.Metrics+m)) % 101)
		}
	}
	return w
}

// Next goes on to the next step.
func (w *Walk) Next() {
	r := w.rows
	from := int(r.Mixed(uint64(w.Steps) + 1<<32))
	for i, h := range w.hosts {
		values, first := w.Values[i*r.Metrics:(i+1)*r.Metrics], from+h*r.Metrics
		for m, v := range values {
			if r.Play != nil {
				v = r.Play(h, m, w.Steps)
			} else {
				v = min(max(v+r.deltas[(first+m)&(drawn-1)], 0), 100)
			}
			values[m] = v
			w.Sums[m] += v
		}
	}
	w.Steps++
}

// fields are TSBS' cpu-only ones.
var fields = []string{"usage_user", "usage_system", "usage_idle", "usage_nice", "usage_iowait", "usage_irq",
	"usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice"}

// Field is the name of a metric's field as it is sent, "cpu.usage_user"; those beyond TSBS' ten are numbered.
func Field(metric int) string {
	if metric < len(fields) {
		return "cpu." + fields[metric]
	}
	return fmt.Sprintf("cpu.field_%d", metric)
}

// Tags are TSBS' tags of a host but for its name, as its lines have them.
func Tags(host int) string {
	return fmt.Sprintf("region=eu-west-1,datacenter=eu-west-1c,rack=%d,os=Ubuntu16.04LTS,arch=x86,team=SF,service=%d,service_version=1,service_environment=test",
		host%100, host%20)
}
