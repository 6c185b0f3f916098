package read_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/read"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

func bits(v float64) uint64 { return math.Float64bits(v) }

func named(name string) labels.Labels { return labels.FromStrings(model.MetricNameLabel, name) }

// holding returns a source with one run for each name. The names must be sorted.
func holding(firstMs int64, names ...string) *gridtest.Memory {
	m := &gridtest.Memory{}
	for _, name := range names {
		m.Add(named(name), []run.Run{{FirstMs: firstMs, StepMs: 10, Values: []float64{1, 2, 3}}})
	}
	return m
}

func TestSeriesOfAllSourcesComeInTheOrderOfTheirLabels(t *testing.T) {
	q := read.NewQuerier(sources{holding(100, "b", "d"), holding(200, "a", "b"), holding(300, "c", "d")}, 0, 1000, nil)
	var found []string
	samples := map[string]int{}
	set := q.Select(t.Context(), false, nil, everything()...)
	for set.Next() {
		name := set.At().Labels().Get(model.MetricNameLabel)
		found = append(found, name)
		for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
			samples[name]++
		}
	}
	require.NoError(t, set.Err())
	assert.Equal(t, []string{"a", "b", "c", "d"}, found)
	assert.Equal(t, map[string]int{"a": 3, "b": 6, "c": 3, "d": 6}, samples)

	values, _, err := q.LabelValues(t.Context(), model.MetricNameLabel, &storage.LabelHints{Limit: 3})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, values)
	names, _, err := q.LabelNames(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{model.MetricNameLabel}, names)

	set = q.Select(t.Context(), false, &storage.SelectHints{Start: 0, End: 1000, Limit: 2, Func: "series"},
		everything()...)
	require.True(t, set.Next())
	assert.Equal(t, chunkenc.ValNone, set.At().Iterator(nil).Next(), "series alone have no slices")
	require.True(t, set.Next())
	require.False(t, set.Next(), "two are wanted")
}

func TestClosesOnce(t *testing.T) {
	released := 0
	q := read.NewQuerier(nil, 0, 1, func() error { released++; return errors.New("first") })
	require.EqualError(t, q.Close(), "first")
	require.NoError(t, q.Close())
	require.Equal(t, 1, released)
}

// The caller may change a distribution. A gap marker is Prometheus' own.
func TestDistributions(t *testing.T) {
	h := &histogram.Histogram{Schema: 1, Count: 3, Sum: 2.5, ZeroCount: 1,
		PositiveSpans: []histogram.Span{{Offset: 1, Length: 2}}, PositiveBuckets: []int64{1, 0},
		CounterResetHint: histogram.NotCounterReset}
	gauge := h.Copy()
	gauge.CounterResetHint = histogram.GaugeType
	m := &gridtest.Memory{}
	m.Add(named("h"), []run.Run{{FirstMs: 10, StepMs: 10, Histograms: []*histogram.Histogram{h, nil, gauge}}})
	set := read.NewQuerier(sources{m}, 0, 100, nil).Select(t.Context(), false, nil, everything()...)
	require.True(t, set.Next())
	it := set.At().Iterator(nil)
	require.Equal(t, chunkenc.ValHistogram, it.Next())
	ms, whole := it.AtHistogram(nil)
	assert.Equal(t, int64(10), ms)
	assert.Equal(t, histogram.UnknownCounterReset, whole.CounterResetHint)
	assert.True(t, whole.Equals(h))
	whole.PositiveBuckets[0] = 99
	_, reused := it.AtHistogram(whole)
	assert.Same(t, whole, reused)
	assert.True(t, reused.Equals(h))
	_, float := it.AtFloatHistogram(nil)
	assert.True(t, float.Equals(h.ToFloat(nil)))
	assert.Equal(t, histogram.UnknownCounterReset, float.CounterResetHint)

	require.Equal(t, chunkenc.ValHistogram, it.Next())
	_, marker := it.AtHistogram(whole)
	assert.Equal(t, value.StaleNaN, bits(marker.Sum))
	_, floatMarker := it.AtFloatHistogram(float)
	assert.Equal(t, value.StaleNaN, bits(floatMarker.Sum))
	assert.NotSame(t, float, floatMarker, "the caller may keep what it was given")

	require.Equal(t, chunkenc.ValHistogram, it.Next())
	_, whole = it.AtHistogram(nil)
	assert.Equal(t, histogram.GaugeType, whole.CounterResetHint)
	require.Equal(t, chunkenc.ValNone, it.Next())
}

// broken is a source with parts that cannot be read.
type broken struct {
	*gridtest.Memory
	finding, reading error
}

func (b broken) Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]run.Found, error) {
	found, _ := b.Memory.Select(ctx, minMs, maxMs, matchers)
	for i := range found {
		found[i].Reader = b
	}
	return found, b.finding
}

func (b broken) Runs(ref uint32, minMs, maxMs int64, to []run.Run) ([]run.Run, error) {
	to, _ = b.Memory.Runs(ref, minMs, maxMs, to)
	return to, b.reading
}

func TestDamageCostsItself(t *testing.T) {
	index := &run.DamageError{File: "part-1", What: "index", Err: errors.New("checksum")}
	page := &run.DamageError{File: "part-1", What: "page 3", Labels: "a", FromMs: 50, ToMs: 90,
		Err: errors.New("checksum")}
	p := plan.New(plan.Limits{})
	set := read.NewQuerier(sources{broken{holding(100, "a"), index, page}, holding(200, "a")}, 0, 1000, nil).
		Select(plan.With(t.Context(), p), false, nil, everything()...)
	require.True(t, set.Next())
	it := set.At().Iterator(nil)
	n := 0
	for it.Next() != chunkenc.ValNone {
		n++
	}
	require.NoError(t, it.Err())
	assert.Equal(t, 6, n)
	require.False(t, set.Next())
	require.NoError(t, set.Err())
	assert.Equal(t, []error{index}, set.Warnings().AsErrors())
	assert.Equal(t, []error{page}, p.Warnings().AsErrors())
}

func TestAnyOtherErrorEndsTheQuery(t *testing.T) {
	gone := errors.New("the disk is gone")
	set := read.NewQuerier(sources{broken{holding(100, "a"), gone, nil}}, 0, 1000, nil).Select(t.Context(), false, nil,
		everything()...)
	require.False(t, set.Next())
	require.ErrorIs(t, set.Err(), gone)

	set = read.NewQuerier(sources{broken{holding(100, "a"), nil, gone}}, 0, 1000, nil).Select(t.Context(), false, nil,
		everything()...)
	require.True(t, set.Next())
	it := set.At().Iterator(nil)
	require.Equal(t, chunkenc.ValNone, it.Next())
	require.ErrorIs(t, it.Err(), gone)
	require.Equal(t, chunkenc.ValNone, it.Seek(150))
}

func TestLimits(t *testing.T) {
	var tooMany *plan.LimitError
	ctx := plan.With(t.Context(), plan.New(plan.Limits{Series: 2}))
	set := read.NewQuerier(sources{holding(100, "a", "b", "c")}, 0, 1000, nil).Select(ctx, false, nil, everything()...)
	require.True(t, set.Next())
	require.True(t, set.Next())
	require.False(t, set.Next())
	require.ErrorAs(t, set.Err(), &tooMany)
	assert.Equal(t, "query.max_series", tooMany.Setting)

	ctx = plan.With(t.Context(), plan.New(plan.Limits{Samples: 5}))
	set = read.NewQuerier(sources{holding(100, "a", "b")}, 0, 1000, nil).Select(ctx, false, nil, everything()...)
	require.True(t, set.Next())
	require.Equal(t, chunkenc.ValFloat, set.At().Iterator(nil).Next())
	require.True(t, set.Next())
	it := set.At().Iterator(nil)
	require.Equal(t, chunkenc.ValNone, it.Next())
	require.ErrorAs(t, it.Err(), &tooMany)
	assert.Equal(t, "query.max_read_samples", tooMany.Setting)
}

// The number of slices that are decoded at one time is limited. An iterator that ends or is reused for another series
// releases its own.
func TestHeldAtOneTime(t *testing.T) {
	p := plan.New(plan.Limits{InMemory: 5})
	set := read.NewQuerier(sources{holding(100, "a", "b", "c", "d")}, 0, 1000, nil).Select(plan.With(t.Context(), p),
		false, nil, everything()...)
	require.True(t, set.Next())
	first := set.At().Iterator(nil)
	require.Equal(t, chunkenc.ValFloat, first.Next())
	require.True(t, set.Next())
	again := set.At().Iterator(first)
	require.Equal(t, chunkenc.ValFloat, again.Next())
	require.Equal(t, chunkenc.ValNone, again.Seek(999))
	require.True(t, set.Next())
	require.Equal(t, chunkenc.ValFloat, set.At().Iterator(nil).Next())
	require.True(t, set.Next())
	last := set.At().Iterator(nil)
	require.Equal(t, chunkenc.ValNone, last.Next())
	var tooMany *plan.LimitError
	require.ErrorAs(t, last.Err(), &tooMany)
	assert.Equal(t, "query.max_samples", tooMany.Setting)
}

func TestNobodyWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	set := read.NewQuerier(sources{holding(100, "a")}, 0, 1000, nil).Select(ctx, false, nil, everything()...)
	require.True(t, set.Next())
	cancel()
	it := set.At().Iterator(nil)
	require.Equal(t, chunkenc.ValNone, it.Next())
	require.ErrorIs(t, it.Err(), context.Canceled)
}
