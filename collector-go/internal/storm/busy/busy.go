// Package busy defines the busy share of a bolt's task: the share of time that it spends executing tuples. The page,
// Grafana, the diagnosis, and the evidence of an experiment all use this definition. Start with Query, which is the
// definition as PromQL.
//
// The share has three sources:
//
//   - The plugin's latency hook, on every Storm: the time that the task spent in execute(), estimated from the tuples
//     that Storm times (one in twenty). If the hook reports, nothing else is used.
//   - Up to Storm 2.2, the number of executed tuples times their mean execution time.
//   - From Storm 2.3 on, the gauge __capacity. Storm computes it when it executes a sampled tuple, for the ten minutes
//     before, and does not change it until the next one. A task that stopped executing keeps its last value
//     indefinitely (BoltExecutorStats.calculateCapacity).
//
// None of them is used without a check. A share is unknown if the task executed too few tuples, or if the share
// exceeds 1 by more than its error. It is also unknown if the CPU time of the workers is not consistent with it
// (Covered).
package busy

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// LeastSamples is the minimum number of executed tuples that Storm must have sampled.
	LeastSamples = 20
	// SampleRate is the share of tuples that Storm samples if topology.stats.sample.rate is not set.
	SampleRate = 0.05
	// MostError is the maximum error of a share, at two standard errors; with a larger error the share is unknown. A
	// share above 1 by no more than its error is compatible with a task that was busy all the time.
	MostError = 0.2
	// Covered is the minimum ratio of a worker's CPU time to the busy time of one of its computing tasks.
	Covered = 0.85
)

// computing are the bolts that compute and never wait during a tuple. Therefore their busy time cannot exceed the CPU
// time of their workers. Other bolts may wait for an answer, as ResultBolt does over HTTP.
var computing = []string{"FilterBolt", "JoinBolt"}

// Computes reports whether a bolt is known not to wait during a tuple.
func Computes(component string) bool {
	return slices.Contains(computing, component)
}

// gaugeError is by how much Storm's gauge may exceed the real value. Its ten minutes are twenty complete buckets and
// the one that is being filled.
const gaugeError = 0.1

// ofTask are the labels of a task.
const ofTask = "(topology, worker, component, task) "

// definition is the expression for the share of each task. TOPOLOGY and COMPONENTS stand for matchers, and [W] for the
// window.
var definition = fmt.Sprintf("clamp_max(("+
	withinCPU("rate(bullet_execute_seconds_total")+" or ("+
	withinCPU("avg_over_time(storm_capacity_ratio")+" or "+
	"(sum by "+ofTask+"(rate(storm_executed_total{TOPOLOGY,COMPONENTS}[W]) * storm_execute_latency_seconds{TOPOLOGY,COMPONENTS}) "+
	"unless on (topology) storm_capacity_ratio{TOPOLOGY})) unless on "+ofTask+
	"rate(bullet_execute_seconds_total{TOPOLOGY,COMPONENTS}[W])) <= %[3]v, 1) and on "+ofTask+
	"(sum by "+ofTask+"(increase(storm_executed_total{TOPOLOGY,COMPONENTS}[W])) >= %[4]v)",
	Covered, strings.Join(computing, "|"), 1+gaugeError, LeastSamples/SampleRate)

// withinCPU restricts an expression over the window. It removes computing bolts whose worker used too little CPU for
// their share. The expression begins with a function and a metric's name.
func withinCPU(expression string) string {
	return expression + "{TOPOLOGY,COMPONENTS}[W]) unless on " + ofTask +
		"(%[1]v * " + expression + "{TOPOLOGY,COMPONENTS,component=~%[2]q}[W]) > on (topology, worker) group_left () " +
		"sum by (topology, worker) (rate(bullet_worker_cpu_seconds_total{TOPOLOGY}[W])))"
}

// Query returns PromQL for the busy share of each task, with the labels topology, worker, component and task. topology
// and components are label matchers, such as `topology="bullet"` and `component!~"__.*"`. An empty topology matches
// all. The window must contain at least two slices. An unknown share has no series.
func Query(topology, components, window string) string {
	text := strings.NewReplacer("TOPOLOGY", topology, "COMPONENTS", components, "[W]", "["+window+"]").Replace(definition)
	return strings.ReplaceAll(text, "{,", "{")
}

// Estimate is an estimate of the time that a task spent executing during a span, with the data it is based on.
type Estimate struct {
	// Tuples is the number of tuples that it executed in the span. Seconds is the total time they took.
	Tuples, Seconds float64
	// Error is the error of Seconds at two standard errors, in seconds, without the error of Storm's sampling.
	Error float64
	// Span is the length of the span in seconds. SampleRate is the share of tuples that Storm samples.
	Span, SampleRate float64
}

// Silent returns why there is no usable estimate, or "" if there is one.
func (e Estimate) Silent() string {
	samples := e.Tuples * e.SampleRate
	switch {
	case !(math.Round(samples) >= LeastSamples):
		return fmt.Sprintf("Storm sampled only about %.0f of its %.0f executed tuples; at least %d samples are required", samples,
			e.Tuples, LeastSamples)
	case math.IsNaN(e.Seconds):
		return "Storm reported no execution times"
	}
	return ""
}

// Share returns the busy share of the span. If it is unknown, the result is NaN and the reason.
func (e Estimate) Share() (share float64, why string) {
	if why := e.Silent(); why != "" {
		return math.NaN(), why
	}
	share = e.Seconds / e.Span
	within := e.within()
	switch {
	case !(within <= MostError):
		return math.NaN(), fmt.Sprintf("the error of its busy share is %.0f%%, above the limit of %.0f%%", 100*within, 100*MostError)
	case share > 1+within || share < -within:
		return math.NaN(), fmt.Sprintf("Storm reported an impossible busy share of %.0f%%", 100*share)
	}
	return min(1, max(0, share)), ""
}

// within returns the error of the share at two standard errors. A sampled tuple stands for those that were not
// sampled, and its time is in whole milliseconds. With a mean of m ms, a sample scatters by about m ms at most (like
// times between random events), and rounding adds a variance of m.
func (e Estimate) within() float64 {
	m := 1000 * max(0, e.Seconds) / e.Tuples
	sampling := math.Sqrt(e.Tuples*((1-e.SampleRate)*m*m+m)/e.SampleRate) / 1000
	return (2*sampling + e.Error) / e.Span
}
