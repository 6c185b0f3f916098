//go:build e2e

package e2e

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

var comparedMetrics = []string{"bullet_worker_cpu_seconds_total", "bullet_worker_heap_used_bytes",
	"bullet_worker_gc_seconds_total", "bullet_active_queries"}

func collectorKilled(t *testing.T, b *bench) {
	// Slices on both sides of the kill: two that the collector has answered with already, and two after it.
	from := b.firstCommonSlice(t)
	before := from.Add(sliceWidth)
	for _, metric := range comparedMetrics {
		b.awaitSlices(t, metric, "", before)
	}
	known := b.snapshot(t, from, before)

	killed, restarts := b.Pids()["collector"], b.CollectorRestarts()
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	t.Logf("collector %d killed", killed)
	b.await(t, "another collector that answers", func(ctx context.Context) bool {
		_, err := b.collector.Newest(ctx, selector("bullet_worker_cpu_seconds_total", ""), time.Now())
		return err == nil && b.Pids()["collector"] != killed
	})
	assert.Equal(t, restarts+1, b.CollectorRestarts())
	after := nextSliceEnd(time.Now()).Add(sliceWidth)
	b.awaitSlices(t, "bullet_worker_cpu_seconds_total", "", after)

	assert.Equal(t, known, b.snapshot(t, from, before),
		"what was answered before the kill is answered again, to the bit")
	assertWhole(t, b.snapshot(t, from, after)["bullet_worker_cpu_seconds_total"], from, after)
}

// firstCommonSlice is the first slice end for which every worker has its CPU time.
func (b *bench) firstCommonSlice(t *testing.T) time.Time {
	t.Helper()
	series, err := b.slices(t.Context(), "bullet_worker_cpu_seconds_total", "", b.started, time.Now())
	require.NoError(t, err)
	require.NotEmpty(t, series)
	first := int64(0)
	for _, s := range series {
		first = max(first, s.Slices.TimesMs[0])
	}
	return time.UnixMilli(first)
}

// snapshot is what PromQL answers for some metrics, by metric, in a fixed order.
func (b *bench) snapshot(t *testing.T, from, to time.Time) map[string][]measure.Series {
	t.Helper()
	answers := map[string][]measure.Series{}
	for _, metric := range comparedMetrics {
		series, err := b.slices(t.Context(), metric, "", from, to)
		require.NoError(t, err)
		require.NotEmpty(t, series, metric)
		slices.SortFunc(series, func(x, y measure.Series) int {
			return slices.Compare([]string{x.Labels["worker"], x.Labels["task"], x.Labels["mode"],
				x.Labels["collector"]},
				[]string{y.Labels["worker"], y.Labels["task"], y.Labels["mode"], y.Labels["collector"]})
		})
		answers[metric] = series
	}
	return answers
}

// assertWhole finds every slice of every series between two ends, and totals that never fall.
func assertWhole(t *testing.T, series []measure.Series, from, to time.Time) {
	t.Helper()
	var ends []int64
	for end := from; !end.After(to); end = end.Add(sliceWidth) {
		ends = append(ends, end.UnixMilli())
	}
	for _, s := range series {
		assert.Equal(t, ends, s.Slices.TimesMs, "%v", s.Labels)
		assert.True(t, slices.IsSorted(s.Slices.Values), "%v: %v", s.Labels, s.Slices.Values)
	}
}
