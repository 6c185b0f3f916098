// Package compare compares two runs by configuration and by step. It owns which figures and settings are compared, and
// the guard against regressions. The statistics belong to tuning, also whether a change is clear (Difference.Clear). It
// takes values; it does not know from which files they come, nor how a comparison is shown (report does both).
//
// Start reading at Operands in comparison.go, then Configurations in change.go. Comparison.Guard judges a comparison
// with a baseline.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// The figures of a step by their names.
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
	Lateness       = "result after the query's own time" // TimeToResult where queries have such a time
	QueriesRunning = "queries running"
	Records        = "records"
	HostIdle       = "host idle"
)

// Figures are what is compared in each step, in the order in which it is shown. Worse is which way it changes for the
// worse, "up" or "down"; "" for neither. Slices states that a figure is known slice by slice; the others are of the
// queries one by one, or one a step.
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

// Operand is one of the two runs that are compared. It holds values only, so that tests can build one without files.
type Operand struct {
	Directory      string          `json:"directory"`
	ID             string          `json:"id"`
	StartedMs      int64           `json:"started_ms"`
	Configurations []Configuration `json:"-"`
}

// Configuration is one configuration of a run with all its launches. Launches stay apart, because the variation between
// them is what intervals are made from.
type Configuration struct {
	Label    string
	Unit     string            // what its capacity counts, "" where it has none
	Values   map[string]string // settings, versions, machine and load by name
	Launches []Launch
	// Costs are what a query costs, as its own report estimates it; none where its steps do not ascend along
	// simultaneous queries.
	Costs []Cost
	// OwnMs is how long its queries run by themselves: what their results take beyond it is the topology's. 0 where
	// queries end before it, or it is not known.
	OwnMs tuning.Figure
	// GC is how GC time went along with CPU and latency over all launches; nil where no worker reported its collectors.
	GC *tuning.GCReport
}

// Cost is what a query costs by its name, with the line that it is the slope of.
type Cost struct {
	Name, Worse string
	Estimate    tuning.Estimate
	Line        tuning.Line
}

// Launch is one start of the topology with all steps that were measured until it was stopped.
type Launch struct {
	Steps []Step
	// Attempts are all attempts, also those that were measured again.
	Attempts []tuning.Measured
}

// Step is what was measured at one place of the axis.
type Step struct {
	Value   float64
	Name    string
	Verdict tuning.Verdict
	// Figures are the values of each of Figures by its name, in the order of time.
	Figures    map[string][]tuning.Figure
	Collectors []Collector
}

// Collector is a garbage collector in a step.
type Collector struct {
	Name string
	Step *tuning.GCStep // nil where no worker reported it in this step
	// TotalMsPerMinute is that of all workers in each slice.
	TotalMsPerMinute []tuning.Figure
}

func (s Operand) labels() string {
	var all []string
	for _, c := range s.Configurations {
		all = append(all, fmt.Sprintf("%q", c.Label))
	}
	return strings.Join(all, ", ")
}

func (s Operand) labelled(label string) (Configuration, bool) {
	for _, c := range s.Configurations {
		if c.Label == label {
			return c, true
		}
	}
	return Configuration{}, false
}

// capacity is that of all launches of the configuration, their repeated attempts included.
func (c Configuration) capacity() tuning.Interval {
	var all []tuning.Measured
	for _, l := range c.Launches {
		all = append(all, l.Attempts...)
	}
	return tuning.IntervalOf(all)
}

// at are the steps at a value, one a launch.
func (c Configuration) at(value float64) (all []Step) {
	for _, l := range c.Launches {
		for _, s := range l.Steps {
			if s.Value == value {
				all = append(all, s)
			}
		}
	}
	return all
}

// places are the first steps at each value, by value.
func (c Configuration) places() (all []Step) {
	for _, l := range c.Launches {
		for _, s := range l.Steps {
			if !slices.ContainsFunc(all, func(known Step) bool { return known.Value == s.Value }) {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b Step) int { return int(a.Value*1000 - b.Value*1000) })
	return all
}

// agreed is one verdict for all launches: what they agree on, else inconclusive.
func agreed(steps []Step) tuning.Verdict {
	var all []tuning.Verdict
	for _, s := range steps {
		all = append(all, s.Verdict)
	}
	return tuning.Agreed(all)
}

// late are times to results as what they are beyond the queries' own time, s.
func late(r tuning.Repeated, ownMs tuning.Figure) (out tuning.Repeated) {
	for _, launch := range r {
		var beyond []tuning.Figure
		for _, ms := range launch {
			beyond = append(beyond, (ms-ownMs)/1000)
		}
		out = append(out, beyond)
	}
	return out
}

func repeated(steps []Step, figures func(Step) []tuning.Figure) (r tuning.Repeated) {
	for _, s := range steps {
		r = append(r, figures(s))
	}
	return r
}
