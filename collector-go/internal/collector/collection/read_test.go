package collection

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is stored for a metric are the distances that were seen during a problem. For the rest of the time, the
// configured interval counts. A metric with a stored value after its last sample is silent. One without a remaining
// problem is not listed.
func TestWhatIsSeen(t *testing.T) {
	start := time.UnixMilli(600_000)
	ls := labels.FromStrings("metric", "heap", "worker", "h:1")
	series := func(values ...float64) (all []Value) {
		for i, v := range values {
			all = append(all, Value{ls, v, 630_000 + int64(i)*30_000})
		}
		return all
	}
	for name, c := range map[string]struct {
		seen, samples []Value
		missing       uint64
		want          []float64 // median and maximum
		silent        bool
	}{
		"a gap":                 {seen: series(31, 10), samples: series(3, 6), want: []float64{10, 31}},
		"mostly gaps":           {seen: series(31, 20, 20, 20, 20, 20), samples: series(1, 2, 3, 4, 5, 6), want: []float64{20, 31}},
		"too often":             {seen: series(4), samples: series(8), want: []float64{10, 10}},
		"it is well again":      {seen: series(10, 10), samples: series(3, 6)},
		"well, but for a count": {seen: series(10), samples: series(3), missing: 1, want: []float64{10, 10}},
		"silent":                {seen: series(10, 70, 100), samples: series(3), want: []float64{10, 100}, silent: true},
		"silent from the start": {seen: series(70, 100), want: []float64{10, 100}, silent: true},
	} {
		ask := func(_ context.Context, expr string, at time.Time, _ time.Duration) ([]Value, error) {
			asks := func(function, metric string) bool {
				return strings.HasPrefix(expr, function+"bullet_metrics_collection_"+metric+"{")
			}
			one := func(v float64) []Value { return []Value{{Labels: ls, Value: v}} }
			switch {
			case asks("max by (metric) (last_over_time(", "interval_seconds"):
				return one(10), nil
			case asks("count by (worker) (last_over_time(", "interval_seen_seconds"):
				return one(1), nil
			case asks("", "interval_seen_seconds"):
				return c.seen, nil
			case asks("", "samples_total") && at.After(start):
				return c.samples, nil
			case asks("last_over_time(", "missing_samples_total"):
				return one(float64(c.missing)), nil
			case asks("last_over_time(", "worker_samples_total"):
				return one(100), nil
			}
			return nil, nil
		}
		all, err := Read(t.Context(), ask, "bullet", start, time.UnixMilli(900_000))
		require.NoError(t, err, name)
		require.Len(t, all.Workers, 1, name)
		assert.Equal(t, map[string]float64{"heap": 10}, all.IntervalSeconds, name)
		assert.EqualValues(t, 100, all.Samples, name)
		if c.want == nil {
			assert.Empty(t, all.Workers[0].Metrics, name)
			continue
		}
		require.Len(t, all.Workers[0].Metrics, 1, name)
		m := all.Workers[0].Metrics[0]
		assert.Equal(t, c.want, []float64{*m.SeenMedianSeconds, *m.SeenMaxSeconds}, name)
		assert.Equal(t, []any{10.0, c.missing, c.silent}, []any{*m.IntervalSeconds, m.Missing, m.Silent}, name)
	}
}

// A total counts from its value at the start, or, if it has none then, from its first value.
func TestWhatATotalGrew(t *testing.T) {
	a, b := labels.FromStrings("worker", "a"), labels.FromStrings("worker", "b")
	r := &reading{ctx: t.Context(), topology: "bullet", start: time.UnixMilli(1), end: time.UnixMilli(2)}
	r.ask = func(_ context.Context, expr string, at time.Time, _ time.Duration) ([]Value, error) {
		switch {
		case strings.HasPrefix(expr, "min_over_time("):
			return []Value{{Labels: a, Value: 7}, {Labels: b, Value: 3}}, nil
		case strings.HasPrefix(expr, "last_over_time("):
			return []Value{{Labels: a, Value: 9}, {Labels: b, Value: 9}}, nil
		}
		assert.Equal(t, r.start, at)
		return []Value{{Labels: a, Value: 5}}, nil
	}
	grew := map[string]uint64{}
	require.NoError(t, r.grew("x_total", func(ls labels.Labels, n uint64) { grew[ls.Get("worker")] = n }))
	assert.Equal(t, map[string]uint64{"a": 4, "b": 6}, grew)
}

// A worker whose clock is wrong is read at its own time if it has nothing in the requested range. Workers with a
// correct clock are read as usual. Intervals belong to the topology, so they are not restricted to workers.
func TestWorkersWhoseClocksAreOffAreReadAtTheirOwnTime(t *testing.T) {
	start, end := time.Unix(10_000, 0), time.Unix(13_600, 0)
	var asked []string
	ask := func(_ context.Context, expr string, at time.Time, _ time.Duration) ([]Value, error) {
		one := func(worker string, v float64) []Value {
			return []Value{{Labels: labels.FromStrings("worker", worker), Value: v}}
		}
		shifted := strings.Contains(expr, `,worker=~"late:1|late:2"`)
		if shifted || strings.Contains(expr, "interval_seconds{") {
			asked = append(asked, fmt.Sprintf("%d %s", at.Unix(), expr))
		}
		if strings.HasPrefix(expr, "last_over_time(bullet_metrics_collection_worker_samples_total{") {
			if shifted {
				assert.Equal(t, end.Add(-2*time.Hour), at)
				return one("late:1", 100), nil
			}
			return one("right:1", 30), nil
		}
		return nil, nil
	}
	all, err := ReadByClocks(t.Context(), ask, "bullet", start, end, map[string]time.Duration{
		"late:1": -2*time.Hour + time.Second, "late:2": -2 * time.Hour, "right:1": -time.Hour, "right:2": time.Second})
	require.NoError(t, err)
	require.Len(t, all.Workers, 2)
	assert.Equal(t, []string{"late:1", "right:1"}, []string{all.Workers[0].Worker, all.Workers[1].Worker})
	assert.EqualValues(t, 130, all.Samples)
	assert.Equal(t, []string{text(start), text(end)}, []string{all.Start, all.End})
	assert.Contains(t, asked, `6400 max by (metric) (bullet_metrics_collection_interval_seconds{topology="bullet"})`)
}
