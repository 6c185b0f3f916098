package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

const (
	width = int64(10_000)                    // of a slice
	hour  = int64(3_600_000)                 //
	start = int64(1_700_000_000_000) + 7*1e3 // the first slice's end, on no block's border
)

// journal stands for the journal with catalog and slicer behind it: what they hand over, step by step, and what a
// store must give back. Series 0 to 99 are numbers, from 100 on distributions.
type journal struct {
	steps []step
	all   map[string]map[int64]Handed // by the series' labels and the slice's end
}

type step struct {
	upTo uint64
	slice.Columns
}

func newJournal() *journal { return &journal{all: map[string]map[int64]Handed{}} }

func name(ref slice.Ref) string { return definition(ref).Series.Labels.String() }

func definition(ref slice.Ref) slice.Definition {
	kind, n := metric.KindGauge, "bullet_worker_heap_used_bytes"
	if ref >= 100 {
		kind, n = metric.KindDistribution, "bullet_filter_latency_seconds"
	}
	l := labels.FromStrings(model.MetricNameLabel, n, "topology", "bullet", "worker", fmt.Sprintf("host-%d:6700", ref))
	return slice.Definition{Ref: ref, Series: metric.Series{Labels: l, Kind: kind}, IntervalMs: width}
}

// steady is some series' numbers and one series' histograms for a time, a slice end a step.
func steady(series int, lengthMs int64) *journal {
	j := newJournal()
	for ms := start; ms < start+lengthMs; ms += width {
		j.step()
		for ref := range slice.Ref(series) {
			j.number(ref, ms, float64(ms)/float64(ref+3))
		}
		j.distribution(100, ms, growing((ms-start)/width))
	}
	return j
}

// growing is the i-th state of a cumulative histogram: its buckets fill, and new ones come at both ends.
func growing(i int64) *histogram.Histogram {
	h := &histogram.Histogram{
		Schema: 3, ZeroThreshold: 0.0005, ZeroCount: uint64(i),
		PositiveSpans: []histogram.Span{{Offset: int32(-(i % 97) / 8), Length: uint32(2 + i/50)}},
	}
	h.Count = h.ZeroCount
	previous := int64(0)
	for b := range int64(2 + i/50) {
		count := i*3 + b
		h.PositiveBuckets = append(h.PositiveBuckets, count-previous)
		h.Count += uint64(count)
		previous = count
	}
	h.Sum = float64(h.Count) * 0.004
	return h
}

// step begins the next hand-over.
func (j *journal) step() *journal {
	j.steps = append(j.steps, step{upTo: uint64(len(j.steps)+1) * 10})
	return j
}

func (j *journal) number(ref slice.Ref, endMs int64, v float64) *journal {
	c := &j.steps[len(j.steps)-1]
	c.Refs, c.EndsMs, c.Values = append(c.Refs, ref), append(c.EndsMs, endMs), append(c.Values, v)
	return j.note(ref, Handed{EndMs: endMs, Value: v})
}

func (j *journal) distribution(ref slice.Ref, endMs int64, v *histogram.Histogram) *journal {
	c := &j.steps[len(j.steps)-1]
	c.HistogramRefs, c.HistogramEndsMs, c.Histograms = append(c.HistogramRefs, ref), append(c.HistogramEndsMs, endMs),
		append(c.Histograms, v)
	return j.note(ref, Handed{EndMs: endMs, Distribution: true, Histogram: v})
}

func (j *journal) gap(ref slice.Ref, endMs int64) *journal {
	if ref >= 100 {
		return j.distribution(ref, endMs, nil)
	}
	return j.number(ref, endMs, math.Float64frombits(value.StaleNaN))
}

func (j *journal) note(ref slice.Ref, h Handed) *journal {
	h.Labels = definition(ref).Series.Labels
	if j.all[name(ref)] == nil {
		j.all[name(ref)] = map[int64]Handed{}
	}
	j.all[name(ref)][h.EndMs] = h
	return j
}

// handed is every slice once, in order of time.
func (j *journal) handed() (all []Handed) {
	for _, slices := range j.all {
		for _, h := range slices {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b Handed) int { return cmp.Compare(a.EndMs, b.EndMs) })
	return all
}

// until is the journal as it was after n steps; it shares what a store must give back in the end.
func (j *journal) until(n int) *journal { return &journal{steps: j.steps[:n], all: j.all} }

func (j *journal) end() uint64 { return j.steps[len(j.steps)-1].upTo }

// play hands over what closed from position from on, portion steps at a time, and tolerates no rejection.
func play(t require.TestingT, s Store, j *journal, from uint64, portion int) {
	hand(t, s, step{upTo: from, Columns: slice.Columns{Definitions: j.definitions()}})
	for rest := j.after(from); len(rest) > 0; {
		n := min(portion, len(rest))
		hand(t, s, join(rest[:n]))
		rest = rest[n:]
	}
}

func (j *journal) after(position uint64) []step {
	for i, s := range j.steps {
		if s.upTo > position {
			return j.steps[i:]
		}
	}
	return nil
}

// definitions are those of all series, as a feed repeats them after a restart.
func (j *journal) definitions() (all []slice.Definition) {
	seen := map[slice.Ref]bool{}
	for _, s := range j.steps {
		for _, ref := range slices.Concat(s.Refs, s.HistogramRefs) {
			if !seen[ref] {
				seen[ref] = true
				all = append(all, definition(ref))
			}
		}
	}
	return all
}

func join(steps []step) step {
	var all step
	for _, s := range steps {
		all.upTo = s.upTo
		all.Refs, all.EndsMs, all.Values = append(all.Refs, s.Refs...), append(all.EndsMs, s.EndsMs...),
			append(all.Values, s.Values...)
		all.HistogramRefs = append(all.HistogramRefs, s.HistogramRefs...)
		all.HistogramEndsMs = append(all.HistogramEndsMs, s.HistogramEndsMs...)
		all.Histograms = append(all.Histograms, s.Histograms...)
	}
	return all
}

func hand(t require.TestingT, s Store, each step) {
	rejected, err := s.Append(context.Background(), each.upTo, &each.Columns)
	require.NoError(t, err)
	require.Empty(t, rejected)
}
