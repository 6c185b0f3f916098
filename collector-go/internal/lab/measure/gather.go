package measure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Metrics of a report.
const (
	cpuMetric    = "bullet_worker_cpu_seconds_total"
	heapMetric   = "bullet_worker_heap_used_bytes"
	gcMetric     = "bullet_worker_gc_seconds_total"
	workerMetric = "bullet_worker_info"

	collectionsMetric = "bullet_worker_gc_collections_total"

	queriesMetric = "bullet_active_queries"
	latencyMetric = "bullet_filter_latency_mean_seconds"
)

// selector returns a PromQL selector for a metric of a topology, with optional further matchers such as
// `component="JoinBolt"`.
func selector(topology, metric string, more ...string) string {
	matchers := "topology=" + strconv.Quote(topology)
	for _, m := range more {
		matchers += "," + m
	}
	return metric + "{" + matchers + "}"
}

// joinBolt restricts bullet_active_queries to the component that counts each query once.
const joinBolt = `component="JoinBolt"`

// gather reads what the collector stored in (from, to] into the run. Health and annotations are optional, because
// older collectors lack them; series are not. It replaces everything that was gathered before, so it may be called
// again.
func gather(ctx context.Context, collector Slices, topology string, from, to time.Time, run *runstore.Figures) error {
	run.Workers, run.FilterLatencySeconds, run.QueriesRunning = nil, nil, runstore.Slices{}
	if asked, can := collector.(Collections); can {
		if health, err := asked.Collection(ctx, topology, from, to); err == nil {
			run.Health = health
		}
	}
	gatherAnnotations(ctx, collector, topology, from, to, run)
	read := &reader{ctx: ctx, stored: collector, topology: topology, from: from, to: to}
	workers := map[string]*runstore.Worker{}
	for metric, field := range map[string]func(*runstore.Worker) *runstore.Slices{
		cpuMetric:  func(w *runstore.Worker) *runstore.Slices { return &w.CPUSeconds },
		gcMetric:   func(w *runstore.Worker) *runstore.Slices { return &w.GCSeconds },
		heapMetric: func(w *runstore.Worker) *runstore.Slices { return &w.HeapUsedBytes },
	} {
		for name, parts := range byLabel(read.read(metric), "worker") {
			*field(workerNamed(workers, name)) = sum(parts)
			if metric == cpuMetric {
				modes := byLabel(parts, "mode")
				workers[name].CPUUserSeconds, workers[name].CPUSystemSeconds = sum(modes["user"]), sum(modes["system"])
			}
		}
	}
	gatherCollectors(read, workers)
	gatherStarts(read, workers)
	if err := gatherPids(read, workers); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(workers)) {
		run.Workers = append(run.Workers, *workers[name])
	}
	run.QueriesRunning, run.FilterLatencySeconds = sum(read.read(queriesMetric, joinBolt)),
		slicesIn(read.read(latencyMetric))
	return read.err
}

// workerNamed returns the worker with a name and adds it if it is new. Metrics arrive in any order, so any of them may
// be the first of a worker.
func workerNamed(workers map[string]*runstore.Worker, name string) *runstore.Worker {
	if workers[name] == nil {
		workers[name] = &runstore.Worker{Name: name}
	}
	return workers[name]
}

// gatherCollectors reads the figures of each garbage collector of a worker separately.
func gatherCollectors(read *reader, workers map[string]*runstore.Worker) {
	seconds, counts := read.read(gcMetric), byLabel(read.read(collectionsMetric), "worker")
	for name, parts := range byLabel(seconds, "worker") {
		worker, times := workerNamed(workers, name), byLabel(parts, "collector")
		worker.Collectors = nil
		for _, collector := range slices.Sorted(maps.Keys(times)) {
			worker.Collectors = append(worker.Collectors, runstore.Collector{
				Name: collector, Seconds: sum(times[collector]),
				Collections: sum(byLabel(counts[name], "collector")[collector]),
			})
		}
	}
}

// gatherStarts sets the start times of each worker's processes. A worker that was restarted in place has several.
func gatherStarts(read *reader, workers map[string]*runstore.Worker) {
	for _, s := range read.read(startMetric) {
		worker := workers[s.Labels["worker"]]
		if worker == nil {
			continue
		}
		for _, start := range s.Slices.Values {
			if ms := int64(start * 1000); start.Known() && !slices.Contains(worker.StartsMs, ms) {
				worker.StartsMs = append(worker.StartsMs, ms)
			}
		}
		slices.Sort(worker.StartsMs)
	}
}

// gatherPids sets the process ids of each worker in the order in which the processes first reported.
func gatherPids(read *reader, workers map[string]*runstore.Worker) error {
	series := read.read(workerMetric)
	slices.SortFunc(series, func(a, b Series) int { return int(first(a) - first(b)) })
	for _, s := range series {
		pid, err := strconv.Atoi(s.Labels["pid"])
		if err != nil {
			return fmt.Errorf("%s has no pid: %v", workerMetric, s.Labels)
		}
		if w := workers[s.Labels["worker"]]; w != nil && !slices.Contains(w.Pids, pid) {
			w.Pids = append(w.Pids, pid)
		}
	}
	return nil
}

// first returns the end of a series' first slice, or 0 if the series is empty.
func first(s Series) int64 {
	if len(s.Slices.TimesMs) == 0 {
		return 0
	}
	return s.Slices.TimesMs[0]
}

// byLabel groups series by a label. Series without the label are in the group "".
func byLabel(series []Series, label string) map[string][]Series {
	groups := map[string][]Series{}
	for _, s := range series {
		groups[s.Labels[label]] = append(groups[s.Labels[label]], s)
	}
	return groups
}

// sum adds series up. A slice that is missing in one series is a gap in the sum, because a partial sum would look like
// a drop of the total.
func sum(series []Series) (out runstore.Slices) {
	totals, counts := map[int64]tuning.Figure{}, map[int64]int{}
	for _, s := range series {
		for i, t := range s.Slices.TimesMs {
			totals[t] += s.Slices.Values[i]
			counts[t]++
		}
	}
	for _, t := range slices.Sorted(maps.Keys(totals)) {
		if counts[t] == len(series) {
			out.TimesMs, out.Values = append(out.TimesMs, t), append(out.Values, totals[t])
		}
	}
	return out
}
