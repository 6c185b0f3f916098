package query

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// BenchmarkRange queries a day of 10 s slices of 500 workers, as the page and Grafana do, with 1,440 points per
// series.
func BenchmarkRange(b *testing.B) {
	const workers, first = 500, int64(1_700_000_000_000)
	day := 24 * time.Hour
	options := grid.DefaultOptions()
	options.RetentionTime = 0
	store, err := grid.Open(b.TempDir(), options)
	require.NoError(b, err)
	fill(b, store, workers, first, day.Milliseconds())
	engine, err := New(store, DefaultOptions())
	require.NoError(b, err)
	start := time.UnixMilli(first)
	for _, expr := range []string{
		`rate(bullet_worker_cpu_seconds_total[1m])`,
		`sum(rate(bullet_worker_cpu_seconds_total[1m]))`,
		`bullet_worker_cpu_seconds_total`,
	} {
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q, err := engine.Range(b.Context(), nil, expr, start, start.Add(day), time.Minute)
				require.NoError(b, err)
				matrix, err := q.Exec(b.Context()).Matrix()
				require.NoError(b, err)
				require.Contains(b, []int{1, workers}, len(matrix))
				q.Close()
			}
		})
	}
	require.NoError(b, store.Close(b.Context()))
}

func fill(b *testing.B, store *grid.Store, workers int, first, lengthMs int64) {
	c := &slice.Columns{}
	for w := range workers {
		l := labels.FromStrings(model.MetricNameLabel, "bullet_worker_cpu_seconds_total", "mode", "user", "topology",
			"bullet", "worker", fmt.Sprintf("host-%d:6700", w))
		c.Definitions = append(c.Definitions,
			slice.Definition{Ref: slice.Ref(w), Series: metric.Series{Labels: l, Kind: metric.KindCounter},
				IntervalMs: 10_000})
	}
	for ms := first; ms < first+lengthMs; ms += 10_000 {
		for w := range workers {
			c.Refs, c.EndsMs, c.Values = append(c.Refs, slice.Ref(w)), append(c.EndsMs, ms),
				append(c.Values, float64((ms-first)*int64(w+1))*1e-4)
		}
		_, err := store.Append(b.Context(), uint64(ms), c)
		require.NoError(b, err)
		c.Reset()
	}
	require.NoError(b, store.Flush(b.Context()))
}
