package feed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// instant is a store whose cursor is always at what it last received, or, while it is down, where it was.
type instant struct {
	mu   sync.Mutex
	down atomic.Bool
	*memory
}

func newInstant() *instant { return &instant{memory: newMemory()} }

func (s *instant) Append(ctx context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down.Load() && c.Len() > 0 {
		return nil, errors.New("connection refused")
	}
	rejected, err := s.memory.Append(ctx, upTo, c)
	s.sync()
	return rejected, err
}

func (s *instant) Durable() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursor
}

func (s *instant) slices() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]uint64{}
	for key, bits := range s.durable {
		all[key] = bits
	}
	return all
}

// running is a feed that runs until it is ended.
type running struct {
	*Feed
	end  context.CancelFunc
	done chan error
}

func run(t *testing.T, w *world, store Store, r *Retention, name, dir string) *running {
	o := options(dir)
	o.Name, o.CheckpointTicks = name, 2
	f, err := New(w.journal, store, r, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	running := &running{f, cancel, make(chan error, 1)}
	go func() { running.done <- f.Run(ctx) }()
	return running
}

func (r *running) stop(t *testing.T) {
	r.end()
	require.NoError(t, <-r.done)
}

// awaitEnd waits until a feed has handed over what the journal contains.
func (r *running) awaitEnd(t *testing.T, w *world) {
	require.Eventually(t, func() bool { return journal.Position(r.Position()) == w.journal.Durable() }, 10e9, 1e6)
}

// TestAStoreThatWasAheadOfItsCheckpointIsSkipped covers a store that becomes unavailable after its feed has read
// beyond the oldest segment, before the next checkpoint. Its feed skips like any other: slices that the store does not
// accept are dropped and counted, and the feed continues.
func TestAStoreThatWasAheadOfItsCheckpointIsSkipped(t *testing.T) {
	small := journal.DefaultOptions()
	small.SegmentBytes, small.MaxBytes = 4<<10, 32<<10
	w := newWorldIn(t, small)
	store := newInstant()
	retention := NewRetention(w.journal.Release)
	o := options(t.TempDir())
	o.CheckpointTicks = 1e9
	registry := prometheus.NewRegistry()
	o.Registerer = registry
	f, err := New(w.journal, store, retention, o)
	require.NoError(t, err)
	retention.MayLag(f)
	r := &running{f, func() {}, make(chan error, 1)}
	go func() { r.done <- f.Run(t.Context()) }()
	for range 150 { // more than a segment
		w.second()
	}
	r.awaitEnd(t, w)
	store.down.Store(true)
	for range 1000 {
		w.second()
		require.NoError(t, retention.Relieve(t.Context(), w.journal.NearlyFull))
	}
	store.down.Store(false)
	r.awaitEnd(t, w)
	require.NotZero(t, w.journal.Oldest())
	require.NoError(t, w.journal.Close())
	require.NoError(t, <-r.done)
	counts := f.Accounting()
	require.Equal(t, counts.Read, counts.InSlices+counts.Open+counts.Expired, "%+v", counts)
	require.Positive(t, testutil.ToFloat64(f.figures.slices.WithLabelValues("expired", "")))
}

// TestAStoreThatIsAwayLosesTheOldestSegmentOnly covers a feed that catches up while its store is unavailable. One
// hand-over contains only slices from one segment. Only those are dropped when the journal needs the space of the
// oldest segment.
func TestAStoreThatIsAwayLosesTheOldestSegmentOnly(t *testing.T) {
	small := journal.DefaultOptions()
	small.SegmentBytes, small.MaxBytes = 4<<10, 32<<10
	w := newWorldIn(t, small)
	for is := false; !is; _, is = w.journal.NearlyFull() {
		w.second()
	}
	store := newInstant()
	store.down.Store(true)
	retention := NewRetention(w.journal.Release)
	o := options(t.TempDir())
	o.CheckpointTicks, o.CatchUpTicks, o.FlushSlices = 1e9, 1e9, 1e9
	f, err := New(w.journal, store, retention, o)
	require.NoError(t, err)
	retention.MayLag(f)
	r := &running{f, func() {}, make(chan error, 1)}
	go func() { r.done <- f.Run(t.Context()) }()
	for range 2 { // the first skips the segment, the second finds the feed offering slices from the next
		require.Eventually(t, func() bool { return testutil.ToFloat64(f.figures.failures) > 0 }, 10e9, 1e6)
		require.NoError(t, retention.Relieve(t.Context(), w.journal.NearlyFull))
	}
	store.down.Store(false)
	r.awaitEnd(t, w)
	require.NoError(t, w.journal.Close())
	require.NoError(t, <-r.done)
	expired := testutil.ToFloat64(f.figures.slices.WithLabelValues("expired", ""))
	assert.Positive(t, expired)
	assert.Less(t, expired, float64(len(store.slices()))/3, "one of eight segments had to go")
}

// TestAStoreThatIsDownForTooLongIsSkipped covers a store that is down for longer than the journal can store. It
// blocks neither ingest nor another store, even across restarts. When it is up again, it continues with what the
// journal still has. Missing samples are counted exactly and shown as a gap, and no counter falls.
func TestAStoreThatIsDownForTooLongIsSkipped(t *testing.T) {
	small := journal.DefaultOptions()
	small.SegmentBytes, small.MaxBytes = 4<<10, 32<<10
	w := newWorldIn(t, small)
	well, ill, dir := newInstant(), newInstant(), t.TempDir()
	var feeds []*running
	var retention *Retention
	start := func() {
		retention = NewRetention(w.journal.Release)
		for _, name := range []string{"well", "ill"} { // as in a collector, before one of them runs
			retention.Join(name, nil)
		}
		feeds = []*running{run(t, w, well, retention, "well", dir), run(t, w, ill, retention, "ill", dir)}
		retention.MayLag(feeds[1].Feed)
	}
	seconds := func(n int) {
		for range n {
			w.second()
			feeds[0].awaitEnd(t, w)
			require.NoError(t, retention.Relieve(context.Background(), w.journal.NearlyFull))
		}
	}
	start()
	seconds(120)
	feeds[1].awaitEnd(t, w)
	ill.down.Store(true)
	for range 3 {
		seconds(400)
		for _, f := range feeds {
			f.stop(t)
		}
		require.NoError(t, w.journal.Close())
		w.open()
		start()
	}
	seconds(400)
	ill.down.Store(false)
	feeds[1].awaitEnd(t, w) // otherwise the journal may overtake it once more: another slice in which it continues
	seconds(120)
	feeds[1].awaitEnd(t, w)

	counts := feeds[1].Accounting()
	assert.Equal(t, feeds[0].Accounting().Read, counts.Read, "what was missed is counted")
	assert.Greater(t, counts.Expired, uint64(1000))
	assert.Less(t, counts.Expired, counts.Read)
	assert.Equal(t, counts.Read, counts.InSlices+counts.Open+counts.Expired+sumOf(counts.Refused)+sumOf(counts.LeftOut),
		"%+v", counts)
	for _, f := range feeds {
		f.stop(t)
	}
	require.NoError(t, w.journal.Close())

	wellHas, illHas := well.slices(), ill.slices()
	assert.Less(t, len(illHas), len(wellHas)/2)
	gaps, partial := map[string]bool{}, map[string]bool{}
	for key, bits := range illHas {
		series, at, _ := strings.Cut(key, "@")
		if bits == value.StaleNaN {
			gaps[series] = true
			continue
		}
		same, is := wellHas[key]
		if is && same == bits {
			continue
		}
		// a total lacks the missed samples; these series report it
		if !isTotal(key) && !strings.Contains(key, "bullet_metrics_collection_") {
			partial[at] = true
		}
	}
	assert.LessOrEqual(t, len(partial), 1, "only the slice in which the feed goes on may lack samples: %v", partial)
	for key := range illHas {
		series, _, _ := strings.Cut(key, "@")
		if strings.Contains(series, "bullet_metrics_collection_") && strings.Contains(series, `metric="`) {
			continue // a series that does not change has no value that was missed
		}
		assert.True(t, gaps[series], "what was missed is not shown as a gap in %s", series)
	}
	assertRising(t, illHas)
}

func sumOf(counts map[string]uint64) (all uint64) {
	for _, n := range counts {
		all += n
	}
	return all
}

func isTotal(series string) bool {
	_, name, _ := strings.Cut(series, `__name__="`)
	name, _, _ = strings.Cut(name, `"`)
	return strings.HasSuffix(name, "_total")
}

// assertRising fails if a total falls.
func assertRising(t *testing.T, slices map[string]uint64) {
	last := map[string]float64{}
	for _, key := range keys(slices) { // times have one length
		name, _, _ := strings.Cut(key, "@")
		if bits := slices[key]; isTotal(key) && bits != value.StaleNaN {
			v := math.Float64frombits(bits)
			require.GreaterOrEqual(t, v, last[name], fmt.Sprint(key, " falls"))
			last[name] = v
		}
	}
	require.NotEmpty(t, last)
}

// TestARequiredStoreIsNotSkipped checks that the journal fills up if a store must receive everything.
func TestARequiredStoreIsNotSkipped(t *testing.T) {
	small := journal.DefaultOptions()
	small.SegmentBytes, small.MaxBytes = 4<<10, 16<<10
	w := newWorldIn(t, small)
	ill := newInstant()
	ill.down.Store(true)
	retention := NewRetention(w.journal.Release)
	f := run(t, w, ill, retention, "ill", t.TempDir())
	for w.journal.Ready() == nil {
		w.clock += 1000
		w.sequence++
		done := make(chan error, 1)
		b := &journal.Batch{Producer: w.producer, Epoch: journal.Epoch{1}, Sequence: w.sequence, ReceivedMs: w.clock,
			IDs: w.ids[:1], TimesMs: []int64{w.clock}, Values: []float64{1}}
		if _, err := w.journal.Append(b, func(err error) { done <- err }); errors.Is(err, journal.ErrFull) {
			break
		}
		require.NoError(t, <-done)
		require.NoError(t, retention.Relieve(context.Background(), w.journal.NearlyFull))
	}
	f.stop(t)
	require.NoError(t, w.journal.Close())
	assert.Zero(t, f.Accounting().Expired)
}
