package slicer

import (
	"cmp"
	"math"
	"slices"
)

// closeTo closes the slices of a series state that end at or before a time, and reports whether there were any.
func (s *Slicer) closeTo(t *seriesState, endMs int64) bool {
	if endMs <= t.closedTo {
		return false
	}
	finest := t == t.source.finest()
	n := 0
	for n < len(t.open) && t.open[n].endMs <= endMs {
		if finest { // write the periods that have passed before counting the samples of this slice
			s.writeHealth(t.source, s.periodEnd(t.open[n].endMs-1))
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

// closeBucket folds the samples of an open slice, series by series. They no longer count as open. Folding counts each
// of them as stored, late or refused.
func (s *Slicer) closeBucket(t *seriesState, b *bucket) {
	s.opened(t, -b.samplesOpen())
	s.foldSamples(t, b)
	s.foldReadings(t, b)
	if t == t.source.finest() {
		s.writeInfos(t, b.endMs)
	}
	s.discard(t, b)
}

// foldSamples folds the samples of each series in order of time, one page of slots after the other. The data of a page
// then stays in the processor's cache for all of its rows.
func (s *Slicer) foldSamples(t *seriesState, b *bucket) {
	beside := s.bySlot(t, b)
	t.dueMs = math.MaxInt64 // begin may lower it
	dueMs := t.dueMs
	for column := range t.columns() {
		rows := s.scratch.rows[:0]
		if first := column * t.rows; first < len(b.strips) {
			for _, p := range b.strips[first : first+t.rows] {
				if p.taken != 0 {
					rows = append(rows, p)
				}
			}
		}
		s.scratch.rows = rows
		first := column * pageSlots
		inputs := t.inputs[first:min(first+pageSlots, len(t.inputs))]
		uniform := s.uniform(b, rows, len(inputs))
		if uniform && beside == nil {
			dueMs = min(dueMs, s.foldTogether(t, inputs, t.slots[first:first+len(inputs)], rows, b.endMs))
			continue
		}
		for at, in := range inputs {
			if in == nil {
				continue
			}
			var extra []sample
			if beside != nil {
				extra = beside.of(first + at)
			}
			switch {
			case len(extra) > 0:
				s.foldMixed(in, b, rows, at, extra)
			case uniform:
				s.scratch.column.take(rows, at)
				s.fold(in, &s.scratch.column, b.endMs)
			case s.scratch.column.read(b, rows, at):
				s.fold(in, &s.scratch.column, b.endMs)
			}
			if o := in.out; o.live && o.owner == in {
				dueMs = min(dueMs, o.lastEnd+t.missMs)
			}
		}
	}
	t.dueMs = min(t.dueMs, dueMs)
}

// foldTogether folds adjacent series whose samples have the same times, which are in scratch.column. It returns the
// earliest time at which one of these series needs a marker.
//
// This is the common case, since one tick brings all series of a worker. For a gauge that continues without a gap
// (inOrder) it reads only the slot, and neither the input nor the output. All other series go through fold.
func (s *Slicer) foldTogether(t *seriesState, inputs []*input, slots []slot, rows []strip, endMs int64) int64 {
	c := &s.scratch.column
	m := &s.scratch.means
	if len(rows) > 1 {
		m.take(rows, len(slots))
	}
	dueMs := int64(math.MaxInt64)
	to := &s.closed
	slicesBefore, n := len(to.Refs), 0
	for at := range slots {
		x := &slots[at]
		if !x.inOrder(t, endMs, c) {
			if in := inputs[at]; in != nil {
				slicesBefore += s.foldBetween(in, rows, at, endMs)
				if o := in.out; o.live && o.owner == in {
					dueMs = min(dueMs, o.lastEnd+t.missMs)
				}
			}
			continue
		}
		x.follow(s.clockMs, endMs, c)
		n++
		dueMs = min(dueMs, endMs+t.missMs)
		if len(rows) == 1 && !x.spread {
			to.Refs, to.EndsMs, to.Values = append(to.Refs, x.ref), append(to.EndsMs, endMs),
				append(to.Values, rows[0].values[at])
			continue
		}
		mean, least, greatest := m.of(rows, at%pageSlots)
		to.Refs, to.EndsMs, to.Values = append(to.Refs, x.ref), append(to.EndsMs, endMs), append(to.Values, mean)
		if x.spread {
			to.Refs, to.EndsMs, to.Values = append(to.Refs, x.ref+1, x.ref+2), append(to.EndsMs, endMs, endMs),
				append(to.Values, least, greatest)
		}
	}
	s.counts.InSlices += uint64(n * len(rows))
	s.counts.Slices += uint64(len(to.Refs) - slicesBefore)
	return dueMs
}

// foldBetween calls fold for one series. It returns how many values fold appended, which fold has already counted.
func (s *Slicer) foldBetween(in *input, rows []strip, at int, endMs int64) int {
	before := len(s.closed.Refs)
	s.scratch.column.take(rows, at)
	s.fold(in, &s.scratch.column, endMs)
	return len(s.closed.Refs) - before
}

// means holds the sum, the least and the greatest value of each slot of one page. Rows are added for all slots at once,
// so that each row is read once.
type means struct{ sums, least, greatest [pageSlots]float64 }

// take adds the rows one after the other. The values of each slot are therefore added in order of time.
func (m *means) take(rows []strip, slots int) {
	first := rows[0].values
	m.sums = [pageSlots]float64{}
	sums, least, greatest := m.sums[:slots], m.least[:slots], m.greatest[:slots]
	for at, v := range first[:slots] {
		sums[at], least[at], greatest[at] = 0+v, v, v
	}
	for _, p := range rows[1:] {
		for at, v := range p.values[:slots] {
			sums[at] += v
			least[at] = min(least[at], v)
			greatest[at] = max(greatest[at], v)
		}
	}
}

// of returns the values that foldGauge computes for a slot.
func (m *means) of(rows []strip, at int) (mean, least, greatest float64) {
	if len(rows) == 1 {
		v := rows[0].values[at]
		return v, v, v
	}
	least, greatest = m.least[at], m.greatest[at]
	return min(max(m.sums[at]/float64(len(rows)), least), greatest), least, greatest
}

// slotted holds the samples that lie beside the grid, sorted by slot. They arrive in any order, and searching for the
// samples of each slot would need one pass per slot.
type slotted struct {
	ends   []int // index after each slot's last sample
	sorted []sample
}

func (x *slotted) of(slot int) []sample {
	if slot == 0 {
		return x.sorted[:x.ends[0]]
	}
	return x.sorted[x.ends[slot-1]:x.ends[slot]]
}

// bySlot sorts the samples beside the grid by slot. It uses a counting sort, which keeps the order of arrival within a
// slot. It returns nil if there are none.
func (s *Slicer) bySlot(t *seriesState, b *bucket) *slotted {
	if len(b.samples) == 0 {
		return nil
	}
	x := &s.scratch.beside
	x.ends = append(x.ends[:0], make([]int, len(t.inputs)+1)...)
	for i := range b.samples {
		x.ends[b.samples[i].slot+1]++
	}
	for slot := range t.inputs {
		x.ends[slot+1] += x.ends[slot]
	}
	if cap(x.sorted) > maxSpareSamples {
		x.sorted = nil
	}
	x.sorted = slices.Grow(x.sorted[:0], len(b.samples))[:len(b.samples)]
	for i := range b.samples {
		at := &x.ends[b.samples[i].slot]
		x.sorted[*at] = b.samples[i]
		*at++
	}
	return x
}

// uniform stores the times of the rows in scratch.column and reports whether they hold for all of the given slots. They
// hold if each cell of the rows is taken and the cells of a row have one origin. This is the usual case, because a tick
// or a pack contains all series of a worker.
func (s *Slicer) uniform(b *bucket, rows []strip, slots int) bool {
	if len(rows) == 0 {
		return false
	}
	c := &s.scratch.column
	c.begin()
	all := ^uint32(0) >> (pageSlots - slots)
	for i := range rows {
		if rows[i].taken != all || rows[i].by&mixed != 0 {
			return false
		}
		c.add(&b.origins[rows[i].by-1])
	}
	c.measure()
	return true
}

// foldMixed folds a series that has some samples beside the grid.
func (s *Slicer) foldMixed(in *input, b *bucket, rows []strip, at int, extra []sample) {
	all := s.scratch.merged[:0]
	for i := range rows {
		if p := &rows[i]; p.taken>>at&1 != 0 {
			w := &b.origins[b.originOf(p, uint32(at))-1]
			all = append(all, sample{w.timeMs, p.values[at], w.order, in.slot, w.producer})
		}
	}
	all = append(all, extra...)
	inTime(all)
	c := &s.scratch.mixed
	c.begin()
	c.samples = c.samples[:0]
	for _, x := range s.once(in, all) {
		c.add(&origin{x.timeMs, x.order, x.producer})
		c.samples = append(c.samples, x.value)
	}
	c.measure()
	s.fold(in, c, b.endMs)
	s.scratch.merged = all[:0]
	if cap(all) > maxSpareSamples {
		s.scratch.merged = nil
	}
}

// inTime sorts the samples of one series by time, producer and sequence. A slice therefore does not depend on the order
// in which batches arrived. Samples of one batch keep their order.
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
	return cmp.Compare(a.order, b.order)
}

// foldReadings is the counterpart of foldSamples for distributions. There are few of them, so it is not optimised.
func (s *Slicer) foldReadings(t *seriesState, b *bucket) {
	if len(b.histograms) == 0 {
		return
	}
	slices.SortStableFunc(b.histograms, func(x, y reading) int {
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.timeMs, y.timeMs),
			cmp.Compare(x.producer, y.producer), cmp.Compare(x.order, y.order))
	})
	for first := 0; first < len(b.histograms); {
		last := first
		for last < len(b.histograms) && b.histograms[last].slot == b.histograms[first].slot {
			last++
		}
		s.foldDistribution(t.inputs[b.histograms[first].slot], b.histograms[first:last], b.endMs)
		t.dueMs = min(t.dueMs, b.endMs+t.missMs)
		first = last
	}
}

// markGaps writes the markers of the series that missed two of their intervals before the watermark. It scans the
// series only if the watermark has reached dueMs.
func (s *Slicer) markGaps(t *seriesState) {
	if t.closedTo >= t.dueMs {
		t.dueMs = math.MaxInt64
		for _, in := range t.inputs {
			if in == nil || in.out.owner != in || !in.out.live {
				continue
			}
			dueMs := in.out.lastEnd + t.missMs
			if dueMs > t.closedTo {
				t.dueMs = min(t.dueMs, dueMs)
				continue
			}
			s.silent(in, dueMs)
			s.writeMarker(in.out, t.endAfter(in.out.lastEnd))
		}
	}
	if t == t.source.finest() {
		s.markInfoGaps(t)
	}
}
