// Package busy defines the busy share of a bolt's task: the share of its time that it spends executing tuples. The
// page, Grafana, the diagnosis, alerts' causes and the evidence of an experiment all go by this definition. Start with
// Query, which is the definition as PromQL.
//
// It has three sources, and none is believed without evidence.
//
//   - The plugin's latency hook, on every Storm: how long the task spent in execute(), estimated from the tuples that
//     Storm times (one in twenty). Where the hook reports, nothing else is used.
//   - Up to Storm 2.2, the tuples that were executed times the mean time that one took.
//   - From Storm 2.3 on, the gauge __capacity. Storm computes it when it executes a tuple that it samples, over the ten
//     minutes before, and leaves it as it is until the next one: a task that stopped executing keeps its last value
//     indefinitely (BoltExecutorStats.calculateCapacity).
//
// So a share is known only where the task executed enough tuples in the time, where it does not exceed 1 by more than
// its error, and where the workers' CPU allows it (Covered). Otherwise it is not known.
package busy

import (
	"fmt"
	"strings"
)

const (
	// LeastSamples is how many of the executed tuples Storm must have sampled.
	LeastSamples = 20
	// SampleRate is the share of tuples that Storm samples unless topology.stats.sample.rate is set.
	SampleRate = 0.05
	// MostError is how far the error of a share may reach, at two standard errors, before the share is not known. A
	// share above 1 by no more than its error is compatible with a task that was busy all the time.
	MostError = 0.2
	// Covered is how much of its busy time a task that computes must have had a processor for, as its worker's CPU
	// shows.
	Covered = 0.85
)

// computing are the bolts that compute and never wait within a tuple, so that they cannot be busy for longer than
// their workers used a processor. Others may wait for an answer, as ResultBolt does over HTTP.
var computing = []string{"FilterBolt", "JoinBolt"}

// Computes reports whether a bolt is known not to wait within a tuple.
func Computes(component string) bool {
	for _, name := range computing {
		if name == component {
			return true
		}
	}
	return false
}

// gaugeError is by how much Storm's gauge may exceed what was: its ten minutes are twenty buckets and the one that is
// being filled.
const gaugeError = 0.1

// ofTask are the labels of a task.
const ofTask = "(topology, worker, component, task) "

// definition is the share of each task. TOPOLOGY and COMPONENTS stand for matchers, [W] for the time.
var definition = fmt.Sprintf("clamp_max(("+
	withinCPU("rate(bullet_execute_seconds_total")+" or ("+
	withinCPU("avg_over_time(storm_capacity_ratio")+" or "+
	"(sum by "+ofTask+"(rate(storm_executed_total{TOPOLOGY,COMPONENTS}[W]) * storm_execute_latency_seconds{TOPOLOGY,COMPONENTS}) "+
	"unless on (topology) storm_capacity_ratio{TOPOLOGY})) unless on "+ofTask+
	"rate(bullet_execute_seconds_total{TOPOLOGY,COMPONENTS}[W])) <= %[3]v, 1) and on "+ofTask+
	"(sum by "+ofTask+"(increase(storm_executed_total{TOPOLOGY,COMPONENTS}[W])) >= %[4]v)",
	Covered, strings.Join(computing, "|"), 1+gaugeError, LeastSamples/SampleRate)

// withinCPU is an expression over the time without the computing bolts for whose shares their worker used too little
// CPU. It begins with a function and a metric's name.
func withinCPU(expression string) string {
	return expression + "{TOPOLOGY,COMPONENTS}[W]) unless on " + ofTask +
		"(%[1]v * " + expression + "{TOPOLOGY,COMPONENTS,component=~%[2]q}[W]) > on (topology, worker) group_left () " +
		"sum by (topology, worker) (rate(bullet_worker_cpu_seconds_total{TOPOLOGY}[W])))"
}

// Query is PromQL for the busy share of each task, with the labels topology, worker, component and task. topology and
// components are matchers of labels, such as `topology="bullet"` and `component!~"__.*"`; an empty topology is all.
// The time must hold two slices at least. A share that is not known has no series.
func Query(topology, components, window string) string {
	text := strings.NewReplacer("TOPOLOGY", topology, "COMPONENTS", components, "[W]", "["+window+"]").Replace(definition)
	return strings.ReplaceAll(text, "{,", "{")
}
