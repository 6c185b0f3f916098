package slicer

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
)

// track is the series of one source that close together: those of one width, interval and pack span.
type track struct {
	source     *source
	widthMs    int64
	intervalMs int64
	packMs     int64
	inputs     []*input  // by slot; nil where a slot is free
	free       []uint32  // free slots, ascending
	open       []*bucket // by end; each holds a sample
	hot        *bucket   // the one that was last added to
	closedTo   int64     // end of the newest slice that is closed
}

// bucket holds the samples of an open slice of all series of a track.
type bucket struct {
	endMs      int64
	samples    []sample
	histograms []reading
}

// sample is one value of the series in a slot. It stays raw until its slice closes, since only then its place in time is known.
type sample struct {
	timeMs   int64
	value    float64
	sequence uint64
	slot     uint32
	producer uint32
}

// reading is one state of a distribution.
type reading struct {
	timeMs    int64
	sequence  uint64
	slot      uint32
	producer  uint32
	histogram *histogram.Histogram
	negatives uint64
}

// scratch is memory that closing uses again.
type scratch struct {
	starts  []int
	sorted  []sample
	buckets []*bucket
}

// maxSpareBuckets bounds the emptied buckets that are kept for use again, and maxSpareSamples what each may hold on to.
const (
	maxSpareBuckets = 256
	maxSpareSamples = 1 << 14
)

func (t *track) endOf(timeMs int64) int64 {
	return (timeMs + t.widthMs - 1) / t.widthMs * t.widthMs
}

// endAfter is the first slice end that lies behind a time.
func (t *track) endAfter(timeMs int64) int64 { return t.endOf(timeMs + 1) }

// lastEndBefore is the newest slice end that lies before a time.
func (t *track) lastEndBefore(timeMs int64) int64 {
	if timeMs <= 0 {
		return 0
	}
	return (timeMs - 1) / t.widthMs * t.widthMs
}

// missMs is how much time without a sample makes a series miss two of its intervals, in whole slices: samples that come once
// a slice may well leave one empty and put two into the next.
func (t *track) missMs() int64 {
	return (2*t.intervalMs + t.widthMs - 1) / t.widthMs * t.widthMs
}

// track finds or makes the track for a rule.
func (s *Slicer) track(src *source, widthMs, intervalMs, packMs int64) *track {
	for _, t := range src.tracks {
		if t.widthMs == widthMs && t.intervalMs == intervalMs && t.packMs == packMs {
			return t
		}
	}
	t := &track{source: src, widthMs: widthMs, intervalMs: intervalMs, packMs: packMs}
	if src.eventMs != never {
		t.closedTo = t.lastEndBefore(src.eventMs - s.options.LatenessMs - packMs)
	}
	src.tracks = append(src.tracks, t)
	return t
}

// enter gives an input its slot.
func (t *track) enter(in *input) {
	in.track = t
	if len(t.free) > 0 {
		in.slot = t.free[0]
		t.free = t.free[1:]
		t.inputs[in.slot] = in
		return
	}
	in.slot = uint32(len(t.inputs))
	t.inputs = append(t.inputs, in)
}

// leave frees a slot that no open sample uses.
func (t *track) leave(in *input) {
	t.inputs[in.slot] = nil
	at, _ := slices.BinarySearch(t.free, in.slot)
	t.free = slices.Insert(t.free, at, in.slot)
}

// bucket finds or makes the open slice that ends at a time.
func (s *Slicer) bucket(t *track, endMs int64) *bucket {
	if t.hot != nil && t.hot.endMs == endMs {
		return t.hot
	}
	at, found := slices.BinarySearchFunc(t.open, endMs, func(b *bucket, end int64) int { return cmp.Compare(b.endMs, end) })
	if !found {
		t.open = slices.Insert(t.open, at, s.scratch.take(endMs))
	}
	t.hot = t.open[at]
	return t.hot
}

func (c *scratch) take(endMs int64) *bucket {
	n := len(c.buckets)
	if n == 0 {
		return &bucket{endMs: endMs}
	}
	b := c.buckets[n-1]
	c.buckets = c.buckets[:n-1]
	b.endMs = endMs
	return b
}

func (c *scratch) give(b *bucket) {
	if len(c.buckets) >= maxSpareBuckets || cap(b.samples) > maxSpareSamples {
		return
	}
	b.samples = b.samples[:0]
	clear(b.histograms)
	b.histograms = b.histograms[:0]
	c.buckets = append(c.buckets, b)
}

// closeTo closes the slices of a track that end at or before a time.
func (s *Slicer) closeTo(t *track, endMs int64) {
	if endMs <= t.closedTo {
		return
	}
	n := 0
	for n < len(t.open) && t.open[n].endMs <= endMs {
		s.closeBucket(t, t.open[n])
		n++
	}
	t.open = slices.Delete(t.open, 0, n)
	t.hot = nil
	t.closedTo = endMs
	s.markGaps(t)
}

// closeBucket folds what an open slice holds, series by series.
func (s *Slicer) closeBucket(t *track, b *bucket) {
	s.open -= len(b.samples) + len(b.histograms)
	s.foldSamples(t, b)
	s.foldReadings(t, b)
	if t == t.source.finest() {
		s.writeInfos(t, b.endMs)
	}
	s.scratch.give(b)
}

// foldSamples brings the samples of each series together by counting, which keeps the order of arrival within a series, and
// puts each series' samples into order of time.
func (s *Slicer) foldSamples(t *track, b *bucket) {
	starts := append(s.scratch.starts[:0], make([]int, len(t.inputs)+1)...)
	for i := range b.samples {
		starts[b.samples[i].slot+1]++
	}
	for slot := range t.inputs {
		starts[slot+1] += starts[slot]
	}
	sorted := slices.Grow(s.scratch.sorted[:0], len(b.samples))[:len(b.samples)]
	for i := range b.samples {
		at := &starts[b.samples[i].slot]
		sorted[*at] = b.samples[i]
		*at++
	}
	first := 0
	for slot, in := range t.inputs {
		if last := starts[slot]; last > first {
			inTime(sorted[first:last])
			s.fold(in, sorted[first:last], b.endMs)
			first = last
		}
	}
	s.scratch.starts, s.scratch.sorted = starts, sorted
	if cap(sorted) > maxSpareSamples {
		s.scratch.sorted = nil
	}
}

// inTime sorts the samples of one series by (time, producer, sequence); those of one batch keep their order.
func inTime(samples []sample) {
	if !slices.IsSortedFunc(samples, compareSamples) {
		slices.SortStableFunc(samples, compareSamples)
	}
}

func compareSamples(a, b sample) int {
	if c := cmp.Compare(a.timeMs, b.timeMs); c != 0 {
		return c
	}
	if c := cmp.Compare(a.producer, b.producer); c != 0 {
		return c
	}
	return cmp.Compare(a.sequence, b.sequence)
}

// foldReadings is foldSamples for distributions, of which there are few.
func (s *Slicer) foldReadings(t *track, b *bucket) {
	if len(b.histograms) == 0 {
		return
	}
	slices.SortStableFunc(b.histograms, func(x, y reading) int {
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.timeMs, y.timeMs),
			cmp.Compare(x.producer, y.producer), cmp.Compare(x.sequence, y.sequence))
	})
	for first := 0; first < len(b.histograms); {
		last := first
		for last < len(b.histograms) && b.histograms[last].slot == b.histograms[first].slot {
			last++
		}
		s.foldDistribution(t.inputs[b.histograms[first].slot], b.histograms[first:last], b.endMs)
		first = last
	}
}

// markGaps writes the markers of the series that missed two of their intervals behind the watermark.
func (s *Slicer) markGaps(t *track) {
	miss := t.missMs()
	for _, in := range t.inputs {
		if in != nil && in.out.owner == in && in.out.live && in.out.lastEnd+miss <= t.closedTo {
			s.writeMarker(in.out, t.endAfter(in.out.lastEnd))
		}
	}
	if t == t.source.finest() {
		s.markInfoGaps(t)
	}
}
