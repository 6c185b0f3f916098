//go:build e2e

package e2e

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

var comparedMetrics = []string{"bullet_worker_cpu_seconds_total", "bullet_worker_heap_used_bytes", "bullet_worker_gc_seconds_total", "bullet_active_queries"}

func collectorKilled(t *testing.T, b *bench) {
	// Slices on both sides of the kill: two that the collector has answered with already, and two after it.
	from := b.firstCommonSlice(t)
	before := from.Add(sliceWidth)
	for _, metric := range comparedMetrics {
		b.awaitSlices(t, metric, "", before)
	}
	known := b.snapshot(t, from, before)

	killed, restarts := b.CollectorPid(), b.CollectorRestarts()
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	t.Logf("collector %d killed", killed)
	b.await(t, "another collector that answers", func(ctx context.Context) bool {
		_, err := b.collector.Newest(ctx, selector("bullet_worker_cpu_seconds_total", ""), time.Now())
		return err == nil && b.CollectorPid() != killed
	})
	assert.Equal(t, restarts+1, b.CollectorRestarts())
	after := nextSliceEnd(time.Now()).Add(sliceWidth)
	b.awaitSlices(t, "bullet_worker_cpu_seconds_total", "", after)

	assert.Equal(t, known, b.snapshot(t, from, before), "what was answered before the kill is answered again, to the bit")
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
func (b *bench) snapshot(t *testing.T, from, to time.Time) map[string][]experiment.Series {
	t.Helper()
	answers := map[string][]experiment.Series{}
	for _, metric := range comparedMetrics {
		series, err := b.slices(t.Context(), metric, "", from, to)
		require.NoError(t, err)
		require.NotEmpty(t, series, metric)
		slices.SortFunc(series, func(x, y experiment.Series) int {
			return slices.Compare([]string{x.Labels["worker"], x.Labels["task"], x.Labels["mode"], x.Labels["collector"]},
				[]string{y.Labels["worker"], y.Labels["task"], y.Labels["mode"], y.Labels["collector"]})
		})
		answers[metric] = series
	}
	return answers
}

// assertWhole finds every slice of every series between two ends, and totals that never fall.
func assertWhole(t *testing.T, series []experiment.Series, from, to time.Time) {
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

// longestSilence is how far apart a sampler's samples may be: it samples once a second, on a machine that may be busy.
const longestSilence = 2500 * time.Millisecond

// unsentPack is how old a sample may be that its worker still holds: the sampler's interval, and the sender's.
const unsentPack = 15 * time.Second

// The journal is read alone, after the collector has ended: the samplers' samples, one a second from the first to the last,
// none missing around the collector's kill and none there twice. A worker that was killed lost the pack that it had not handed over:
// what is younger is left out.
func journalHasEverySecond(t *testing.T, b *bench) {
	log, err := journal.Open(filepath.Join(b.options.DataDir, "journal"), journal.DefaultOptions())
	require.NoError(t, err)
	reader, err := log.Reader(0)
	require.NoError(t, err)
	require.NoError(t, log.Close()) // so that the reader finds an end
	until := time.Now()
	if !b.workerKilledAt.IsZero() {
		until = b.workerKilledAt.Add(-unsentPack)
	}
	times := samplerTimes(t, reader, until)
	require.NotEmpty(t, times)
	acknowledged, lost, doubled := 0, 0, 0
	for series, at := range times {
		slices.Sort(at)
		acknowledged += len(at)
		assert.Greater(t, len(at), 60, "%v", series)
		for i := 1; i < len(at); i++ {
			gap := time.Duration(at[i]-at[i-1]) * time.Millisecond
			if !assert.Positive(t, gap, "%v has a sample twice at %d", series, at[i]) {
				doubled++
			}
			if !assert.LessOrEqual(t, gap, longestSilence, "%v misses samples before %d", series, at[i]) {
				lost += int(gap/time.Second) - 1
			}
		}
	}
	t.Logf("tally: acknowledged=%d lost=%d doubled=%d", acknowledged, lost, doubled) // of make chaos
}

// samplerTimes are the event times of all that the workers' samplers sent up to a time, by series.
func samplerTimes(t *testing.T, reader *journal.Reader, until time.Time) map[metric.Raw][]int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	names, times := map[journal.SeriesID]metric.Raw{}, map[metric.Raw][]int64{}
	layouts := map[journal.LayoutID][]journal.SeriesID{}
	came := func(id journal.SeriesID, timeMs int64) {
		if series := names[id]; series.Shape == metric.ShapeSampler && timeMs < until.UnixMilli() {
			times[series] = append(times[series], timeMs)
		}
	}
	for {
		_, entry, err := reader.Next(ctx)
		if errors.Is(err, journal.ErrClosed) {
			return times
		}
		require.NoError(t, err)
		switch e := entry.(type) {
		case *journal.SeriesDefined:
			names[e.ID] = e.Series
		case *journal.LayoutDefined:
			layouts[e.ID] = e.Series
		case *journal.Batch:
			for i, id := range e.IDs {
				came(id, e.TimesMs[i])
			}
			for i := range e.Blocks {
				b := &e.Blocks[i]
				for column, id := range layouts[b.Layout] {
					for row := range b.Rows {
						if b.Present(column*b.Rows + row) {
							came(id, b.TimeMs(row))
						}
					}
				}
			}
		}
	}
}
