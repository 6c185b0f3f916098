package feed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store that keeps slices in a map, so that a test can see what a feed delivers. After a crash, only what
// it received up to its cursor is left.
type memory struct {
	series   map[slice.Ref]string
	appended []delivery // since the cursor
	durable  map[string]uint64
	cursor   uint64
	fail     func() error
}

type delivery struct {
	upTo   uint64
	slices map[string]uint64
}

func newMemory() *memory {
	return &memory{series: map[slice.Ref]string{}, durable: map[string]uint64{}, fail: func() error { return nil }}
}

func (m *memory) Append(_ context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	for _, d := range c.Definitions {
		m.series[d.Ref] = d.Series.Labels.String()
	}
	d := delivery{upTo: upTo, slices: map[string]uint64{}}
	for i, ref := range c.Refs {
		d.slices[fmt.Sprintf("%s@%d", m.series[ref], c.EndsMs[i])] = math.Float64bits(c.Values[i])
	}
	m.appended = append(m.appended, d)
	return nil, nil
}

func (m *memory) Durable() uint64 { return m.cursor }

// sync makes everything received so far durable.
func (m *memory) sync() {
	for _, d := range m.appended {
		for key, bits := range d.slices {
			m.durable[key] = bits
		}
		m.cursor = d.upTo
	}
	m.appended = nil
}

// crash forgets what was not durable.
func (m *memory) crash() {
	m.appended, m.series = nil, map[slice.Ref]string{}
}

const t0 = int64(1_800_000_000_000)

// world is a journal with one producer and a few series that continue across restarts.
type world struct {
	t        *testing.T
	options  journal.Options
	dir      string
	journal  *journal.Journal
	producer journal.ProducerID
	ids      []journal.SeriesID
	sequence uint64
	clock    int64
	tasks    []int32 // the tasks of the plugin that the sender states; nil if it states nothing
}

func newWorld(t *testing.T) *world {
	return newWorldIn(t, journal.DefaultOptions())
}

// memoryDir returns a directory in memory if the machine has one, because a journal syncs in every second of the test.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "feed-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newWorldIn(t *testing.T, o journal.Options) *world {
	w := &world{t: t, dir: memoryDir(t), clock: t0, options: o}
	w.open()
	return w
}

func (w *world) open() {
	var err error
	w.journal, err = journal.Open(w.dir, w.options)
	require.NoError(w.t, err)
	w.producer, err = w.journal.DefineProducer(journal.ProducerDefined{Topology: "t", TopologyID: "t-1", Host: "h",
		Port: 6700, Task: 3})
	require.NoError(w.t, err)
	w.ids = nil
	for _, raw := range []metric.Raw{
		{Name: "cpu.user_ms", Component: "__system", Task: -1, Shape: metric.ShapeSampler,
			Temporality: metric.Cumulative, IntervalMs: 1000, PackSpanMs: 10_000},
		{Name: "heap.used_bytes", Component: "__system", Task: -1, Shape: metric.ShapeSampler,
			Temporality: metric.Gauge, IntervalMs: 1000, PackSpanMs: 10_000},
		{Name: "bullet_active_queries", Component: "JoinBolt", Task: 7, Shape: metric.ShapeNumber, IntervalMs: 10_000},
		{Name: "workerCpuUsage", Component: "__system", Task: -1, Shape: metric.ShapeNumber, IntervalMs: 10_000},
	} {
		raw.Worker = metric.Worker{Topology: "t", Host: "h", Port: 6700}
		id, err := w.journal.Define(raw)
		require.NoError(w.t, err)
		w.ids = append(w.ids, id)
	}
	require.NoError(w.t, w.journal.AppendControl(&journal.Started{TimeMs: w.clock}))
	require.NoError(w.t, w.journal.AppendControl(&journal.Connected{Producer: w.producer, TimeMs: w.clock}))
}

// second lets one second pass. The sampler's two series report each second and the others every ten, and then the tick
// follows.
func (w *world) second() {
	w.clock += 1000
	b := &journal.Batch{Producer: w.producer, Epoch: journal.Epoch{1}, ReceivedMs: w.clock, SentMs: w.clock}
	w.sequence++
	b.Sequence = w.sequence
	add := func(id journal.SeriesID, v float64) {
		b.IDs, b.TimesMs, b.Values = append(b.IDs, id), append(b.TimesMs, w.clock), append(b.Values, v)
	}
	add(w.ids[0], float64(w.clock-t0)/3)
	add(w.ids[1], float64(w.clock%7919))
	if w.clock%10_000 == 0 {
		add(w.ids[2], float64(w.clock/10_000%5))
		add(w.ids[3], 0.25)
		b.Notes = &bulletmetricsv1.Batch{Workers: []*bulletmetricsv1.WorkerInfo{{Host: "h", Port: 6700, Pid: 42}}}
	}
	if w.sequence == 1 && w.tasks != nil {
		components := []*bulletmetricsv1.ComponentInfo{{Name: "FilterBolt", Tasks: []int32{1, 2}},
			{Name: "__metrics_io.github.bulletmetrics.storm.StormMetricsConsumer", Tasks: w.tasks}}
		b.Notes = &bulletmetricsv1.Batch{Topology: &bulletmetricsv1.TopologyInfo{Components: components}}
	}
	w.append(b)
	require.NoError(w.t, w.journal.AppendControl(&journal.Tick{TimeMs: w.clock}))
}

// append waits until the batch is durable.
func (w *world) append(b *journal.Batch) {
	done := make(chan error, 1)
	_, err := w.journal.Append(b, func(err error) { done <- err })
	require.NoError(w.t, err)
	require.NoError(w.t, <-done)
}

func options(dir string) Options {
	o := DefaultOptions("memory", dir)
	o.CheckpointTicks = 7
	return o
}

// runToEnd closes the journal and feeds its content to the store.
func (w *world) runToEnd(store Store, o Options) *Feed {
	retention := NewRetention(w.journal.Release)
	f, err := New(w.journal, store, retention, o)
	require.NoError(w.t, err)
	require.NoError(w.t, w.journal.Close())
	require.NoError(w.t, f.Run(context.Background()))
	return f
}

func TestAStoreThatCrashesAnywhereEndsAsOneThatNeverDid(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	w, crashing, checkpoints := newWorld(t), newMemory(), t.TempDir()
	for range 40 {
		for range 1 + random.IntN(20) {
			w.second()
		}
		w.runToEnd(crashing, options(checkpoints))
		if random.IntN(2) == 0 {
			crashing.sync()
		}
		crashing.crash()
		w.open()
	}
	w.runToEnd(crashing, options(checkpoints))
	crashing.sync()

	w.open()
	steady := newMemory()
	w.runToEnd(steady, options(t.TempDir()))
	steady.sync()
	require.NotEmpty(t, steady.durable)
	assert.Equal(t, keys(steady.durable), keys(crashing.durable))
	assert.Equal(t, steady.durable, crashing.durable)
}

// The slices of a topology with one task of the plugin close after 3 s, those of others after 30 s.
func TestSlicesOfASoleSenderCloseEarlier(t *testing.T) {
	for name, x := range map[string]struct {
		tasks  []int32
		newest int64
	}{"one task": {[]int32{3}, 50_000}, "two tasks": {[]int32{3, 4}, 20_000}, "not stated": {nil, 20_000}} {
		w, store := newWorld(t), newMemory()
		w.tasks = x.tasks
		for range 60 {
			w.second()
		}
		w.runToEnd(store, options(t.TempDir()))
		store.sync()
		key := func(afterMs int64) string {
			return fmt.Sprintf(`{__name__="bullet_active_queries", component="JoinBolt", task="7", topology="t", worker="h:6700"}@%d`, t0+afterMs)
		}
		assert.Contains(t, store.durable, key(x.newest), name)
		assert.NotContains(t, store.durable, key(x.newest+10_000), name)
	}
}

func keys(m map[string]uint64) []string {
	var all []string
	for key := range m {
		all = append(all, key)
	}
	sort.Strings(all)
	return all
}

func TestTheAccountingBalancesAndIsServed(t *testing.T) {
	w := newWorld(t)
	for range 120 {
		w.second()
	}
	o := options(t.TempDir())
	registry := prometheus.NewPedanticRegistry()
	o.Registerer = registry
	f := w.runToEnd(newMemory(), o)

	counts := f.pipeline.accounting()
	read := counts[fate{"read", ""}]
	assert.Equal(t, uint64(2*120+2*12), read)
	var others uint64
	for fate, n := range counts {
		if fate.name != "read" {
			others += n
		}
	}
	assert.Equal(t, read, others, "%v", counts)

	served, err := testutil.GatherAndCount(registry, "bullet_metrics_feed_samples")
	require.NoError(t, err)
	assert.Equal(t, len(counts), served)
}

// lagSeconds returns how far the store lags, in seconds.
func lagSeconds(t *testing.T, registry *prometheus.Registry) float64 {
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "bullet_metrics_feed_behind_seconds" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.Fail(t, "not served")
	return 0
}

func TestAStoreThatFailsIsGivenTheSameAgain(t *testing.T) {
	w := newWorld(t)
	for range 60 {
		w.second()
	}
	o := options(t.TempDir())
	registry := prometheus.NewPedanticRegistry()
	o.Registerer = registry
	store, failures := newMemory(), 2
	store.fail = func() error {
		if failures--; failures >= 0 {
			assert.InDelta(t, 59, lagSeconds(t, registry), 1, "it has been given nothing of a minute")
			return errors.New("no space left on device")
		}
		return nil
	}
	w.runToEnd(store, o)
	assert.InDelta(t, 0, lagSeconds(t, registry), 1)
	store.sync()
	assert.NotEmpty(t, store.durable)
	assert.Negative(t, failures)
}

func TestAStoreOfAnotherJournalIsRefused(t *testing.T) {
	w := newWorld(t)
	store := newMemory()
	store.cursor = 1 << 40
	_, err := New(w.journal, store, NewRetention(w.journal.Release), options(t.TempDir()))
	assert.ErrorContains(t, err, "or it belongs to another store")
	require.NoError(t, w.journal.Close())
}

func TestAStoreThatIsLostEndsTheFeed(t *testing.T) {
	w := newWorld(t)
	for range 60 {
		w.second()
	}
	lost := errors.New("lost")
	store := newMemory()
	store.fail = func() error { return lost }
	o := options(t.TempDir())
	o.Lost = func(err error) bool { return errors.Is(err, lost) }
	f, err := New(w.journal, store, NewRetention(w.journal.Release), o)
	require.NoError(t, err)
	require.NoError(t, w.journal.Close())
	assert.ErrorIs(t, f.Run(context.Background()), lost)
}
