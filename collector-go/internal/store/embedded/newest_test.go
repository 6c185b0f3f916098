package embedded

import (
	"context"
	"math"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// The newest slice is found in head and blocks, and behind hours of nothing but markers.
func TestNewest(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t)
	newest := func(s *Store) int64 {
		ms, ok, err := s.Newest(ctx)
		require.NoError(t, err)
		if !ok {
			return -1
		}
		return ms
	}
	s := p.open(t)
	assert.Equal(t, int64(-1), newest(s), "an empty store has none")

	const start, hour = int64(1_700_000_000_000), int64(3_600_000)
	define := func(ref slice.Ref, name string, kind metric.Kind) slice.Definition {
		return slice.Definition{Ref: ref, Series: metric.Series{Labels: labels.FromStrings(model.MetricNameLabel, name), Kind: kind}, IntervalMs: 10_000}
	}
	for upTo, c := range []slice.Columns{
		{
			Definitions: []slice.Definition{define(0, "a", metric.KindGauge), define(1, "b", metric.KindDistribution)},
			Refs:        []slice.Ref{0}, EndsMs: []int64{start}, Values: []float64{1},
			HistogramRefs: []slice.Ref{1}, HistogramEndsMs: []int64{start + 10_000}, Histograms: []*histogram.Histogram{{ZeroThreshold: 1, ZeroCount: 1, Count: 1}},
		},
		{
			Refs: []slice.Ref{0}, EndsMs: []int64{start + 5*hour}, Values: []float64{math.Float64frombits(value.StaleNaN)},
			HistogramRefs: []slice.Ref{1}, HistogramEndsMs: []int64{start + 5*hour}, Histograms: []*histogram.Histogram{nil},
		},
	} {
		rejected, err := s.Append(ctx, uint64(upTo+1), &c)
		require.NoError(t, err)
		require.Empty(t, rejected)
	}
	assert.Equal(t, start+10_000, newest(s), "in the head")
	require.NoError(t, s.Flush(ctx))
	require.NoError(t, s.Close(ctx))
	assert.Equal(t, start+10_000, newest(p.open(t)), "in blocks")

	require.NoError(t, p.store.Close(ctx))
	_, _, err := p.store.Newest(ctx)
	assert.ErrorIs(t, err, ErrClosed)
}
