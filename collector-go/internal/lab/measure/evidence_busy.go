package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"
)

const (
	// capacityWindow is the window of Storm's capacity: the last ten minutes, or the worker's uptime if that is
	// shorter.
	capacityWindow = 10 * time.Minute
	// capacityBucket is the largest excess of that window over its nominal length. Storm counts in twenty buckets and
	// includes the one that is still being filled.
	capacityBucket = capacityWindow / 20
	// longestHistory bounds how far back a worker's series are read to undo that window.
	longestHistory = 2 * time.Hour
	// steadySpread bounds the spread of a steady task's capacity, and the relative change of its execution rate.
	steadySpread = 0.1
)

// taskOn identifies a task together with the worker that ran it.
type taskOn struct{ component, task, worker string }

// placeOf returns the task and the worker of a series from its labels.
func placeOf(labels map[string]string) taskOn {
	return taskOn{labels["component"], labels["task"], labels["worker"]}
}

// execution holds the data about a task's executions in one worker.
type execution struct {
	executed, times []Series // by stream
	spent           []Series // the latency hook's total
	capacity        runstore.Slices
	started         int64 // start of the worker, ms; 0 if unknown
}

// taskExecutions returns the executions of all tasks that executed tuples in the span. They reach back far enough to
// undo Storm's capacity window. Storm's own execute times are read only if no capacity is reported.
func (g *evidence) taskExecutions() map[taskOn]*execution {
	oldest := g.To
	for _, start := range g.started {
		oldest = min(oldest, start)
	}
	since := time.UnixMilli(max(min(oldest, g.From-capacityWindow.Milliseconds()),
		g.From-longestHistory.Milliseconds())).Add(-time.Second)
	all := map[taskOn]*execution{}
	for _, s := range g.since(since, executedMetric, ownComponents) {
		at := placeOf(s.Labels)
		if all[at] == nil {
			all[at] = &execution{started: g.started[at.worker]}
		}
		all[at].executed = append(all[at].executed, s)
	}
	maps.DeleteFunc(all, func(_ taskOn, x *execution) bool { return !(g.Increases(slicesIn(x.executed)) > 0) })
	for _, s := range g.read(executeTotalMetric, ownComponents) {
		if x := all[placeOf(s.Labels)]; x != nil {
			x.spent = append(x.spent, s)
		}
	}
	capacities := g.since(since, capacityMetric, ownComponents)
	for _, s := range capacities {
		if x := all[placeOf(s.Labels)]; x != nil {
			x.capacity = s.Slices
		}
	}
	if len(capacities) > 0 {
		return all // Storm's execute times are meaningless from 2.3 on
	}
	for _, s := range g.read(executeTimeMetric, ownComponents) {
		if x := all[placeOf(s.Labels)]; x != nil {
			x.times = append(x.times, s)
		}
	}
	return all
}

// busyTasks holds the estimates for a component's tasks that executed tuples, by task number, and the workers that ran
// them.
type busyTasks struct {
	tasks   map[string]busy.Estimate
	workers map[string]bool
}

// busyByComponent estimates the execute time of each task. A task that moved during the step is one task, with the
// times of both workers added.
func (g *evidence) busyByComponent() map[string]busyTasks {
	by := map[string]busyTasks{}
	for at, x := range g.taskExecutions() {
		seconds, within := x.busy(g.Span)
		of, found := by[at.component]
		if !found {
			of = busyTasks{map[string]busy.Estimate{}, map[string]bool{}}
			by[at.component] = of
		}
		of.workers[at.worker] = true
		sum := of.tasks[at.task] // not zero if the task moved to another worker
		sum.Span, sum.SampleRate = g.Seconds(), g.topology.sampleRate()
		sum.Tuples += float64(g.Increases(slicesIn(x.executed)))
		sum.Seconds += float64(seconds)
		sum.Error = math.Hypot(sum.Error, float64(within))
		of.tasks[at.task] = sum
	}
	return by
}

// busy returns the task's execute time in a span and its error (two standard errors), both in seconds. It prefers the
// latency hook's total, then Storm's capacity (from 2.3 on), then Storm's counts and mean latencies.
func (x *execution) busy(span runstore.Span) (seconds, within tuning.Figure) {
	if len(x.spent) > 0 {
		return span.Increases(slicesIn(x.spent)), 0
	}
	if len(x.capacity.TimesMs) == 0 {
		return x.counted(span), 0
	}
	to, squaresTo := x.executedBy(span.To)
	from, squaresFrom := x.executedBy(max(span.From, x.started))
	bucket := tuning.Figure(capacityBucket.Seconds() / math.Sqrt(12)) // the standard deviation of anything up to it
	if within = 2 * bucket * tuning.Figure(math.Sqrt(float64(squaresTo+squaresFrom))); (to - from).Known() &&
		within <= tuning.Figure(busy.MostError*span.Seconds()) {
		return to - from, within
	}
	return x.steady(span)
}

// counted multiplies each slice's mean latency by the number of tuples that were executed in it.
func (x *execution) counted(span runstore.Span) tuning.Figure {
	times := byStream(x.times)
	var all []tuning.Figure
	for _, s := range x.executed {
		if took, found := times[streamOf(s.Labels)]; found {
			_, spent := executions(span, s.Slices, took)
			all = append(all, spent)
		}
	}
	return runstore.Total(all)
}

// executedBy returns the task's total execute time in seconds from the worker's start to the given time. It undoes the
// window of Storm's capacity: the total is capacity times window, plus the total one window earlier. Storm updates the
// capacity when it executes a tuple, so the value belongs to the last such time. squares is the sum of the squared
// capacities whose windows are approximate; the caller derives the error from it.
func (x *execution) executedBy(at int64) (seconds, squares tuning.Figure) {
	window := capacityWindow.Milliseconds()
	for {
		last, known := x.lastBefore(at)
		if !known {
			return tuning.Unknown, squares
		}
		if last <= x.started {
			return seconds, squares
		}
		capacity := x.capacity.ValueAt(last)
		seconds += capacity * tuning.Figure(min(window, last-x.started)) / 1000
		if last-x.started <= window {
			return seconds, squares
		}
		squares += capacity * capacity
		at = last - window
	}
}

// lastBefore returns the end of the last slice, up to the given time, in which the task executed tuples. If there is
// none it returns the worker's start. known is false if the executions before the given time are unknown.
func (x *execution) lastBefore(at int64) (last int64, known bool) {
	oldest := int64(math.MaxInt64)
	last = x.started
	for _, s := range x.executed {
		times, values := s.Slices.TimesMs, s.Slices.Values
		i, found := slices.BinarySearch(times, at)
		if !found {
			i--
		}
		oldest = min(oldest, times[0])
		for ; i >= 0 && times[i] > last; i-- {
			if values[i] > 0 && (i == 0 || values[i] > values[i-1]) {
				last = times[i]
			}
		}
	}
	return last, last > x.started || x.started > 0 && oldest-x.started < staleStart.Milliseconds()
}

// staleStart bounds the time from a worker's start to the first stored executions of its tasks.
const staleStart = 5 * time.Minute

// steady estimates the busy time of a task whose capacity and execution rate did not change over window and span. The
// capacity of the window then also holds for the span. The result is unknown if the task was not steady.
func (x *execution) steady(span runstore.Span) (seconds, within tuning.Figure) {
	window := runstore.Span{From: span.From - capacityWindow.Milliseconds(), To: span.To}
	low, high := window.Within(x.capacity)
	if low == high || x.capacity.TimesMs[low]-window.From > capacityBucket.Milliseconds() {
		return tuning.Unknown, 0
	}
	all := x.capacity.Values[low:high]
	spread := slices.Max(all) - slices.Min(all)
	streams := slicesIn(x.executed)
	rate, usual := span.Increases(streams)/tuning.Figure(span.Seconds()),
		window.Increases(streams)/tuning.Figure(window.Seconds())
	if !(spread <= steadySpread) || !(math.Abs(float64(rate/usual-1)) <= steadySpread) {
		return tuning.Unknown, 0
	}
	mean, time := window.Mean(x.capacity), tuning.Figure(span.Seconds())
	return mean * time, (spread + mean*tuning.Figure(capacityBucket.Seconds()/capacityWindow.Seconds())) * time
}

// sampleRate returns the share of tuples that Storm samples.
func (t Topology) sampleRate() float64 {
	if rate := number(t.Settings["topology.stats.sample.rate"]); rate > 0 && rate <= 1 {
		return float64(rate)
	}
	return busy.SampleRate
}

// busiest sets how busy a bolt's tasks were and how much CPU its workers used. If a task executed too few tuples or
// the estimate is refused, it sets the reason instead.
func (g *evidence) busiest(b *tuning.BoltEvidence, of busyTasks) {
	if len(of.tasks) == 0 {
		b.BusyUnknown = "none of its tasks reported an execution"
		return
	}
	b.WorkersCPU = 0
	for worker := range of.workers {
		cores, known := g.cpu[worker]
		if !known {
			cores = tuning.Unknown
		}
		b.WorkersCPU += cores
	}
	var all []tuning.Figure
	for _, task := range slices.Sorted(maps.Keys(of.tasks)) {
		share, why := of.tasks[task].Share()
		if why == "" {
			all = append(all, tuning.Figure(share))
			continue
		}
		b.BusyUnknown = fmt.Sprintf("of task %s: %s", task, why)
		if of.tasks[task].Silent() == "" {
			return // a refused estimate of one task makes those of the others doubtful
		}
	}
	if len(all) == 0 {
		return
	}
	b.BusyMost, b.BusyUnknown = slices.Max(all), ""
	if len(all) == int(b.Executors) {
		b.BusyMean = runstore.Average(all)
	}
}
