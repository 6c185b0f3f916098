package slicer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// worldSample is a sample that a test generates.
type worldSample struct {
	id     uint32
	timeMs int64
	value  float64
}

// testBatch is delivered as a whole. The tests vary the order in which batches arrive.
type testBatch struct {
	producer uint32
	sequence uint64
	samples  []worldSample
}

func (b *testBatch) first() int64 {
	return slices.MinFunc(b.samples, func(x, y worldSample) int { return cmp.Compare(x.timeMs, y.timeMs) }).timeMs
}

func (b *testBatch) last() int64 {
	return slices.MaxFunc(b.samples, func(x, y worldSample) int { return cmp.Compare(x.timeMs, y.timeMs) }).timeMs
}

// world consists of some minutes of some workers, as their samples.
type world struct {
	rules   map[uint32]metric.Rule
	batches []testBatch
	sole    bool // one sender sends everything, and says so
}

const worldStartMs = 1_000_000_000

// drawWorld returns a world in which workers start and restart. Every series reports at its own interval and phase.
// Occasionally a sample, or a while, is missing.
func drawWorld(t *rapid.T) *world {
	w := &world{rules: make(map[uint32]metric.Rule)}
	var all []worldSample
	durationMs := int64(rapid.IntRange(60, 400).Draw(t, "seconds")) * 1000
	for worker := range rapid.IntRange(1, 3).Draw(t, "workers") {
		lives := drawLives(t, durationMs)
		reportsStart := rapid.Bool().Draw(t, "reports its start")
		for kind, series := range worldSeries {
			if series.restarts != "" && !reportsStart {
				continue
			}
			id := uint32(worker*100 + kind)
			rule := series.rule(worker)
			w.rules[id] = rule
			all = append(all, drawSamples(t, id, &rule, lives, durationMs)...)
		}
	}
	w.batches = drawBatches(t, all)
	return w
}

type worldKind struct {
	name              string
	kind              metric.Kind
	temporality       metric.Temporality
	intervalMs, packs int64
	restarts          string
}

var worldSeries = []worldKind{
	{"heap", metric.KindGauge, metric.Gauge, 1000, 10_000, ""},
	{"active", metric.KindGauge, metric.Gauge, 10_000, 0, ""},
	{"queue", metric.KindGauge, metric.Gauge, 60_000, 0, ""},
	{"cpu", metric.KindCounter, metric.Cumulative, 1000, 10_000, ""},
	{"created", metric.KindCounter, metric.Cumulative, 10_000, 0, ""},
	{"executed", metric.KindCounter, metric.Cumulative, 60_000, 0, ""},
	{"acked", metric.KindCounter, metric.Delta, 10_000, 0, ""},
	{"started", metric.KindGauge, metric.Gauge, 10_000, 10_000, "restarts"},
}

func (k *worldKind) rule(worker int) metric.Rule {
	place := metric.Worker{Topology: "t", Host: fmt.Sprint("w", worker), Port: 1}
	rule := metric.Rule{Worker: place, Temporality: k.temporality, PerUnit: 3, Least: 0, Most: math.MaxFloat64,
		IntervalMs: k.intervalMs, PackSpanMs: k.packs, RestartsName: k.restarts,
		Series: metric.Series{Kind: k.kind, Labels: labels.FromStrings("__name__", k.name, "worker", place.String())}}
	if k.kind == metric.KindGauge && k.restarts == "" {
		rule.MinName, rule.MaxName = k.name+"_min", k.name+"_max"
	}
	if k.restarts != "" {
		rule.PerUnit = 1000
	}
	return rule
}

// drawLives returns the times at which a worker's process starts.
func drawLives(t *rapid.T, durationMs int64) []int64 {
	lives := []int64{worldStartMs - 1}
	for range rapid.IntRange(0, 3).Draw(t, "restarts") {
		lives = append(lives, worldStartMs+rapid.Int64Range(1, durationMs).Draw(t, "restart"))
	}
	slices.Sort(lives)
	return lives
}

func drawSamples(t *rapid.T, id uint32, rule *metric.Rule, lives []int64, durationMs int64) (all []worldSample) {
	end := worldStartMs + durationMs
	awayFrom := worldStartMs + rapid.Int64Range(0, durationMs).Draw(t, "awayFrom")
	awayFor := rapid.SampledFrom([]int64{0, 0, 25_000, 90_000}).Draw(t, "awayFor")
	seed := rapid.Uint64().Draw(t, "values") // cheaper than one draw per value
	next := func(n uint64) uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return (seed >> 33) % n
	}
	counted := make(map[int64]float64)
	for at := worldStartMs + int64(next(uint64(rule.IntervalMs))); at < end; at += rule.IntervalMs {
		timeMs := at + int64(next(uint64(rule.IntervalMs/10)))
		if timeMs >= awayFrom && timeMs < awayFrom+awayFor || next(12) == 0 {
			continue
		}
		life := lives[0]
		for _, start := range lives {
			if start <= timeMs {
				life = start
			}
		}
		v := float64(next(1_000_000)) / 7
		switch {
		case rule.RestartsName != "":
			v = float64(life)
		case rule.Temporality == metric.Cumulative:
			counted[life] += v
			v = counted[life]
		}
		all = append(all, worldSample{id, timeMs, v})
	}
	return all
}

// drawBatches distributes the samples to two producers in turn, as a shuffle grouping does, and divides what each has
// into batches.
func drawBatches(t *rapid.T, all []worldSample) []testBatch {
	return batchesOf(all, 2, rapid.Int64Range(1, 5000).Draw(t, "batchSpan"))
}

// ofOneSender returns the same world with one producer, whose batches span at most the time.
func (w *world) ofOneSender(t *rapid.T, spanMs int64) *world {
	var all []worldSample
	for _, b := range w.batches {
		all = append(all, b.samples...)
	}
	return &world{w.rules, batchesOf(all, 1, rapid.Int64Range(1, spanMs).Draw(t, "batchSpan")), true}
}

func batchesOf(all []worldSample, producers int, spanMs int64) (batches []testBatch) {
	sort.SliceStable(all, func(i, j int) bool { return all[i].timeMs < all[j].timeMs })
	sequences := map[uint32]uint64{}
	current := map[uint32]int{}
	for i, x := range all {
		producer := uint32(i % producers)
		at, open := current[producer]
		if !open || x.timeMs-batches[at].samples[0].timeMs > spanMs {
			sequences[producer]++
			at = len(batches)
			current[producer] = at
			batches = append(batches, testBatch{producer: producer, sequence: sequences[producer]})
		}
		batches[at].samples = append(batches[at].samples, x)
	}
	return batches
}

// shuffled returns an order of arrival in which no sample arrives after one that is newer by more than the lateness.
func (w *world) shuffled(t *rapid.T, latenessMs int64) []testBatch {
	type arrival struct {
		atMs  int64
		batch testBatch
	}
	arrivals := make([]arrival, len(w.batches))
	for i, b := range w.batches {
		arrivals[i] = arrival{rapid.Int64Range(b.last(), b.first()+latenessMs).Draw(t, "arrival"), b}
	}
	sort.SliceStable(arrivals, func(i, j int) bool { return arrivals[i].atMs < arrivals[j].atMs })
	batches := make([]testBatch, len(arrivals))
	for i, a := range arrivals {
		batches[i] = a.batch
	}
	return batches
}

// stored is slices by series, in the order in which they were written, as text: "end value".
type stored map[string][]string

func (w *world) run(t require.TestingT, s *Slicer, batches []testBatch) stored {
	for _, id := range sortedIDs(w.rules) {
		s.Define(id, w.rules[id])
	}
	s.SoleSender(0, "t", w.sole)
	for _, b := range batches {
		send(t, s, b)
	}
	s.CloseAll()
	return read(s.Closed())
}

func send(t require.TestingT, s *Slicer, b testBatch) {
	s.beginBatch(b.producer, b.sequence)
	for _, x := range b.samples {
		require.True(t, s.Add(x.id, x.timeMs, x.value))
	}
	s.endBatch()
}

func sortedIDs(rules map[uint32]metric.Rule) (ids []uint32) {
	for id := range rules {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func read(c *slice.Columns) stored {
	names := make(map[slice.Ref]string)
	for _, d := range c.Definitions {
		names[d.Ref] = d.Series.Labels.String()
	}
	out := make(stored)
	for i, ref := range c.Refs {
		out[names[ref]] = append(out[names[ref]], fmt.Sprintf("%d %x", c.EndsMs[i], math.Float64bits(c.Values[i])))
	}
	return out
}
