// Package predict predicts CPU, garbage collection, heap, latency and capacity of a configuration that was never run,
// under a load that was never applied. It fits a model to measured steps, and gives each figure as an interval.
//
// The package owns the model, its validation by leaving steps out, and the text of both. It must not know how steps are
// run. It is pure except for reading run directories and tables (observe.go, tables.go). All random draws are seeded,
// so the same steps give the same figures to the last digit; otherwise two reports of the same data would differ.
//
// Steps are comparable only within a world: the same machine, records, query and versions. Every model is fitted to one
// world. Start reading at Observation in this file, then Fit and Model.Predict in model.go; check.go validates.
package predict

import (
	"maps"
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Load is what is put on a topology. Queries is 0 and RecordsPerSecond unknown where nobody stated them. Both are of
// one step, in which they do not change.
type Load struct {
	Queries          float64       `json:"queries"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
}

// Setup is the part of a configuration that the model uses: executors, workers, heap. An unknown quantity is 0. Setups
// are compared by their text (key), so all fields take part in what counts as a repeat.
type Setup struct {
	// Executors are those of each component; HeapMiB is the most heap of one worker.
	Executors map[string]float64 `json:"executors"`
	Workers   float64            `json:"workers,omitempty"`
	HeapMiB   float64            `json:"heap_mib,omitempty"`
	// Pending is max spout pending: no figure follows it, but steps that differ in it are no repeats.
	Pending float64 `json:"max_spout_pending,omitempty"`
}

// filterBolts are the executors that match records with queries.
func (s Setup) filterBolts() float64 { return s.Executors[tuning.FilterBolt] }

// all are the executors of all components.
func (s Setup) all() (sum float64) {
	for _, n := range s.Executors {
		sum += n
	}
	return sum
}

// With has another number of executors of a component.
func (s Setup) With(component string, executors float64) Setup {
	s.Executors = maps.Clone(s.Executors)
	if s.Executors == nil {
		s.Executors = map[string]float64{}
	}
	s.Executors[component] = executors
	return s
}

// Figure is what is predicted of a step.
type Figure string

// The figures. A component's busy cores are BusyOf.
const (
	CPU     Figure = "CPU of all workers"
	GC      Figure = "GC of all workers"
	Heap    Figure = "heap used, all workers"
	Latency Figure = "filter latency, mean"
	// WorkerCPU is of tables that have the mean of a worker alone; CoresHeld and MemoryHeld are what the configurations
	// asked for that held a volume.
	WorkerCPU  Figure = "CPU, mean of a worker"
	CoresHeld  Figure = "CPU asked for"
	MemoryHeld Figure = "memory asked for"
)

// busyPrefix begins the figure of a component.
const busyPrefix = "busy cores of "

// BusyOf is how many cores' time a component's executors spend executing.
func BusyOf(component string) Figure { return Figure(busyPrefix + component) }

// Unit is the figure's.
func (f Figure) Unit() string {
	switch f {
	case Heap, MemoryHeld:
		return "MiB"
	case Latency:
		return "ms"
	}
	return "cores"
}

// Observation is one measured step, reduced to what the model uses. World, Launch and Configuration are opaque keys:
// steps of one launch share a random deviation, and steps of one configuration and load are repeats of each other.
type Observation struct {
	// World names what must be alike for steps to show anything of each other: machine, records, query, versions.
	World string
	// Launch names the launch of a topology, whose steps differ from another launch's together; Configuration the
	// settings.
	Launch, Configuration string
	// Step names it for people.
	Step  string
	Load  Load
	Setup Setup
	// Measured is what is known of it; Verdict is "" where nobody judged.
	Measured map[Figure]float64
	Verdict  tuning.Verdict
}

// repeats reports whether two observations are of one configuration under one load, as far as loads are held: a
// calibrated rate differs from run to run.
func (o Observation) repeats(other Observation) bool {
	near := func(a, b, within float64) bool { return math.Abs(a-b) <= within*math.Max(a, b) }
	return o.World == other.World && o.Configuration == other.Configuration &&
		near(o.Load.Queries, other.Load.Queries, 0.02) &&
		(near(float64(o.Load.RecordsPerSecond), float64(other.Load.RecordsPerSecond), 0.1) ||
			!o.Load.RecordsPerSecond.Known() && !other.Load.RecordsPerSecond.Known())
}

// positive reports whether a figure can be put on a scale of logarithms.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
