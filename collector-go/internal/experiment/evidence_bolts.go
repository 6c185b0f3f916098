package experiment

import (
	"maps"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// capacityWindow is what Storm's capacity is over: the last ten minutes, or as long as the worker has been running.
const capacityWindow = 10 * time.Minute

// longestHistory bounds how much of a worker's life is read to undo that window.
const longestHistory = 2 * time.Hour

// bolts reads how busy each bolt's executors were.
func (g *evidence) bolts() {
	busy := g.busyByTask()
	queues := byLabel(g.read(queueFullMetric, ownComponents), "component")
	for _, c := range g.topology.Components {
		if c.Kind != "bolt" || len(c.Name) > 1 && c.Name[:2] == "__" {
			continue
		}
		b := tuning.NoBoltEvidence(c.Name)
		b.Executors = tuning.Figure(c.Parallelism)
		g.busiest(&b, busy[c.Name])
		for _, s := range queues[c.Name] {
			b.QueueMost = tuning.Greater(b.QueueMost, g.Mean(s.Slices))
		}
		g.Bolts = append(g.Bolts, b)
	}
}

// busyTask is how busy a task was, and where.
type busyTask struct {
	worker string
	ratio  tuning.Figure
}

func (g *evidence) busiest(b *tuning.BoltEvidence, tasks map[string]busyTask) {
	var all []tuning.Figure
	workers := map[string]bool{}
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		// The ratio is estimated from sampled tuples, which may make it more than there was time.
		ratio := min(tasks[task].ratio, 1)
		all = append(all, ratio)
		workers[tasks[task].worker] = true
		b.BusyMost = tuning.Greater(b.BusyMost, ratio)
	}
	b.BusyMean = rundir.Average(all)
	if len(workers) > 0 {
		b.WorkersCPU = 0
	}
	for worker := range workers {
		cores, known := g.cpu[worker]
		if !known {
			cores = tuning.Unknown
		}
		b.WorkersCPU += cores
	}
}

// busyByTask is the share of the step that each task spent executing, by component and task: from Storm's capacity
// where it has one (2.3 on), else from counts and mean latencies.
func (g *evidence) busyByTask() map[string]map[string]busyTask {
	oldest := g.To
	for _, start := range g.started {
		oldest = min(oldest, start)
	}
	since := time.UnixMilli(max(min(oldest, g.From), g.From-longestHistory.Milliseconds())).Add(-time.Second)
	capacities := g.since(since, capacityMetric, ownComponents)
	busy := map[string]map[string]busyTask{}
	for _, s := range capacities {
		addBusy(busy, s.Labels, g.busyFromCapacity(s))
	}
	if len(capacities) == 0 {
		g.busyFromCounts(busy)
	}
	return busy
}

func addBusy(busy map[string]map[string]busyTask, labels map[string]string, ratio tuning.Figure) {
	component, task := labels["component"], labels["task"]
	if busy[component] == nil {
		busy[component] = map[string]busyTask{}
	}
	sum := ratio
	if there, found := busy[component][task]; found {
		sum += there.ratio
	}
	busy[component][task] = busyTask{labels["worker"], sum}
}

// busyFromCapacity undoes the window of Storm's capacity: the time that a task executed since its start is the capacity
// times the window, plus that of one window earlier.
func (g *evidence) busyFromCapacity(s Series) tuning.Figure {
	started, known := g.started[s.Labels["worker"]]
	from := max(g.From, started)
	if !known || from >= g.To {
		return g.Mean(s.Slices)
	}
	busy := executedMs(s.Slices, started, g.To) - executedMs(s.Slices, started, from)
	if ratio := busy / tuning.Figure(g.To-from); ratio.Known() {
		return max(0, ratio)
	}
	return g.Mean(s.Slices) // the history is not all there: the window lags behind, and is better than nothing
}

// executedMs is how long a task executed since it was started.
func executedMs(capacity rundir.Slices, started, at int64) tuning.Figure {
	window := capacityWindow.Milliseconds()
	total := tuning.Figure(0)
	for ; at > started; at -= window {
		total += capacity.ValueAt(at) * tuning.Figure(min(window, at-started))
	}
	return total
}

// busyFromCounts takes each slice's mean latency for all tuples that were executed in it.
func (g *evidence) busyFromCounts(busy map[string]map[string]busyTask) {
	times := g.executeTimes(ownComponents)
	for _, s := range g.read(executedMetric, ownComponents) {
		if took, found := times[streamOf(s.Labels)]; found {
			_, spent := executions(g.Span, s.Slices, took)
			addBusy(busy, s.Labels, spent/tuning.Figure(g.Seconds()))
		}
	}
}

// executeTimes are Storm's mean latencies of executions, by the stream that they are of.
func (r *reader) executeTimes(of string) map[[4]string]rundir.Slices {
	times := map[[4]string]rundir.Slices{}
	for _, s := range r.read(executeTimeMetric, of) {
		times[streamOf(s.Labels)] = s.Slices
	}
	return times
}

func streamOf(labels map[string]string) [4]string {
	return [4]string{labels["component"], labels["task"], labels["source"], labels["stream"]}
}

// executions are how many tuples were executed in the span's slices, as far as it is known how long one took, and how
// long they took together, in seconds.
func executions(p rundir.Span, executed, took rundir.Slices) (tuples, seconds tuning.Figure) {
	low, high := p.Within(executed)
	for i := max(low, 1); i < high; i++ {
		each := took.ValueAt(executed.TimesMs[i])
		if !each.Known() {
			continue // a slice without tuples has no mean
		}
		n := executed.Values[i] - executed.Values[i-1]
		tuples, seconds = tuples+n, seconds+n*each
	}
	return tuples, seconds
}
