package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// What a lost head leaves behind is left on purpose; see Store.end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/embedded.(*Store).end.func1"),
		goleak.IgnoreAnyFunction("github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/embedded.(*Store).compactWhereDue.func1"),
		goleak.IgnoreAnyFunction("github.com/prometheus/prometheus/tsdb.(*DB).run"))
}

func define(refs ...slice.Ref) (all []slice.Definition) {
	for _, ref := range refs {
		l := labels.FromStrings(model.MetricNameLabel, "storm_x", "task", string(rune('a'+ref)))
		all = append(all, slice.Definition{Ref: ref, Series: metric.Series{Labels: l, Kind: metric.KindGauge}, IntervalMs: 10_000})
	}
	return all
}

func numbers(ref slice.Ref, fromMs int64, n int) *slice.Columns {
	c := &slice.Columns{Definitions: define(ref)}
	for i := range int64(n) {
		c.Refs, c.EndsMs, c.Values = append(c.Refs, ref), append(c.EndsMs, fromMs+i*10_000), append(c.Values, float64(i))
	}
	return c
}

const day = int64(86_400_000)

// tsdb panics where it cannot write a head chunk. That is an error here, and costs nothing that was durable.
func TestDiskThatRefusesHeadChunks(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	_, err := s.Append(t.Context(), 10, numbers(0, 100*day, 100))
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir(), blocksDir, "chunks_head")))

	late := numbers(1, 100*day-1000, 200) // out of order, and more than one chunk of it
	_, err = s.Append(t.Context(), 20, late)
	require.ErrorIs(t, err, ErrFailed)
	_, err = s.Append(t.Context(), 30, late)
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, s.Flush(t.Context()), ErrFailed)
	assert.Equal(t, uint64(10), s.Durable())
	_ = s.Close(t.Context())
	p.store = nil

	s = p.open(t)
	require.Equal(t, uint64(10), s.Durable())
	late.Definitions = define(1)
	rejected, err := s.Append(t.Context(), 20, late)
	require.NoError(t, err)
	assert.Empty(t, rejected)
	assert.Len(t, read(t, s), 2)
}

// A block that cannot be written stays in memory and in the journal, and is written when the disk works again.
func TestDiskThatRefusesBlocks(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	p := newPlace(t, func(o *Options) { o.Registerer = registry })
	s := p.open(t)
	blocks := filepath.Join(p.dir(), blocksDir)
	require.NoError(t, os.Rename(blocks, blocks+"-away"))
	require.NoError(t, os.WriteFile(blocks, nil, 0o666)) // no directory can be made here
	_, err := s.Append(t.Context(), 10, numbers(0, 100*day, 200))
	require.NoError(t, err, "what fits in memory is taken")
	p.Settle(t)
	require.Error(t, s.Flush(t.Context()))
	assert.Zero(t, s.Durable())
	assert.Equal(t, 2.0, testutil.ToFloat64(s.figures.compactionsFailures))

	require.NoError(t, os.Remove(blocks))
	require.NoError(t, os.Rename(blocks+"-away", blocks))
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, uint64(10), s.Durable())
	assert.Len(t, read(t, s)[define(0)[0].Series.Labels.String()], 200)
}

func TestNearlyFullDisk(t *testing.T) {
	require.NoError(t, enough(1000<<20, 10_000<<20, 256<<20, "/data"))
	require.ErrorIs(t, enough(200<<20, 10_000<<20, 256<<20, "/data"), ErrNoSpace)
	require.NoError(t, enough(200<<20, 1000<<20, 256<<20, "/data"), "a small disk needs a twentieth")
	require.ErrorContains(t, enough(10<<20, 1000<<20, 256<<20, "/data"), "10 MiB are free at /data and 50 MiB must be")
}

func TestFullHeadIsWritten(t *testing.T) {
	p := newPlace(t, func(o *Options) { o.MaxHeadSamples = 50 })
	s := p.open(t)
	for i := range 10 {
		_, err := s.Append(t.Context(), uint64(i+1), numbers(slice.Ref(i), 100*day, 20))
		require.NoError(t, err)
		assert.LessOrEqual(t, s.held.total, 60)
	}
	assert.Equal(t, uint64(9), s.Durable())
	assert.Len(t, read(t, s), 10)
}

func TestSilentTopologyDoesNotHoldTheJournal(t *testing.T) {
	p := newPlace(t, func(o *Options) { o.IdleHandOvers = 5 })
	s := p.open(t)
	position := uint64(10)
	_, err := s.Append(t.Context(), position, numbers(0, 100*day, 3))
	require.NoError(t, err)
	for range 4 {
		position++
		_, err := s.Append(t.Context(), position, &slice.Columns{})
		require.NoError(t, err)
	}
	assert.Zero(t, s.Durable())
	for range 6 { // written at the first, and moved on at the sixth
		position++
		_, err = s.Append(t.Context(), position, &slice.Columns{})
		require.NoError(t, err)
	}
	assert.Equal(t, position, s.Durable())
	assert.Len(t, read(t, s)[define(0)[0].Series.Labels.String()], 3)
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.BlockDuration = time.Millisecond }, func(o *Options) { o.MaxBlockDuration = time.Minute },
		func(o *Options) { o.OutOfOrderWindow = 0 }, func(o *Options) { o.RetentionTime = -1 }, func(o *Options) { o.RetentionBytes = -1 },
		func(o *Options) { o.MaxHeadSamples = 0 }, func(o *Options) { o.IdleHandOvers = 0 },
	} {
		o := DefaultOptions()
		change(&o)
		_, err := Open(t.TempDir(), o)
		require.ErrorContains(t, err, "embedded store: ")
	}
}

func TestSingleRejections(t *testing.T) {
	s := newPlace(t).open(t)
	_, err := s.Append(t.Context(), 1, numbers(0, 100*day, 1))
	require.NoError(t, err)
	broken := &histogram.Histogram{Count: 1, PositiveSpans: []histogram.Span{{Length: 3}}}
	rejected, err := s.Append(t.Context(), 2, &slice.Columns{
		Definitions:   []slice.Definition{{Ref: 5, Series: metric.Series{Labels: labels.FromStrings("a", "b", "a", "c")}}, define(6)[0]},
		Refs:          []slice.Ref{0, 5, 9, 0},
		EndsMs:        []int64{100 * day, 100 * day, 100 * day, 100*day + 10_000},
		Values:        []float64{4711, 1, 1, 1},
		HistogramRefs: []slice.Ref{6}, HistogramEndsMs: []int64{100 * day}, Histograms: []*histogram.Histogram{broken},
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{RejectedConflict: 1, RejectedInvalid: 2, RejectedUndefined: 1}, rejected)
	assert.Len(t, read(t, s)[define(0)[0].Series.Labels.String()], 2, "the rest of the hand-over was taken")
}

func TestDirectoryHasOneOwner(t *testing.T) {
	p := newPlace(t)
	p.open(t)
	_, err := Open(p.dir(), DefaultOptions())
	require.ErrorContains(t, err, "in use by another process")
}

func refusesQueries(s *Store) bool {
	q, err := s.Querier(0, 1)
	if err == nil {
		_ = q.Close()
	}
	return errors.Is(err, ErrClosed)
}

func TestCloseWaitsForQueries(t *testing.T) {
	s := newPlace(t).open(t)
	q, err := s.Querier(0, 1)
	require.NoError(t, err)
	closing, cancel := context.WithCancel(t.Context())
	closed := make(chan error)
	go func() { closed <- s.Close(closing) }()
	require.Eventually(t, func() bool { return refusesQueries(s) }, time.Minute, time.Millisecond)
	require.NoError(t, q.Close())
	require.NoError(t, <-closed)
	cancel()

	s = newPlace(t).open(t)
	q, err = s.Querier(0, 1)
	require.NoError(t, err)
	require.ErrorContains(t, s.Close(closing), "queries still read it")
	require.NoError(t, q.Close())
	require.NoError(t, s.end())
}

func TestSnapshotOfARunningStore(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	_, err := s.Append(t.Context(), 10, numbers(0, 100*day, 200))
	require.NoError(t, err)
	to := filepath.Join(p.base, "snapshot")
	require.NoError(t, s.Snapshot(t.Context(), to))
	require.ErrorContains(t, s.Snapshot(t.Context(), to), "exists")
	_, err = s.Append(t.Context(), 20, numbers(0, 101*day, 200))
	require.NoError(t, err)

	copied := newPlace(t)
	require.NoError(t, os.MkdirAll(copied.dir(), 0o777))
	require.NoError(t, os.Rename(to, filepath.Join(copied.dir(), blocksDir)))
	assert.Len(t, read(t, copied.open(t))[define(0)[0].Series.Labels.String()], 200)
}

func TestRetention(t *testing.T) {
	id := func(n byte) ulid.ULID { return ulid.ULID{n} }
	blocks := func() []kept {
		return []kept{{id(1), 100, 10}, {id(2), 200, 10}, {id(3), 300, 10}, {id(4), 400, 10}}
	}
	for _, c := range []struct {
		name string
		r    retention
		want map[ulid.ULID]string
	}{
		{"no bound", retention{}, map[ulid.ULID]string{}},
		{"time", retention{time: 200 * time.Millisecond}, map[ulid.ULID]string{id(1): "time", id(2): "time"}},
		{"bytes", retention{bytes: 35}, map[ulid.ULID]string{id(1): "bytes"}},
		{"both", retention{time: 300 * time.Millisecond, bytes: 25}, map[ulid.ULID]string{id(1): "time", id(2): "bytes"}},
		{"the newest stays", retention{bytes: 1}, map[ulid.ULID]string{id(1): "bytes", id(2): "bytes", id(3): "bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, c.r.decide(blocks())) })
	}
}

func TestRetentionDeletesAndCounts(t *testing.T) {
	p := newPlace(t, func(o *Options) { o.RetentionTime = time.Hour; o.MaxBlockDuration = o.BlockDuration })
	s := p.open(t)
	for i := range int64(4) {
		_, err := s.Append(t.Context(), uint64(i+1), numbers(0, 100*day+i*day, 3))
		require.NoError(t, err)
		require.NoError(t, s.Flush(t.Context()))
	}
	assert.Len(t, s.db.Blocks(), 1)
	assert.Equal(t, 3.0, testutil.ToFloat64(s.figures.expiredBlocks.WithLabelValues("time")))
}
