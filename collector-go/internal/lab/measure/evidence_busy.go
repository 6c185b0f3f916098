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
	// capacityWindow is what Storm's capacity is over: the last ten minutes, or as long as the worker has been running.
	capacityWindow = 10 * time.Minute
	// capacityBucket is by how much that window may be longer than it says: Storm counts in twenty buckets, and adds
	// the one that is being filled.
	capacityBucket = capacityWindow / 20
	// longestHistory bounds how much of a worker's life is read to undo that window.
	longestHistory = 2 * time.Hour
	// steadySpread is how far apart a steady task's capacities, and its rates of executions, may be.
	steadySpread = 0.1
)

// taskOn is a task where it ran.
type taskOn struct{ component, task, worker string }

// placeOf reads where a series' task ran from its labels.
func placeOf(labels map[string]string) taskOn {
	return taskOn{labels["component"], labels["task"], labels["worker"]}
}

// execution is what is known of a task's executions in a worker.
type execution struct {
	executed, times []Series // by stream
	spent           []Series // the latency hook's total
	capacity        runstore.Slices
	started         int64 // when the worker was, ms; 0 where that is not known
}

// taskExecutions are those of all tasks that executed tuples in the span, as far back as Storm's window must be undone.
// Storm's own execute times are read only if no capacity is reported.
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
		return all // Storm's execute times say nothing from 2.3 on
	}
	for _, s := range g.read(executeTimeMetric, ownComponents) {
		if x := all[placeOf(s.Labels)]; x != nil {
			x.times = append(x.times, s)
		}
	}
	return all
}

// busyTasks are the tasks of a component that executed tuples, by their number, and the workers that they are in.
type busyTasks struct {
	tasks   map[string]busy.Estimate
	workers map[string]bool
}

// busyByComponent estimates how long each task executed. A task that moved within the step is one task, with the times
// of both workers added.
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
		sum := of.tasks[at.task] // it may have moved to another worker
		sum.Span, sum.SampleRate = g.Seconds(), g.topology.sampleRate()
		sum.Tuples += float64(g.Increases(slicesIn(x.executed)))
		sum.Seconds += float64(seconds)
		sum.Error = math.Hypot(sum.Error, float64(within))
		of.tasks[at.task] = sum
	}
	return by
}

// busy is for how long the task executed in a span, in seconds, and the error of that, at two standard errors: from the
// latency hook's total where the plugin reports one, else from Storm's capacity (2.3 on) or its counts and mean
// latencies.
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

// counted takes each slice's mean latency for all tuples that were executed in it.
func (x *execution) counted(span runstore.Span) tuning.Figure {
	times, total := map[[4]string]runstore.Slices{}, tuning.Unknown
	for _, s := range x.times {
		times[streamOf(s.Labels)] = s.Slices
	}
	for _, s := range x.executed {
		if took, found := times[streamOf(s.Labels)]; found {
			_, spent := executions(span, s.Slices, took)
			if !total.Known() {
				total = 0
			}
			total += spent
		}
	}
	return total
}

// executedBy is for how long a task had executed at a time since its worker was started, in seconds, and the sum of the
// squares of the capacities that it rests on and whose windows are approximate. It undoes the window of Storm's
// capacity: that time is the capacity times the window, plus what it was one window earlier. Storm sets the capacity
// when it executes a tuple, so that it holds for the last such time, and nothing was executed since.
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

// lastBefore is the end of the last slice up to a time in which the task executed tuples; the worker's start where
// there is none. It is not known where the executions before that time are not known.
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

// staleStart is how long after a worker's start its tasks' first executions may be seen.
const staleStart = 5 * time.Minute

// steady is for a task whose capacity and whose executions did not change over the window and the span: then the
// window says nothing else than the span.
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

// sampleRate is the share of tuples that Storm samples.
func (t Topology) sampleRate() float64 {
	if rate := number(t.Settings["topology.stats.sample.rate"]); rate > 0 && rate <= 1 {
		return float64(rate)
	}
	return busy.SampleRate
}

// busiest fills in how busy a bolt's tasks were, as far as they executed enough tuples, or why that is not known, and
// what its workers used.
func (g *evidence) busiest(b *tuning.BoltEvidence, of busyTasks) {
	if len(of.tasks) == 0 {
		b.BusyUnknown = "none of its tasks is known to have executed anything"
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
			return // what is refused of one task is not believed of the others
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
