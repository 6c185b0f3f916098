package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Rows are the cpu-only rows of TSBS. For each host and step they have one value per metric: a random walk with steps
// of standard deviation 1, limited to 0 to 100. They depend only on the seed, so that two stores can receive the same
// rows and sums can be checked. After NewRows they are read-only and safe for concurrent use.
type Rows struct {
	Hosts, Metrics int
	Seed           uint64

	// Play, if set, returns the value of a host's metric at a step, counted from 0. It replaces the random walk.
	Play   func(host, metric, step int) float64
	deltas []float64 // drawn once, so that sending costs little CPU
}

// drawn is the number of random steps that are drawn, a power of two. Each series starts at another of them in each
// step.
const drawn = 1 << 18

// NewRows returns the rows of a seed.
func NewRows(seed uint64, hosts, metrics int) *Rows {
	r := &Rows{Hosts: hosts, Metrics: metrics, Seed: seed, deltas: make([]float64, drawn)}
	random := rand.New(rand.NewPCG(seed, 2))
	for i := range r.deltas {
		r.deltas[i] = math.RoundToEven(random.NormFloat64())
	}
	return r
}

// Mixed hashes a number and the seed to 64 bits (splitmix64).
func (r *Rows) Mixed(n uint64) uint64 {
	z := r.Seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Walk generates the rows of some hosts, step after step. It is for one goroutine.
type Walk struct {
	// Values are those of the current step, host by host.
	Values []float64
	// Sums are the sums of all values of all steps so far, by metric. They are exact for whole numbers.
	Sums []float64
	// Steps is the number of steps so far.
	Steps int

	rows  *Rows
	hosts []int
}

// Walk returns the walk of some hosts before its first step.
func (r *Rows) Walk(hosts []int) *Walk {
	w := &Walk{rows: r, hosts: hosts, Values: make([]float64, len(hosts)*r.Metrics), Sums: make([]float64, r.Metrics)}
	for i, h := range hosts {
		for m := range r.Metrics {
			w.Values[i*r.Metrics+m] = float64(r.Mixed(uint64(h*r.Metrics+m)) % 101)
		}
	}
	return w
}

// Next advances to the next step.
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

// fields are the fields of TSBS' cpu-only rows.
var fields = []string{"usage_user", "usage_system", "usage_idle", "usage_nice", "usage_iowait", "usage_irq",
	"usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice"}

// Field returns the name of a metric's field as it is sent, "cpu.usage_user"; metrics beyond TSBS' ten are numbered.
func Field(metric int) string {
	if metric < len(fields) {
		return "cpu." + fields[metric]
	}
	return fmt.Sprintf("cpu.field_%d", metric)
}

// Tags returns TSBS' tags of a host except its name, in the form of TSBS' lines.
func Tags(host int) string {
	return fmt.Sprintf("region=eu-west-1,datacenter=eu-west-1c,rack=%d,os=Ubuntu16.04LTS,arch=x86,team=SF,service=%d,service_version=1,service_environment=test",
		host%100, host%20)
}
