package slicer

import (
	"cmp"
	"slices"
)

// closeTo closes the slices of a track that end at or before a time, and says whether there was something to do.
func (s *Slicer) closeTo(t *track, endMs int64) bool {
	if endMs <= t.closedTo {
		return false
	}
	finest := t == t.source.finest()
	n := 0
	for n < len(t.open) && t.open[n].endMs <= endMs {
		if finest { // what is behind is told before what is ahead is counted
			s.tellHealth(t.source, s.periodEnd(t.open[n].endMs-1))
		}
		s.closeBucket(t, t.open[n])
		n++
	}
	t.open = slices.Delete(t.open, 0, n)
	t.hot = nil
	t.closedTo = endMs
	s.markGaps(t)
	return true
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
			s.silent(in, in.out.lastEnd+miss)
			s.writeMarker(in.out, t.endAfter(in.out.lastEnd))
		}
	}
	if t == t.source.finest() {
		s.markInfoGaps(t)
	}
}
