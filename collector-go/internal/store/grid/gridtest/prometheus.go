package gridtest

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
)

// Prometheus returns a store of Prometheus' that holds the world. It ends with the test.
func (w *World) Prometheus(t testing.TB) *tsdb.DB {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	options.StripeSize = 64
	options.OutOfOrderTimeWindow = w.LastMs - w.FirstMs + 2*time.Hour.Milliseconds()
	db, err := tsdb.Open(filepath.Join(t.TempDir(), "prometheus"), nil, nil, options, nil)
	require.NoError(t, err)
	db.DisableCompactions()
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, late := range []bool{false, true} {
		w.load(t, db, late)
	}
	return db
}

func (w *World) load(t testing.TB, db *tsdb.DB, late bool) {
	c := w.Columns(math.MinInt64, math.MaxInt64, late)
	appender := db.Appender(t.Context())
	// One appender takes samples as they come, of whatever kind; a series' numbers and distributions are appended in the order of time.
	numbers, distributions := 0, 0
	for numbers < len(c.Refs) || distributions < len(c.HistogramRefs) {
		if distributions == len(c.HistogramRefs) || numbers < len(c.Refs) && c.EndsMs[numbers] <= c.HistogramEndsMs[distributions] {
			_, err := appender.Append(0, w.Series[c.Refs[numbers]].Labels, c.EndsMs[numbers], c.Values[numbers])
			require.NoError(t, err)
			numbers++
			continue
		}
		h := c.Histograms[distributions]
		if h == nil {
			h = &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
		}
		_, err := appender.AppendHistogram(0, w.Series[c.HistogramRefs[distributions]].Labels, c.HistogramEndsMs[distributions], h, nil)
		require.NoError(t, err)
		distributions++
	}
	require.NoError(t, appender.Commit())
}
