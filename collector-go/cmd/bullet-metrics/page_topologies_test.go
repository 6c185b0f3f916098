//go:build page

package main

import (
	"fmt"
	"hash/fnv"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// reading is how long a made-up topology's reports are apart, and history how far they reach back.
const (
	reading = 10 * time.Second
	history = 45 * time.Minute
)

// burning is a made-up Bullet topology on three workers: how it was, and how it is since something happened.
type burning struct {
	name  string
	since time.Duration // before now
	// What a figure is worth before and since.
	latencyMs, busy, recordsPerSecond, lag, gcShare, held, queueFull [2]float64
	lost                                                             bool // whether the third worker is
	// lostLatencyMs and lostBusy are of the third worker before it was lost, where they differ from the others'.
	lostLatencyMs, lostBusy float64
}

func same(v float64) [2]float64 { return [2]float64{v, v} }

// healthy is how all of them were.
func healthy(name string) burning {
	return burning{name: name, since: 4 * time.Minute, latencyMs: same(12), busy: same(0.31),
		recordsPerSecond: same(500), lag: same(40), gcShare: same(0.01), held: same(0.02), queueFull: same(0.03)}
}

// states are one healthy topology and one for each cause of a slow filter.
func states() []burning {
	filter, gc, source, worker := healthy("slow-filter"), healthy("slow-gc"), healthy("slow-source"),
		healthy("slow-worker")
	filter.latencyMs[1], filter.busy[1], filter.held[1], filter.queueFull[1], filter.lag[1] = 310, 0.92, 0.62, 0.9, 9000
	gc.latencyMs[1], gc.gcShare[1], gc.busy[1] = 420, 0.42, 0.82
	source.latencyMs[1], source.recordsPerSecond[1], source.busy[1], source.lag[1] = 900, 60, 0.05, 12_000
	worker.latencyMs[1], worker.busy[1], worker.lost = 260, 0.9, true
	return []burning{healthy("well"), filter, gc, source, worker, lostSlow()}
}

// lostSlow is healthy since its slow worker was lost.
func lostSlow() burning {
	lost := healthy("lost-slow")
	lost.since, lost.lost, lost.lostLatencyMs, lost.lostBusy = 20*time.Minute, true, 418, 0.97
	return lost
}

// reported is what goes into one batch: the readings from one to another of a topology that began at a time.
type reported struct {
	batch    *pb.Batch
	from, to int
}

func (r reported) define(worker int, component, name string, task int, key []string, kind pb.Temporality,
	shape pb.Shape, until int, value func(i int) float64) {
	id := uint32(len(r.batch.Series) + 1)
	r.batch.Series = append(r.batch.Series, &pb.SeriesDefinition{Id: id, Host: fmt.Sprintf("host-%d", worker),
		Port: 6700, Component: component, Task: int32(task), Name: name, Key: key,
		IntervalMs: uint32(reading.Milliseconds()), Shape: shape, Temporality: kind})
	s := r.batch.Samples
	for i := r.from; i < min(r.to, until); i++ {
		s.SeriesIds, s.TimeOffsetsMs, s.Values = append(s.SeriesIds, id),
			append(s.TimeOffsetsMs, int64(i)*reading.Milliseconds()+9_900), append(s.Values, value(i))
	}
}

// batch is what the topology, which began at a time, reported from one reading to another.
func (b burning) batch(began time.Time, from, to int) *pb.Batch {
	epoch := fnv.New128a()
	_, _ = epoch.Write([]byte(b.name))
	sequence := uint64(from + 1)
	r := reported{&pb.Batch{Epoch: epoch.Sum(nil), Sequence: sequence, OldestHeldSequence: sequence,
		SendTimeMs: time.Now().UnixMilli(), Topology: b.info(),
		Samples: &pb.SampleColumns{BaseTimeMs: began.UnixMilli()}}, from, to}
	changed := int((history - b.since) / reading)
	level := func(v [2]float64, part float64) func(int) float64 {
		return func(i int) float64 { return part * v[min(1, max(0, i-changed+1))] * (1 + 0.02*float64(i*7%5)) }
	}
	total := func(v [2]float64, part float64) func(int) float64 {
		return func(i int) float64 {
			return part * reading.Seconds() * (v[0]*float64(min(i, changed)) + v[1]*float64(max(0, i-changed)))
		}
	}
	gauge, cumulative, unsaid := pb.Temporality_TEMPORALITY_GAUGE, pb.Temporality_TEMPORALITY_CUMULATIVE,
		pb.Temporality_TEMPORALITY_UNSPECIFIED
	number, sampled := pb.Shape_SHAPE_NUMBER, pb.Shape_SHAPE_SAMPLER
	for w := range 3 {
		until, latencyMs, busy := to, b.latencyMs, b.busy
		if w == 2 && b.lost {
			until = changed
		}
		if w == 2 && b.lostLatencyMs > 0 {
			latencyMs, busy = same(b.lostLatencyMs), same(b.lostBusy)
		}
		sample := func(name string, key []string, kind pb.Temporality, value func(int) float64) {
			r.define(w, "__system", name, -1, key, kind, sampled, until, value)
		}
		put := func(component, name string, task int, value func(int) float64) {
			r.define(w, component, name, task+w, nil, unsaid, number, until, value)
		}
		sample("cpu.user_ms", nil, cumulative, total(busy, 1000))
		sample("heap.used_bytes", nil, gauge, level(same(300), 1<<20))
		sample("heap.limit_bytes", nil, gauge, func(int) float64 { return 1 << 30 })
		sample("gc.time_ms", []string{"G1 Young"}, cumulative, total(b.gcShare, 1000))
		put("FilterBolt", "bullet_filter_latency", 10, level(latencyMs, 1))
		put("FilterBolt", "__capacity", 10, level(busy, 1))
		put("FilterBolt", "receive-queue-sojourn_time_ms", 10, level(latencyMs, 0.6))
		put("FilterBolt", "receive-queue-pct_full", 10, level(b.queueFull, 1))
		put("FilterBolt", "receive-queue-population", 10, level(b.queueFull, 1000))
		put("FilterBolt", "__execute-count-DataSource:default", 10, total(b.recordsPerSecond, 1.0/3))
		put("FilterBolt", "__emit-count-default", 10, total(same(12), 1))
		put("DataSource", "__emit-count-default", 20, total(b.recordsPerSecond, 1.0/3))
		put("DataSource", "__skipped-max-spout-ms", 20, total(b.held, 1000))
		put("DataSource", "bullet_source_records", 20, total(b.recordsPerSecond, 1.0/3))
		put("DataSource", "bullet_source_lag", 20, level(b.lag, 1.0/3))
		put("JoinBolt", "bullet_active_queries", 30, level(same(8), 1))
		put("JoinBolt", "__capacity", 30, level(same(0.08), 1))
		put("JoinBolt", "__execute-count-FilterBolt:default", 30, total(same(12), 1))
	}
	return r.batch
}

// info is the topology as its components read each other.
func (b burning) info() *pb.TopologyInfo {
	spout, bolt := pb.ComponentKind_COMPONENT_KIND_SPOUT, pb.ComponentKind_COMPONENT_KIND_BOLT
	reads := func(from, stream, grouping string) *pb.ComponentInput {
		return &pb.ComponentInput{Component: from, Stream: stream, Grouping: grouping}
	}
	return &pb.TopologyInfo{Name: b.name, Id: b.name + "-1-1800000000", StormVersion: "2.8.3", BulletVersion: "1.5.2",
		Components: []*pb.ComponentInfo{
			{Name: "DataSource", Kind: spout, Parallelism: 3, Tasks: []int32{20, 21, 22}},
			{Name: "QuerySpout", Kind: spout, Parallelism: 1, Tasks: []int32{40}},
			{Name: "FilterBolt", Kind: bolt, Parallelism: 3, Tasks: []int32{10, 11, 12},
				Inputs: []*pb.ComponentInput{reads("DataSource", "default", "shuffle"),
					reads("QuerySpout", "default", "all")}},
			{Name: "JoinBolt", Kind: bolt, Parallelism: 3, Tasks: []int32{30, 31, 32},
				Inputs: []*pb.ComponentInput{reads("FilterBolt", "default", "fields"),
					reads("QuerySpout", "default", "fields")}},
			{Name: "ResultBolt", Kind: bolt, Parallelism: 1, Tasks: []int32{50},
				Inputs: []*pb.ComponentInput{reads("JoinBolt", "default", "shuffle")}},
		}}
}

// reportStates reports all of them to a collector: what was until now, and what comes until the test ends.
func (r *running) reportStates() {
	began := time.Now().Truncate(reading).Add(-history)
	next := int(history / reading)
	for _, b := range states() {
		r.sendFrom("host-0", b.name, b.batch(began, 0, next))
	}
	ended := make(chan struct{})
	r.t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for ctx, due := r.t.Context(), time.NewTicker(reading); ; {
			select {
			case <-ctx.Done():
				due.Stop()
				return
			case <-due.C:
			}
			to := int(time.Since(began) / reading) // by the clock: a ticker that is late leaves out
			if to == next {
				continue
			}
			for _, b := range states() {
				if err := r.export("host-0", b.name, b.batch(began, next, to)); err != nil && ctx.Err() == nil {
					r.t.Errorf("report of %s: %v", b.name, err)
				}
			}
			next = to
		}
	}()
}

// burningRules fire for what states make up, at once.
const burningRules = `
      - alert: BulletFilterLatencyMeanHigh
        expr: max by (topology) (bullet_filter_latency_mean_seconds{topology=~"slow-.*"}) > 0.2
        labels: {severity: critical}
        annotations:
          summary: 'Filter latency of {{ $labels.topology }} is {{ printf "%.3g" $value | humanizeDuration }} (mean), above the 200 ms limit'
          description: The limit is 200 ms.
          runbook_url: https://example.org/runbooks/BulletFilterLatencyMeanHigh
      - alert: BulletFilterLatencyMeanHigh
        expr: max by (topology) (last_over_time(bullet_filter_latency_mean_seconds{topology="lost-slow"}[1h])) > 0.2
        labels: {severity: critical}
        annotations:
          summary: 'Filter latency of {{ $labels.topology }} is {{ printf "%.3g" $value | humanizeDuration }} (mean), above the 200 ms limit'
          description: The limit is 200 ms.
          runbook_url: https://example.org/runbooks/BulletFilterLatencyMeanHigh
      - alert: BulletMetricsWatchdog
        expr: vector(1)
        labels: {severity: none}
`
