// Package compare compares two runs, configuration by configuration and step by step. It defines which figures and
// settings are compared, and the guard against regressions. The statistics are in tuning, including the decision
// whether a change is clear (Difference.Clear). The package works on values: it does not know from which files they
// come or how a comparison is shown. Package report does both.
//
// Start reading at Operands in comparison.go, then Configurations in change.go. Comparison.Guard judges a comparison
// with a baseline.
package compare

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// The names of the figures of a step.
const (
	TotalCPU       = "CPU of all workers"
	MeanCPU        = "CPU, mean of a worker"
	Workers        = "workers"
	TotalGC        = "GC of all workers"
	MeanGC         = "GC, mean of a worker"
	GCShare        = "GC's share of CPU"
	TotalHeap      = "heap used, all workers"
	MeanHeap       = "heap used, mean of a worker"
	FilterLatency  = "filter latency, mean"
	ResultSize     = "result size"
	TimeToResult   = "time to result"
	Lateness       = "result after the query duration" // replaces TimeToResult if the queries run for a fixed time
	QueriesRunning = "queries running"
	Records        = "records"
	HostIdle       = "host idle"
)

// Figures are the figures that are compared in each step, in the order of display. Worse is the direction that is
// worse, "up" or "down", or "" if neither is. Slices means that the figure has a value for each time slice. Other
// figures have a value for each query, or one for the step.
var Figures = []struct {
	Name, Unit, Worse string
	Slices            bool
}{
	{TotalCPU, "ms/min", "up", true}, {MeanCPU, "ms/min", "", true}, {Workers, "", "", false},
	{TotalGC, "ms/min", "up", true}, {MeanGC, "ms/min", "", true}, {GCShare, "%", "up", true},
	{TotalHeap, "MiB", "", true}, {MeanHeap, "MiB", "", true},
	{FilterLatency, "ms", "up", true}, {ResultSize, "records", "down", false}, {TimeToResult, "ms", "up", false},
	{QueriesRunning, "queries", "", true}, {Records, "records/s", "", false}, {HostIdle, "%", "down", false},
}

// Operand is one of the two runs that are compared. It holds only values, so that tests can build one without files.
type Operand struct {
	Directory      string          `json:"directory"`
	ID             string          `json:"id"`
	StartedMs      int64           `json:"started_ms"`
	Configurations []Configuration `json:"-"`
}

// Configuration is one configuration of a run with all its launches. Launches stay separate, because the intervals are
// computed from the variation between them.
type Configuration struct {
	Label    string
	Unit     string            // the unit of its capacity; "" if it has none
	Capacity tuning.Interval   // as the run was judged
	Values   map[string]string // settings, versions, machine and load by name
	Launches []Launch
	// Costs are the costs of a query as the run's own report estimates them. There are none unless the steps increase
	// in simultaneous queries.
	Costs []Cost
	// OwnMs is the fixed time that the queries run, in ms. Any time to a result beyond it is due to the topology. It is
	// 0 if queries may end earlier, or if it is not known.
	OwnMs tuning.Figure
	// GC says how GC time correlates with CPU and latency over all launches. It is nil if no worker reported its
	// collectors.
	GC *tuning.GCReport
}

// Cost is one named cost of a query with the fitted line whose slope it is.
type Cost struct {
	Name, Worse string
	Estimate    tuning.Estimate
	Line        tuning.Line
}

// Launch is one start of the topology with all steps that were measured until it was stopped.
type Launch struct{ Steps []Step }

// Step holds the values that one launch measured in one step.
type Step struct {
	Value float64
	Name  string
	// Verdicts are those of all attempts at the step.
	Verdicts []tuning.Verdict
	// Figures maps the name of each figure (see Figures) to its values in the order of time.
	Figures    map[string][]tuning.Figure
	Collectors []Collector
}

// Collector holds the values of one garbage collector in a step.
type Collector struct {
	Name string
	Step *tuning.GCStep // nil if no worker reported it in this step
	// TotalMsPerMinute is the GC time of all workers in each slice, in ms per minute.
	TotalMsPerMinute []tuning.Figure
}

func (s Operand) labels() string {
	return strings.Join(tuning.Each(s.Configurations, func(c Configuration) string { return strconv.Quote(c.Label) }), ", ")
}

func (s Operand) labelled(label string) (Configuration, bool) {
	return tuning.First(s.Configurations, func(c Configuration) bool { return c.Label == label })
}

// at returns the steps with a value, one for each launch that has it.
func (c Configuration) at(value float64) []Step {
	return tuning.Those(c.steps(), func(s Step) bool { return s.Value == value })
}

// steps returns the steps of all launches.
func (c Configuration) steps() []Step {
	return slices.Concat(tuning.Each(c.Launches, func(l Launch) []Step { return l.Steps })...)
}

// places returns the first step with each value, sorted by value.
func (c Configuration) places() []Step {
	all := c.steps()
	slices.SortStableFunc(all, func(a, b Step) int { return cmp.Compare(a.Value, b.Value) })
	return slices.CompactFunc(all, func(a, b Step) bool { return a.Value == b.Value })
}

// combined returns the verdict of all attempts at a step in all launches.
func combined(steps []Step) tuning.Verdict {
	return tuning.Combined(slices.Concat(tuning.Each(steps, func(s Step) []tuning.Verdict { return s.Verdicts })...))
}

// late converts times to results, in ms, to the time beyond the queries' own time, in s.
func late(r tuning.Repeated, ownMs tuning.Figure) tuning.Repeated {
	beyond := func(ms tuning.Figure) tuning.Figure { return (ms - ownMs) / 1000 }
	return tuning.Each(r, func(launch []tuning.Figure) []tuning.Figure { return tuning.Each(launch, beyond) })
}
