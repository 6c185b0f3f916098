package gridtest

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// Prometheus returns a store of Prometheus' that holds the world. It ends with the test.
func (w *World) Prometheus(t testing.TB) *tsdb.DB {
	twin := w.Twin(t)
	for _, late := range []bool{false, true} {
		twin.Hand(t, w.Columns(math.MinInt64, math.MaxInt64, late))
	}
	return twin.DB
}

// Twin is a store of Prometheus' that is handed what a store of ours is handed.
type Twin struct {
	*tsdb.DB
	series map[slice.Ref]labels.Labels
}

// Twin returns a twin that has room for the world, and holds nothing. It ends with the test.
func (w *World) Twin(t testing.TB) *Twin {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	options.StripeSize = 64
	options.WALSegmentSize = -1
	options.OutOfOrderTimeWindow = w.LastMs - w.FirstMs + 2*time.Hour.Milliseconds()
	db, err := tsdb.Open(filepath.Join(t.TempDir(), "prometheus"), nil, nil, options, nil)
	require.NoError(t, err)
	db.DisableCompactions()
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &Twin{DB: db, series: map[slice.Ref]labels.Labels{}}
}

// Hand hands slices over.
func (w *Twin) Hand(t testing.TB, c *slice.Columns) {
	for _, d := range c.Definitions {
		w.series[d.Ref] = d.Series.Labels
	}
	appender := w.Appender(t.Context())
	// One appender takes samples as they come, of whatever kind; a series' numbers and distributions are appended in
	// the order of time.
	numbers, distributions := 0, 0
	for numbers < len(c.Refs) || distributions < len(c.HistogramRefs) {
		if distributions == len(c.HistogramRefs) || numbers < len(c.Refs) &&
			c.EndsMs[numbers] <= c.HistogramEndsMs[distributions] {
			_, err := appender.Append(0, w.series[c.Refs[numbers]], c.EndsMs[numbers], c.Values[numbers])
			require.NoError(t, err)
			numbers++
			continue
		}
		h := c.Histograms[distributions]
		if h == nil {
			h = &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
		}
		_, err := appender.AppendHistogram(0, w.series[c.HistogramRefs[distributions]],
			c.HistogramEndsMs[distributions], h, nil)
		require.NoError(t, err)
		distributions++
	}
	require.NoError(t, appender.Commit())
}

// Within is a store of which only slices that end within [minMs, maxMs] are read.
type Within struct {
	storage.Queryable
	MinMs, MaxMs int64
}

// Querier implements storage.Queryable.
func (w Within) Querier(minMs, maxMs int64) (storage.Querier, error) {
	q, err := w.Queryable.Querier(max(minMs, w.MinMs), min(maxMs, w.MaxMs))
	return within{q, w}, err
}

type within struct {
	storage.Querier
	Within
}

// Select has the hints end where the querier does: Prometheus' store goes by them. Of windows that are computed they
// say nothing.
func (w within) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	if _, computed := plan.From(ctx).Windows(matchers); computed {
		return w.Querier.Select(ctx, sorted, hints, matchers...)
	}
	cut := *hints
	cut.Start, cut.End = max(cut.Start, w.MinMs), min(cut.End, w.MaxMs)
	if cut.Start > cut.End {
		return storage.EmptySeriesSet()
	}
	return w.Querier.Select(ctx, sorted, &cut, matchers...)
}
