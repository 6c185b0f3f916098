package embedded

import (
	"fmt"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// BenchmarkAppend hands over one slice of each of 20,000 series at a time, a large cluster's, 10 s of event time apart; blocks
// are written and merged meanwhile.
func BenchmarkAppend(b *testing.B) {
	const series = 20_000
	s, err := Open(b.TempDir(), DefaultOptions())
	require.NoError(b, err)
	c := &slice.Columns{}
	for i := range series {
		l := labels.FromStrings(model.MetricNameLabel, "storm_executed_total", "topology", "bullet", "worker", fmt.Sprintf("host-%d:6700", i%500),
			"component", "FilterBolt", "task", fmt.Sprint(i), "stream", "default")
		c.Definitions = append(c.Definitions, slice.Definition{Ref: slice.Ref(i), Series: metric.Series{Labels: l, Kind: metric.KindCounter}, IntervalMs: 10_000})
		c.Refs, c.EndsMs, c.Values = append(c.Refs, slice.Ref(i)), append(c.EndsMs, 0), append(c.Values, 0)
	}
	b.ReportAllocs()
	position := uint64(0)
	for b.Loop() {
		position++
		for i := range series {
			c.EndsMs[i], c.Values[i] = 100*day+int64(position)*10_000, float64(position)*float64(i)
		}
		_, err := s.Append(b.Context(), position, c)
		require.NoError(b, err)
		c.Definitions = nil
	}
	b.ReportMetric(float64(b.N)*series/b.Elapsed().Seconds(), "slices/s")
	require.NoError(b, s.Close(b.Context()))
}
