//go:build stores

package servertest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// world is a journal that three workers of a topology fill, ten seconds of event time at a step.
type world struct {
	t         testing.TB
	dir       string
	options   journal.Options
	journal   *journal.Journal
	firstMs   int64
	clockMs   int64
	producers []journal.ProducerID
	ids       [][]journal.SeriesID // by worker
	sequence  []uint64
	startedMs []int64 // when a worker's process started
	away      []*journal.Batch
	awayFrom  int // the worker that is away, -1 for none
}

const (
	stepMs  = int64(10_000)
	workers = 3
)

func newWorld(t testing.TB) *world { return newWorldAt(t, 1_700_000_000_000) }

func newWorldAt(t testing.TB, firstMs int64) *world {
	w := &world{t: t, dir: directory(t), options: journal.DefaultOptions(), firstMs: firstMs, clockMs: firstMs,
		sequence:  make([]uint64, workers),
		startedMs: []int64{firstMs, firstMs, firstMs}, awayFrom: -1}
	w.open()
	t.Cleanup(func() { _ = w.journal.Close() })
	return w
}

// open opens the journal as a collector's start does.
func (w *world) open() {
	var err error
	w.journal, err = journal.Open(w.dir, w.options)
	require.NoError(w.t, err)
	w.producers, w.ids = nil, nil
	require.NoError(w.t, w.journal.AppendControl(&journal.Started{TimeMs: w.clockMs}))
	for n := range workers {
		worker := metric.Worker{Topology: "bullet", Host: "host", Port: uint32(6700 + n)}
		id, err := w.journal.DefineProducer(journal.ProducerDefined{Topology: "bullet", TopologyID: "bullet-1",
			Host: worker.Host, Port: worker.Port, Task: 3})
		require.NoError(w.t, err)
		w.producers = append(w.producers, id)
		w.ids = append(w.ids, w.define(worker))
		if n != w.awayFrom {
			require.NoError(w.t, w.journal.AppendControl(&journal.Connected{Producer: id, TimeMs: w.clockMs}))
		}
	}
}

func (w *world) define(worker metric.Worker) (ids []journal.SeriesID) {
	for _, raw := range []metric.Raw{
		{Name: "cpu.user_ms", Component: "__system", Task: -1, Shape: metric.ShapeSampler,
			Temporality: metric.Cumulative, IntervalMs: 1000, PackSpanMs: stepMs},
		{Name: "heap.used_bytes", Component: "__system", Task: -1, Shape: metric.ShapeSampler,
			Temporality: metric.Gauge, IntervalMs: 1000, PackSpanMs: stepMs},
		{Name: "bullet_active_queries", Component: "JoinBolt", Task: 7, Shape: metric.ShapeNumber, IntervalMs: stepMs},
		{Name: "startTimeSecs", Component: "__system", Task: -1, Shape: metric.ShapeNumber, IntervalMs: stepMs},
		{Name: "bullet_filter_latency_seconds", Component: "FilterBolt", Task: 9, Shape: metric.ShapeHistogram,
			Temporality: metric.Cumulative, IntervalMs: stepMs},
	} {
		raw.Worker = worker
		id, err := w.journal.Define(raw)
		require.NoError(w.t, err)
		ids = append(ids, id)
	}
	return ids
}

// step lets ten seconds pass: a batch of each worker, and the collector's ticks.
func (w *world) step() {
	w.clockMs += stepMs
	for n := range workers {
		b := w.batch(n)
		switch {
		case n == w.awayFrom:
			w.away = append(w.away, b)
		case b != nil:
			w.append(b)
		}
	}
	for _, ms := range []int64{w.clockMs - stepMs/2, w.clockMs} {
		require.NoError(w.t, w.journal.AppendControl(&journal.Tick{TimeMs: ms}))
	}
}

// batch is what worker n reports of the last ten seconds. The last worker reports nothing for two minutes in each hour;
// each starts again every few hours, and counts from 0 then.
func (w *world) batch(n int) *journal.Batch {
	w.sequence[n]++
	i := (w.clockMs - w.firstMs) / stepMs
	if n == workers-1 && i%360 < 12 {
		return nil
	}
	if i%int64(700+100*n) == 0 {
		w.startedMs[n] = w.clockMs - 4_500
	}
	b := &journal.Batch{Producer: w.producers[n], Epoch: journal.Epoch{byte(n + 1)}, Sequence: w.sequence[n],
		SentMs: w.clockMs, ReceivedMs: w.clockMs}
	add := func(series int, ms int64, v float64) {
		b.IDs, b.TimesMs, b.Values = append(b.IDs, w.ids[n][series]), append(b.TimesMs, ms), append(b.Values, v)
	}
	for ms := w.clockMs - stepMs + 900; ms < w.clockMs; ms += 1000 {
		if ms > w.startedMs[n] {
			add(0, ms, float64(ms-w.startedMs[n])*0.4)
			add(1, ms, 1e8+5e7*math.Sin(float64(ms)/3e6+float64(n)))
		}
	}
	add(2, w.clockMs-100, float64(i%7))
	add(3, w.clockMs-100, float64(w.startedMs[n]/1000))
	count := uint64((w.clockMs - w.startedMs[n]) / 100)
	b.Histograms = []*pb.HistogramSample{{SeriesId: uint32(w.ids[n][4]), TimeMs: w.clockMs - 100, Schema: 3,
		ZeroThreshold: 0.0005, Count: 4 * count,
		Sum: float64(count) * 0.3, ZeroCount: count, PositiveSpans: []*pb.BucketSpan{{Offset: -30, Length: 2},
			{Offset: 5, Length: 1}},
		PositiveCounts: []uint64{count, count, count}}}
	return b
}

// append waits until the batch is durable.
func (w *world) append(b *journal.Batch) {
	done := make(chan error, 1)
	_, err := w.journal.Append(b, func(err error) { done <- err })
	require.NoError(w.t, err)
	require.NoError(w.t, <-done)
}

// leave takes a worker off the net; comeBack lets it bring what it held.
func (w *world) leave(n int) {
	w.awayFrom = n
	require.NoError(w.t, w.journal.AppendControl(&journal.Disconnected{Producer: w.producers[n], TimeMs: w.clockMs}))
}

func (w *world) comeBack() {
	back := &journal.Connected{Producer: w.producers[w.awayFrom], TimeMs: w.clockMs}
	require.NoError(w.t, w.journal.AppendControl(back))
	for _, b := range w.away {
		if b != nil {
			b.ReceivedMs = w.clockMs
			w.append(b)
		}
	}
	w.away, w.awayFrom = nil, -1
}
