package slicer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// Parts of names that imitate Storm's names, ours, and derived ones.
var (
	stems = []string{"depth", "failed", "emitted", "acked", "executed", "transferred", "uptimeSecs", "startTimeSecs",
		"memory.heap.used", "memory.cache.used", "memory.total.max", "memory.pools.mine.used", "threads.io.count",
		"threads.count", "GC.rounds.count", "GC.rounds.time", "GC/rounds", "memory/heap", "CPU", "workerCpuUsage",
		"receive-queue-population", "receive-queue[1, 1]-population", "worker-transfer-queue-capacity", "__receive",
		"__transfer", "__ack-count", "__emit-count", "__ack-count-default", "__ack-count-a:b", "__ack-count-ns:Bolt:default",
		"__execute-count-Bolt:default", "__execute-latency", "__capacity", "capacity_ratio", "emitted_total", "storm_depth",
		"worker_threads", "bullet_active_queries", "bullet_own", "active_queries", "memory_used_bytes", "own_emitted_total",
		"lookups", "lookups.count", "server.cost", "server_cost", "server-cost", "延迟", "错误", "延迟.count", "%", "a b",
		"kafkaOffset", "kafkaOffset.t/partition_0/spoutLag", "__skipped-max-spout-ms", "__send-iconnection-sent-n/1.2.3.4:5",
		"CGroupCpu.user-ms", "CGroupMemoryLimit", "newWorkerEvent", "x_seconds", "x_bytes"}
	ends = []string{"", "", "", "", "_min", "_max", "_total", "_bucket", "_count", "_sum", "_negative_total", ".m1_rate",
		".mean_rate", ".count", "_min_seconds", "_max_ratio", "_max_bytes", ".default", "_default", "-default", ".population",
		"_max_max", "_"}
	keys0      = []string{"default", "a:b", "population", "usedBytes", "timeMs", "user-ms", "k", "a/b", "", "键"}
	components = []string{"GeoBolt", "ns:Bolt", "KafkaSpout", "__system", "__acker"}
	releases   = []string{"", "", "1.2.4", "2.1.0", "2.2.0", "2.3.0", "2.8.4", "unknown"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// imitation returns a series that a user might have registered.
func imitation(r *rand.Rand) metric.Raw {
	raw := metric.Raw{Worker: metric.Worker{Topology: "t", Host: "h", Port: 6700}, Component: pick(r, components),
		Task: int32(1 + r.IntN(2)), Name: pick(r, stems) + pick(r, ends), Shape: metric.ShapeNumber,
		IntervalMs: pick(r, []int64{2000, 2000, 10_000, 60_000})}
	if raw.Component == "__system" {
		raw.Task = -1
	}
	if r.IntN(4) == 0 {
		raw.Shape, raw.Key = metric.ShapeMap, pick(r, keys0)
		if r.IntN(4) == 0 {
			raw.Key += metric.KeySeparator + pick(r, keys0)
		}
	}
	if r.IntN(4) == 0 {
		raw.Temporality = metric.Temporality(1 + r.IntN(3))
	}
	return raw
}

// TestNoNameReplacesAnother checks arbitrary names of metrics. Each value that a topology sends is in a series without
// other values, or its metric is listed among those not stored. The values of different components are never mixed.
func TestNoNameReplacesAnother(t *testing.T) {
	for seed := range uint64(cases.Number(10_000, 1000)) {
		if !t.Run("", func(t *testing.T) { imitate(t, seed) }) {
			t.Fatalf("seed %d", seed)
		}
	}
}

// stores is the result of one random topology.
type stores struct {
	*replay
	raws  []metric.Raw
	value map[uint32]float64 // value that each series sends, all different
}

func imitate(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 33))
	s := &stores{replay: newReplay(t), value: map[uint32]float64{}}
	describe := func() {
		storm := pick(r, releases)
		s.apply(s.names.Describe("t", "", catalog.Facts{Storm: storm}))
	}
	if r.IntN(2) == 0 {
		describe()
	}
	late := r.IntN(4) == 0
	ids := map[metric.Raw]uint32{}
	for range 2 + r.IntN(20) {
		raw := imitation(r)
		if r.IntN(3) == 0 && len(s.raws) > 0 { // similar to another name
			raw = pick(r, s.raws)
			raw.Name += pick(r, ends)
		}
		if _, known := ids[raw]; known {
			continue
		}
		s.raws = append(s.raws, raw)
		id := uint32(len(s.raws))
		ids[raw], s.value[id] = id, 1000+float64(id)
		s.apply(s.names.Define(id, &raw))
	}
	if late {
		describe()
	}
	for tick := range int64(40) {
		s.slicer.ObserveBatch(&slicer.BatchInfo{Producer: 1, Sequence: uint64(tick + 1)}, func() {
			for i, raw := range s.raws {
				timeMs := 1_000_000_000 + tick*2000
				if timeMs%raw.IntervalMs == 0 {
					s.send(uint32(i+1), timeMs)
				}
			}
		})
	}
	s.slicer.CloseAll()
	s.collect()
	s.check(seed)
}

func (s *stores) send(id uint32, timeMs int64) {
	if s.slicer.Add(id, timeMs, s.value[id]) {
		return
	}
	verdict, changes := s.names.JudgeSamples(id, 1)
	s.apply(changes)
	if verdict.Outcome == catalog.Stored {
		require.True(s.t, s.slicer.Add(id, timeMs, s.value[id]))
	}
}

func (s *stores) check(seed uint64) {
	stored := map[labels.Labels][]float64{}
	for ref, values := range s.values {
		stored[s.series[ref].Labels] = append(stored[s.series[ref].Labels], values...)
	}
	notStored, more := s.names.NotStored("t")
	require.Zero(s.t, more)
	listed := func(raw *metric.Raw) bool {
		return slices.ContainsFunc(notStored, func(n catalog.NotStored) bool {
			name := raw.Name
			if raw.Key != "" {
				name += " → " + strings.ReplaceAll(raw.Key, metric.KeySeparator, "/")
			}
			return n.Component == raw.Component && n.Metric == name && n.Beside != "" && n.Reason != ""
		})
	}
	owner := map[labels.Labels]uint32{}
	for i := range s.raws {
		id, raw := uint32(i+1), &s.raws[i]
		what := fmt.Sprintf("seed %d: series %d, %q %q of %s", seed, id, raw.Name, raw.Key, raw.Component)
		verdict, _ := s.names.JudgeSamples(id, 1)
		if verdict.Outcome != catalog.Stored {
			require.True(s.t, listed(raw), "%s is neither stored nor listed: %v %v", what, verdict, notStored)
			continue
		}
		rule, _ := s.names.Rule(id)
		ls := rule.Series.Labels
		require.Zero(s.t, owner[ls], "%s is stored under %v, as series %d is", what, ls, owner[ls])
		owner[ls] = id
		if raw.Component != "__system" {
			require.Equal(s.t, raw.Component, ls.Get("component"), "%s became the worker's: %v", what, ls)
		}
		if rule.Series.Kind == metric.KindGauge {
			s.checkGauge(what, &rule, stored, s.value[id])
		}
	}
	for ls, id := range owner { // no derived series has a name of the topology's own metrics
		rule, _ := s.names.Rule(id)
		for _, name := range []string{rule.MinName, rule.MaxName, rule.NegativeName} {
			if name != "" {
				made := labels.NewBuilder(ls).Set("__name__", name).Labels()
				require.Zero(s.t, owner[made], "seed %d: %v", seed, made)
			}
		}
	}
	s.checkRestored(seed)
}

// checkGauge checks that a series has its own values, and no others.
func (s *stores) checkGauge(what string, rule *metric.Rule, stored map[labels.Labels][]float64, own float64) {
	values, found := stored[rule.Series.Labels]
	if own < rule.Least || own > rule.Most || rule.RestartsName != "" {
		return
	}
	require.True(s.t, found, "%s has no slices under %v", what, rule.Series.Labels)
	for _, v := range values {
		require.InDelta(s.t, own/rule.PerUnit, v, 1e-9*math.Abs(own), "%s: %v", what, rule.Series.Labels)
	}
}

// checkRestored checks that the same is stored after a restart.
func (s *stores) checkRestored(seed uint64) {
	again, err := catalog.Restore(s.names.Snapshot(), catalog.DefaultOptions())
	require.NoError(s.t, err)
	for i := range s.raws {
		was, _ := s.names.Rule(uint32(i + 1))
		is, _ := again.Rule(uint32(i + 1))
		require.Equal(s.t, was, is, "seed %d: %q", seed, s.raws[i].Name)
	}
}
