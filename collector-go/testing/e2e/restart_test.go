//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// restarts are the newest totals by worker.
func (b *bench) restarts(t *testing.T) map[string]tuning.Figure {
	t.Helper()
	totals := map[string]tuning.Figure{}
	for worker, s := range b.ofWorkers(t, "bullet_worker_restarts_total", b.started, time.Now()) {
		totals[worker] = s.Values[len(s.Values)-1]
	}
	require.Len(t, totals, workers)
	return totals
}

// ofWorkers is a metric with one series a worker, by worker.
func (b *bench) ofWorkers(t *testing.T, metric string, from, to time.Time) map[string]runstore.Slices {
	t.Helper()
	series, err := b.slices(t.Context(), metric, "", from, to)
	require.NoError(t, err)
	found := map[string]runstore.Slices{}
	for _, s := range series {
		require.NotContains(t, found, s.Labels["worker"], metric)
		found[s.Labels["worker"]] = s.Slices
	}
	return found
}

// assertKilledOnce holds what is stored around a worker's kill to what must be: one restart more for that worker and
// none for any other, totals that never fall, and between its last samples and the first of its new process a gap, in
// what is stored and in PromQL.
func (b *bench) assertKilledOnce(t *testing.T, victim string, before map[string]tuning.Figure) {
	t.Helper()
	ofVictim := ",worker=" + strconv.Quote(victim)
	var started, back time.Time // when the new process started, and the end of its first slice
	b.await(t, "the new process' first slices", func(ctx context.Context) bool {
		starts, err := b.slices(ctx, "bullet_worker_start_time_seconds", ofVictim, b.started, time.Now())
		if err != nil || len(starts) != 1 {
			return false
		}
		for i, seconds := range starts[0].Slices.Values {
			started = time.UnixMilli(int64(float64(seconds) * 1000))
			if !started.Before(b.workerKilledAt.Truncate(time.Millisecond)) {
				back = time.UnixMilli(starts[0].Slices.TimesMs[i])
				return true
			}
		}
		return false
	})
	b.awaitSlices(t, "bullet_worker_cpu_seconds_total", "", back.Add(sliceWidth))
	after := b.restarts(t)
	for worker, total := range before {
		if worker == victim {
			total++
		}
		assert.Equal(t, total, after[worker], "restarts of %s", worker)
	}
	b.assertTotalsNeverFall(t)

	// A slice that holds the kill may have what came before it, and one that holds the new process' start what came
	// after.
	lastMay, firstMay := nextSliceEnd(b.workerKilledAt), back.Add(-sliceWidth)
	t.Logf("%s was killed at %s and is back with the slice of %s", victim, b.workerKilledAt.Format(time.TimeOnly),
		back.Format(time.TimeOnly))
	heap, err := b.slices(t.Context(), "bullet_worker_heap_used_bytes", ofVictim, b.started, back)
	require.NoError(t, err)
	require.Len(t, heap, 1)
	for _, end := range heap[0].Slices.TimesMs {
		assert.False(t, end > lastMay.UnixMilli() && end <= firstMay.UnixMilli(), "a slice of %s in its gap",
			time.UnixMilli(end).Format(time.TimeOnly))
	}
	last := heap[0].Slices.TimesMs[len(heap[0].Slices.TimesMs)-2] // the last is the new process' first
	if gap := back.UnixMilli() - last; gap > 2*sliceWidth.Milliseconds() {
		at, err := b.collector.Newest(t.Context(), selector("bullet_worker_heap_used_bytes", ofVictim),
			back.Add(-time.Second))
		require.NoError(t, err)
		assert.Empty(t, at, "PromQL draws across a gap of %d ms", gap)
	}
	b.assertMissed(t, victim, started.Sub(b.workerKilledAt))
}

// assertTotalsNeverFall looks at every counter that is stored of the topology.
func (b *bench) assertTotalsNeverFall(t *testing.T) {
	t.Helper()
	all, err := b.collector.Slices(t.Context(), selector("", `,__name__=~".+_total"`), b.started.Add(-time.Millisecond),
		time.Now())
	require.NoError(t, err)
	require.Greater(t, len(all), 100)
	for _, s := range all {
		assert.True(t, slices.IsSorted(s.Slices.Values), "%v falls: %v", s.Labels, s.Slices.Values)
	}
}

// assertMissed finds the victim's samples missing in what the collector reports of the collection, for at least as long
// as it had no process, and its interval as it is configured. How far apart samples were is stored once in 30 s, and a
// busy machine misses some before: both are waited for.
func (b *bench) assertMissed(t *testing.T, victim string, away time.Duration) {
	t.Helper()
	b.await(t, "the collection to tell of the gap", func(ctx context.Context) bool {
		whole, err := b.collector.Collection(ctx, topology, b.started, time.Now())
		if err != nil {
			return false
		}
		for _, w := range whole.Workers {
			for _, m := range w.Metrics {
				if w.Worker == victim && m.Metric == "bullet_worker_heap_used_bytes" && m.Missing > 0 &&
					m.SeenMaxSeconds != nil && *m.SeenMaxSeconds > away.Seconds() {
					assert.False(t, whole.Complete)
					assert.Equal(t, uint64(1), w.Restarts)
					assert.Equal(t, 1.0, *m.IntervalSeconds, "the sampler's")
					t.Logf("%s: no process for %s, no sample for %.1f s; %s missed %d of %d samples, %s in all", w.Worker,
						away.Round(time.Millisecond), *m.SeenMaxSeconds, m.Metric, m.Missing, m.Expected(),
						strconv.FormatUint(whole.Missing, 10))
					return true
				}
			}
		}
		return false
	})
	known, err := b.collector.Topology(t.Context(), topology)
	require.NoError(t, err)
	assert.False(t, slices.ContainsFunc(known.Workers, func(w measure.KnownWorker) bool {
		return strings.Contains(w.Worker, victim) && w.Restarts != 1
	}))
}
