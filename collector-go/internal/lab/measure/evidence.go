package measure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Metrics that show the limiter of a step, in addition to those of a report.
const (
	activeMostMetric  = "bullet_active_queries_max"
	createdMetric     = "bullet_created_queries_total"
	restartsMetric    = "bullet_worker_restarts_total"
	startMetric       = "bullet_worker_start_time_seconds"
	heapMostMetric    = "bullet_worker_heap_used_max_bytes"
	heapLimitMetric   = "bullet_worker_heap_limit_bytes"
	capacityMetric    = "storm_capacity_ratio"
	executedMetric    = "storm_executed_total"
	executeTimeMetric = "storm_execute_latency_seconds"
	// executeTotalMetric comes from the latency hook, on every version of Storm.
	executeTotalMetric = "bullet_execute_seconds_total"
	queueFullMetric    = "storm_receive_queue_full_ratio"
	skippedMetric      = "storm_skipped_seconds_total"
	completeMetric     = "storm_complete_latency_seconds"
	recordsMetric      = "bullet_source_records_total"
	bytesMetric        = "bullet_source_bytes_total"
	lagMetric          = "bullet_source_lag_records"
	emittedMetric      = "storm_emitted_total"
)

// ownComponents excludes Storm's own bolts, whose names begin with two underscores.
const ownComponents = `component!~"__.*"`

// evidenceLookback is how far before a step the last slice of its counters is searched.
const evidenceLookback = 2 * time.Minute

// TimeRange is the time that evidence covers: (From, To], in slices of Width.
type TimeRange struct {
	From, To time.Time
	Width    time.Duration
	// Workers is the number of workers that are known to belong to the topology, so that silent ones are detected. It
	// is 0 if unknown.
	Workers int
}

// GatherEvidence reads from the collector what may have limited the topology during a time range. The session adds the
// facts of other origin: the query endpoint, the load client, the host, the Kafka partitions and the collector's share
// of CPU. A series that the collector does not have is unknown and noted, so that a missing figure never looks
// harmless. An error means that the collector could not be asked.
func GatherEvidence(ctx context.Context, collector Stored, t Topology, of TimeRange) (tuning.Evidence, error) {
	g := &evidence{
		reader: reader{ctx: ctx, stored: collector, topology: t.Name, from: of.From.Add(-evidenceLookback), to: of.To},
		Span:   runstore.Span{From: of.From.UnixMilli(), To: of.To.UnixMilli()}, of: of, topology: t,
		Evidence: tuning.NoEvidence(),
	}
	g.Topology, g.FromMs, g.ToMs, g.Notes = t.Name, g.From, g.To, []string{}
	g.wholeness()
	g.workers()
	g.queries()
	g.bolts()
	g.spouts()
	g.source()
	if g.err != nil {
		return tuning.Evidence{}, fmt.Errorf("gather evidence for the limiter of the step: %w", g.err)
	}
	return g.Evidence, nil
}

// evidence is the evidence while it is gathered, with intermediate results that several parts need.
type evidence struct {
	tuning.Evidence
	runstore.Span
	reader
	of       TimeRange
	topology Topology
	cpu      map[string]tuning.Figure // by worker, in cores
	started  map[string]int64         // the newest start of each worker, ms
}

// note adds a sentence about figures that could not be read. It appears next to the verdict.
func (g *evidence) note(format string, args ...any) {
	g.Notes = append(g.Notes, fmt.Sprintf(format, args...))
}

// workers reads the workers' CPU, garbage collection, heap and restarts.
func (g *evidence) workers() {
	cpu, gc, heap := g.read(cpuMetric), g.read(gcMetric), g.heap()
	g.cpu, g.Workers.CPUCores = map[string]tuning.Figure{}, 0
	seconds := tuning.Figure(g.Seconds())
	collected, reported := byLabel(gc, "worker"), byLabel(cpu, "worker")
	var totals []runstore.Slices
	for _, name := range slices.Sorted(maps.Keys(reported)) {
		total := sum(reported[name])
		totals = append(totals, total)
		used := g.Increase(total)
		g.cpu[name] = used / seconds
		g.Workers.CPUCores += g.cpu[name]
		time := g.Increase(sum(collected[name]))
		if share := time / seconds; share.Known() && !(share <= g.GC.ShareOfTime) {
			g.GC.Worker, g.GC.ShareOfTime, g.GC.ShareOfCPU = name, share, time/used
		}
		if ratio, known := heap[name]; known {
			g.GC.HeapUsedMost = tuning.Greater(g.GC.HeapUsedMost, ratio)
		}
	}
	g.Workers.Workers = tuning.Figure(len(g.cpu))
	g.miss(totals)
	if len(g.cpu) == 0 {
		g.Workers.CPUCores = tuning.Unknown
		g.note("no worker reported its CPU time")
	}
	g.restarts()
}

// heap returns, for each worker, the largest used share of its heap limit.
func (g *evidence) heap() map[string]tuning.Figure {
	used := g.read(heapMostMetric)
	if len(used) == 0 {
		used = g.read(heapMetric)
	}
	limits, ratios := byLabel(g.read(heapLimitMetric), "worker"), map[string]tuning.Figure{}
	for name, series := range byLabel(used, "worker") {
		if most := g.Most(sum(limits[name])); most > 0 {
			ratios[name] = g.Most(sum(series)) / most
		}
	}
	return ratios
}

func (g *evidence) restarts() {
	series := g.read(restartsMetric)
	if len(series) > 0 {
		g.Workers.Restarts = 0
		for _, s := range series {
			if n := g.Increase(s.Slices); n.Known() {
				g.Workers.Restarts += n
			}
		}
	}
	g.started = map[string]int64{}
	for _, s := range g.read(startMetric) {
		if last := g.Last(s.Slices); last.Known() {
			g.started[s.Labels["worker"]] = int64(last * 1000)
		}
	}
}

// queries reads how many queries were active. The maximum is Bullet's own if it is larger than the value of every
// slice.
func (g *evidence) queries() {
	total := sum(g.read(queriesMetric, joinBolt))
	g.Queries.ActiveMean, g.Queries.ActiveMost = g.Mean(total), g.Most(total)
	low, high := g.Within(total)
	for i := low; i < high; i++ {
		g.Queries.BySlice = append(g.Queries.BySlice,
			tuning.QuerySlice{EndMs: total.TimesMs[i], Submitted: tuning.Unknown, Active: total.Values[i],
				Returned: tuning.Unknown})
	}
	if m := g.Most(sum(g.read(activeMostMetric, joinBolt))); m > g.Queries.ActiveMost {
		g.Queries.ActiveMost = m
	}
	g.Queries.Created = g.Increase(sum(g.read(createdMetric, joinBolt)))
}

// spouts reads what delayed the record spouts, and the settings that affect it. Storm's skipped time is the total over
// all executors, so it is divided by their number.
func (g *evidence) spouts() {
	g.Spout.Component, g.Spout.Executors = g.topology.recordSpout()
	g.Spout.MaxPending = number(g.topology.Settings["topology.max.spout.pending"])
	g.Spout.BatchSize = g.topology.recordsPerTuple()
	skipped := g.read(skippedMetric, "component="+strconv.Quote(g.Spout.Component))
	time := tuning.Figure(g.Seconds()) * g.Spout.Executors
	held := func(reason string) tuning.Figure {
		return g.Increases(slicesIn(byLabel(skipped, "reason")[reason])) / time
	}
	g.Spout.HeldByPending, g.Spout.HeldByBackPressure = held("max_spout_pending"), held("backpressure")
	if len(skipped) == 0 {
		g.note("Storm did not report for how long %s was throttled (Storm 1.x counts calls instead)", g.Spout.Component)
	}
	g.Spout.CompleteLatencyMs = meanOf(g.Span,
		g.read(completeMetric, "component="+strconv.Quote(g.Spout.Component))) * 1000
}

// source reads whether the topology consumes records as fast as they arrive. A source that reports bytes is assumed to
// be Kafka.
func (g *evidence) source() {
	records, estimated := g.records()
	bytes := g.read(bytesMetric)
	seconds := tuning.Figure(g.Seconds())
	g.Source.RecordsPerSecond, g.Source.BytesPerSecond = g.Increases(slicesIn(records))/seconds,
		g.Increases(slicesIn(bytes))/seconds
	total := sum(g.read(lagMetric))
	g.Source.LagStart, g.Source.LagEnd, g.Source.LagGrowth = g.First(total), g.Last(total), g.Slope(total)
	switch {
	case len(bytes) > 0, g.topology.readsThroughBroker():
		g.Source.Kind = tuning.SourceKafka
	case len(records) > 0 && !estimated:
		g.Source.Kind = tuning.SourceGenerator
	}
	switch {
	case estimated:
		g.note("no record source reports its records; records/s is an estimate from Storm's sample of the tuples of DataSource")
	case len(records) == 0:
		g.note("no record source reports its records (bullet.topology.source.metrics.enable)")
	}
}

// bolts reads how busy each bolt's executors were. It skips Storm's own components, whose names begin with two
// underscores. It drops a busy share that contradicts the workers' CPU.
func (g *evidence) bolts() {
	busy := g.busyByComponent()
	queues := byLabel(g.read(queueFullMetric, ownComponents), "component")
	for _, c := range g.topology.Components {
		if c.Kind != "bolt" || len(c.Name) > 1 && c.Name[:2] == "__" {
			continue
		}
		b := tuning.NoBoltEvidence(c.Name)
		b.Executors = tuning.Figure(c.Parallelism)
		g.busiest(&b, busy[c.Name])
		b.QueueMost = tuning.Largest(tuning.Each(slicesIn(queues[c.Name]), g.Mean))
		g.Bolts = append(g.Bolts, b.Believed())
	}
}

// byStream returns the slices of each input stream, for example Storm's mean execute latencies.
func byStream(series []Series) map[[4]string]runstore.Slices {
	streams := map[[4]string]runstore.Slices{}
	for _, s := range series {
		streams[streamOf(s.Labels)] = s.Slices
	}
	return streams
}

// streamOf returns the key of the input stream of a task that a series describes. Storm counts executions per input
// stream.
func streamOf(labels map[string]string) [4]string {
	return [4]string{labels["component"], labels["task"], labels["source"], labels["stream"]}
}

// executions returns the number of tuples executed in the span and their total execute time in seconds. It leaves out
// slices without a known execute latency.
func executions(p runstore.Span, executed, took runstore.Slices) (tuples, seconds tuning.Figure) {
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

// miss counts the expected and the missing slices of the workers' CPU. A worker's slices are expected from its first
// to its last slice in the step, at the worker's usual distance. Slices that nobody sent, because there is no sampler
// or the worker ended, are not missing. Workers that were silent at the step's end are counted separately. A worker
// that moved to another machine is not silent at the old one, but a worker that was silent long before the step is.
func (g *evidence) miss(totals []runstore.Slices) {
	there := reporting(totals)
	workers := g.of.Workers
	for _, n := range there {
		workers = max(workers, n)
	}
	expected, found, heard := 0, 0, 0
	for _, s := range totals {
		low, high := g.Within(s)
		if low == high {
			continue
		}
		distance := g.distance(s)
		first, last := s.TimesMs[low], s.TimesMs[high-1]
		expected, found = expected+int((last-first+distance/2)/distance)+1, found+high-low
		if g.To-last < 2*distance {
			heard++
		}
	}
	g.Workers.Expected, g.Workers.Silent = tuning.Figure(workers), tuning.Figure(max(0, workers-heard))
	if len(totals) == 0 { // without a sampler no worker reports CPU; that is not silence
		g.Workers.Silent = tuning.Unknown
	}
	g.Collector.ExpectedSlices, g.Collector.MissingSlices = tuning.Figure(expected),
		tuning.Figure(max(0, expected-found))
}

// distance returns the usual distance between a worker's slices in ms: the median, but at least the slice width. The
// median does not change if a few slices are missing.
func (g *evidence) distance(s runstore.Slices) int64 {
	var all []int64
	for i := 1; i < len(s.TimesMs); i++ {
		all = append(all, s.TimesMs[i]-s.TimesMs[i-1])
	}
	width := max(1, g.of.Width.Milliseconds())
	if len(all) == 0 {
		return width
	}
	slices.Sort(all)
	return max(width, all[len(all)/2])
}

// reporting returns, for the end of each slice, the number of series that have it.
func reporting(all []runstore.Slices) map[int64]int {
	there := map[int64]int{}
	for _, s := range all {
		for _, end := range s.TimesMs {
			there[end]++
		}
	}
	return there
}

// wholeness sets how many samples came late or were dropped in transit. They stay unknown if the collector does not
// report them, as older collectors do not.
func (g *evidence) wholeness() {
	health, err := g.stored.Collection(g.ctx, g.topology.Name, g.of.From, g.of.To)
	if err != nil {
		g.note("the numbers of late and dropped samples are unknown: %v", err)
		return
	}
	g.Collector.LateSamples, g.Collector.DroppedSamples = tuning.Figure(health.Late), 0
	for _, n := range health.Dropped {
		g.Collector.DroppedSamples += tuning.Figure(n)
	}
	if n := health.StormDropped; n > 0 {
		g.note("Storm dropped %d reports of tasks before they reached the metrics consumer", n)
	}
}

// during returns the mean number of the load clients' queries in flight over a span, and how many returned in it. All
// queries of the step must have ended.
func (s *Session) during(over runstore.Span) (mean, returned tuning.Figure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lived int64
	for _, o := range s.outcomes {
		lived += livedIn(o, over)
		if o.End == load.Returned && o.FinishedMs > over.From && o.FinishedMs <= over.To {
			returned++
		}
	}
	return tuning.Figure(float64(lived) / float64(over.To-over.From)), returned
}

// livedIn returns for how long a query was in flight within a span, in ms.
func livedIn(o load.Outcome, over runstore.Span) int64 {
	if o.End == load.NotSubmitted {
		return 0
	}
	return max(0, min(o.FinishedMs, over.To)-max(o.SubmittedMs, over.From))
}

// inFlight sets what the load client saw in each slice of a step: the mean number of queries in flight and the number
// of queries that returned. All of the step's queries must have ended. A query counts for the part of a slice in which
// it was in flight.
func (s *Session) inFlight(all []tuning.QuerySlice) {
	for i := range all {
		slice := runstore.Span{From: all[i].EndMs - s.width.Milliseconds(), To: all[i].EndMs}
		all[i].Submitted, all[i].Returned = s.during(slice)
	}
}
