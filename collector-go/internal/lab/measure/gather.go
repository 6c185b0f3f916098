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
	if health, err := collector.Collection(ctx, topology, from, to); err == nil {
		run.Health = health
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

// reader reads the series of a topology's metrics in (from, to]. The first error stays in err and later reads return
// nothing, so that a caller of several reads checks once.
type reader struct {
	ctx      context.Context
	stored   Stored
	topology string
	from, to time.Time
	err      error
}

// read returns the series of a metric over the reader's whole time range.
func (r *reader) read(metric string, more ...string) []Series {
	return r.since(r.from, metric, more...)
}

// since is read with an earlier start. The increase of a counter in a step needs a value from before the step.
func (r *reader) since(from time.Time, metric string, more ...string) (series []Series) {
	if r.err == nil {
		series, r.err = r.stored.Slices(r.ctx, selector(r.topology, metric, more...), from, r.to)
	}
	return series
}

// reader returns a reader for the session's topology.
func (s *Session) reader(ctx context.Context, from, to time.Time) *reader {
	return &reader{ctx: ctx, stored: s.ports.Slices, topology: s.o.Topology, from: from, to: to}
}

// meanOf returns the mean over the slices of all series. Series without a slice in the span are left out.
func meanOf(p runstore.Span, all []Series) tuning.Figure {
	return runstore.Average(tuning.Each(slicesIn(all), p.Mean))
}

// slicesIn returns the series without their labels.
func slicesIn(all []Series) (out []runstore.Slices) {
	for _, s := range all {
		out = append(out, s.Slices)
	}
	return out
}

// number parses a setting. It is unknown if the setting is missing or not a number.
func number(text string) tuning.Figure {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return tuning.Unknown
	}
	return tuning.Figure(v)
}

// detail adds to a step the figures that no goal needs: the latency hook's percentiles of the filter latency, and the
// sharing of workers and hosts. If they cannot be read, the step gets a note and does not fail, because the verdict
// does not depend on them.
func (s *Session) detail(step *runstore.Step) {
	if err := addDetail(s.ctx, s.ports.Slices, s.ports.Calculator, s.o.Topology, step); err != nil &&
		s.ctx.Err() == nil {
		step.Notes = append(step.Notes, fmt.Sprintf("further details of the step could not be read: %v", err))
	}
}

// addDetail is detail without the session; it needs only the collector.
func addDetail(ctx context.Context, collector Slices, calculator Calculator, topology string, step *runstore.Step,
) error {
	from, to := time.UnixMilli(step.MeasuredFromMs), time.UnixMilli(step.EndMs)
	shared, err := GatherSharing(ctx, collector, topology, from, to)
	if err != nil {
		return err
	}
	step.Sharing = shared
	if calculator != nil {
		step.FilterLatency, err = hookPercentiles(ctx, calculator, topology, from, to)
	}
	return err
}

// hookPercentiles returns the percentiles over the records that the latency hook measured in (from, to]. It returns
// nil if the hook measured none.
func hookPercentiles(ctx context.Context, calculator Calculator, topology string, from,
	to time.Time) (*runstore.Percentiles, error) {
	var err error
	measured := fmt.Sprintf("sum(increase(%s[%dms]))", selector(topology, latencyHistogram), to.Sub(from).Milliseconds())
	calculate := func(expression string) (v tuning.Figure) {
		if err == nil {
			v, err = calculator.Calculate(ctx, expression, to)
		}
		return v
	}
	quantile := func(q float64) tuning.Figure {
		return calculate(fmt.Sprintf("1000 * histogram_quantile(%g, %s)", q, measured))
	}
	p := &runstore.Percentiles{Records: calculate("histogram_count(" + measured + ")"), P50Ms: quantile(0.5),
		P95Ms: quantile(0.95), P99Ms: quantile(0.99)}
	if err == nil && (!(p.Records > 0) || !p.P99Ms.Known()) {
		return nil, nil
	}
	p.Spectrum = tuning.Each(runstore.SpectrumShares, quantile)
	if err != nil {
		return nil, fmt.Errorf("percentiles of the filter latency: %w", err)
	}
	return p, nil
}
