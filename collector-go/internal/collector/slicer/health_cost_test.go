package slicer

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// TestWhatHealthCosts checks the number of health series. A healthy worker has only its own seven series, however many
// metrics it has. A topology has one series for each of its metrics, with a value once an hour.
//
// One metric of each worker is then late by half an interval, and later silent. Only that metric is described, until a
// while after it recovered or fell silent.
func TestWhatHealthCosts(t *testing.T) {
	const workers, metrics = 5, 80
	o := DefaultOptions()
	o.Health = testHealth(30_000)
	o.Health.MaxMetrics = 256
	s, err := New(o)
	require.NoError(t, err)
	s.Connect(1)
	for id := range uint32(workers * metrics) {
		name := fmt.Sprintf("m%d", id%metrics)
		o.Health.Steady[name] = true
		s.Define(id, metric.Rule{Worker: metric.Worker{Topology: "t", Host: fmt.Sprint("w", id/metrics), Port: 1},
			PerUnit: 1, Most: 1e300, IntervalMs: 10_000, Temporality: metric.Gauge,
			Series: metric.Series{Kind: metric.KindGauge, Labels: labels.FromStrings("__name__", name, "worker",
				fmt.Sprint(id/metrics))}})
	}
	names := map[slice.Ref]string{}
	sent := int64(0)
	// send sends the given number of periods, and returns how many values there are of each series.
	send := func(periods int64, left func(uint32, int64) bool) (series, values map[string]int) {
		series, values = map[string]int{}, map[string]int{}
		for end := sent + 3*periods; sent < end; sent++ {
			now := 1_000_000 + sent*10_000
			s.beginBatch(1, uint64(sent))
			s.received(now + 300)
			for id := range uint32(workers * metrics) {
				if left == nil || !left(id%metrics, sent) {
					s.Add(id, now, 1)
				}
			}
			s.endBatch()
			c := s.Closed()
			for _, d := range c.Definitions {
				names[d.Ref] = d.Series.Name()
				series[d.Series.Name()]++
			}
			for _, ref := range c.Refs {
				values[names[ref]]++
			}
			c.Reset()
		}
		return series, values
	}
	own := []string{"all_samples", "all_missing", "all_late", "ratio", "ahead", "ahead_least"}
	ofMetrics := []string{"samples", "seen", "missing", "late"}

	series, _ := send(20, nil)
	for _, name := range own {
		assert.Equal(t, workers, series[name], name)
	}
	assert.Equal(t, metrics, series["interval"], "one for each of the topology's metrics")
	assert.Len(t, series, metrics+len(own)+1)
	series, values := send(120, nil)
	assert.Empty(t, series)
	for _, name := range own {
		assert.Equal(t, workers*120, values[name], name)
	}
	assert.Equal(t, metrics, values["interval"], "once an hour")

	rare := func(metric uint32, n int64) bool { return metric == 7 && n%2 == 0 }
	series, _ = send(20, rare)
	assert.Equal(t, map[string]int{"samples": workers, "seen": workers, "missing": workers}, series)
	send(20, nil) // it has recovered
	series, values = send(20, nil)
	assert.Empty(t, series)
	for _, name := range ofMetrics {
		assert.Zero(t, values[name], name)
	}

	gone := func(metric uint32, _ int64) bool { return metric == 7 }
	_, values = send(20, gone)
	assert.Equal(t, workers*(3+300/30+1), values["seen"], "from the first that is missing on, with a marker")
	assert.Equal(t, workers*(2+1), values["samples"], "until it is silent")
	_, values = send(20, gone)
	for _, name := range ofMetrics {
		assert.Zero(t, values[name], "%s of what stays silent", name)
	}
	_, values = send(5, nil)
	assert.Positive(t, values["seen"], "it returned")
	assert.Positive(t, values["missing"])
}
