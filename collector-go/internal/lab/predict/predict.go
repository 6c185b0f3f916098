// Package predict predicts CPU, garbage collection, heap, latency and capacity of a configuration that was never run,
// under a load that was never applied. It fits a model to measured steps and returns each figure with an interval.
//
// The package contains the model, its validation by leaving steps out, and the text of both. It must not know how steps
// are run. It has no side effects; only observe.go, tables.go and world.go read files. All random draws are seeded, so
// that the same steps give the same figures to the last digit. Otherwise two reports of the same data would differ.
//
// Steps are comparable only within a world: the same machine, records, query and versions. Every model is fitted to one
// world. Start reading at Observation in this file, then Fit and Model.Predict in model.go. Validation is in check.go.
package predict

import (
	"maps"
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Load is the load of one step. Queries is 0 and RecordsPerSecond is unknown if the source does not state them.
type Load struct {
	Queries          float64       `json:"queries"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
}

// Setup is the part of a configuration that the model uses: executors, workers, heap. An unknown quantity is 0. Setups
// are compared by their text (key), so two steps are repeats only if all these fields are equal.
type Setup struct {
	// Executors has the number of executors of each component. HeapMiB is the largest heap of one worker.
	Executors map[string]float64 `json:"executors"`
	Workers   float64            `json:"workers,omitempty"`
	HeapMiB   float64            `json:"heap_mib,omitempty"`
	// Pending is max spout pending. No figure depends on it, but steps that differ in it are not repeats.
	Pending float64 `json:"max_spout_pending,omitempty"`
}

// filterBolts returns the number of filter bolt executors, which match records with queries.
func (s Setup) filterBolts() float64 { return s.Executors[tuning.FilterBolt] }

// all returns the number of executors of all components.
func (s Setup) all() (sum float64) {
	for _, n := range s.Executors {
		sum += n
	}
	return sum
}

// With returns a copy of the setup with another number of executors of a component.
func (s Setup) With(component string, executors float64) Setup {
	all := map[string]float64{}
	maps.Copy(all, s.Executors)
	all[component], s.Executors = executors, all
	return s
}

// Figure is the name of a figure that is predicted for a step.
type Figure string

// The figures. BusyOf returns the figure of a component's busy cores.
const (
	CPU     Figure = "CPU of all workers"
	GC      Figure = "GC of all workers"
	Heap    Figure = "heap used, all workers"
	Latency Figure = "filter latency, mean"
	// WorkerCPU is for tables that have only the mean of a worker. CoresHeld and MemoryHeld are the resource requests
	// of configurations that held a data volume.
	WorkerCPU  Figure = "CPU, mean of a worker"
	CoresHeld  Figure = "CPU asked for"
	MemoryHeld Figure = "memory asked for"
)

// busyPrefix is the prefix of the figures that BusyOf returns.
const busyPrefix = "busy cores of "

// BusyOf returns the figure for how many cores' time the executors of a component spend executing.
func BusyOf(component string) Figure { return Figure(busyPrefix + component) }

// Unit returns the unit of the figure: MiB, ms, or cores for every other figure.
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
// steps of one launch share a random deviation, and steps with the same configuration and load are repeats of each
// other.
type Observation struct {
	// World names what must be equal for steps to be comparable: machine, records, query, versions.
	World string
	// Launch names one launch of a topology; all its steps deviate in common from those of another launch.
	// Configuration names the settings.
	Launch, Configuration string
	// Step is the name of the step for people.
	Step  string
	Load  Load
	Setup Setup
	// Measured are the figures that were measured.
	Measured map[Figure]float64
}

// repeats reports whether two observations have the same configuration and about the same load. The loads may differ by
// 2% of queries and 10% of records, because a calibrated rate differs from run to run.
func (o Observation) repeats(other Observation) bool {
	near := func(a, b, within float64) bool { return math.Abs(a-b) <= within*math.Max(a, b) }
	return o.World == other.World && o.Configuration == other.Configuration &&
		near(o.Load.Queries, other.Load.Queries, 0.02) &&
		(near(float64(o.Load.RecordsPerSecond), float64(other.Load.RecordsPerSecond), 0.1) ||
			!o.Load.RecordsPerSecond.Known() && !other.Load.RecordsPerSecond.Known())
}

// positive reports whether a figure has a finite logarithm, which the model needs.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
