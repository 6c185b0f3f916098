package slicer

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
)

// seriesState holds the series of one source that close together: those with the same width, interval and pack span.
// Each series has a slot in it. Samples are stored by series state and not by series. Closing a slice then reads memory
// in order and checks the watermark once for all series.
type seriesState struct {
	source     *source
	widthMs    int64
	intervalMs int64
	packMs     int64
	rows       int       // of a slice
	rowMs      int64     // how much time a row covers
	missMs     int64     // time without samples before a marker: two intervals, in whole slices
	inputs     []*input  // by slot; nil if a slot is free
	slots      []slot    // by slot
	free       []uint32  // free slots, ascending
	open       []*bucket // by end; each holds at least one sample
	hot        *bucket   // the bucket to which a sample was last added
	closedTo   int64     // end of the newest closed slice
	newestMs   int64     // upper bound of the times of open samples
	dueMs      int64     // no series needs a marker before the series state is closed up to this time
}

// newSeriesState returns a series state with the values that follow from its times. Samples that arrive once per slice
// may leave one slice empty and put two into the next. The time to a marker is therefore rounded up to whole slices.
func newSeriesState(src *source, widthMs, intervalMs, packMs int64) *seriesState {
	t := &seriesState{source: src, widthMs: widthMs, intervalMs: intervalMs, packMs: packMs}
	t.rowMs = max(intervalMs, (widthMs+maxRows-1)/maxRows)
	t.rows = int((widthMs + t.rowMs - 1) / t.rowMs)
	t.missMs = (2*intervalMs + widthMs - 1) / widthMs * widthMs
	return t
}

// bucket holds the samples of one open slice, for all series of a series state. The usual case is one sample per slot
// and row. It is stored in the strips, which form a grid of values. Samples whose cell is not free are stored in the
// field samples instead.
type bucket struct {
	endMs      int64
	strips     []strip // strip p of row r is strips[p*rows+r]
	held       int     // samples in them
	charged    int     // pages charged to this bucket, including the memory of the strips
	origins    []origin
	mixed      []origins // of the strips whose samples have several origins
	samples    []sample  // beside the grid
	histograms []reading
}

// sample is one value of the series in a slot. A value stays raw until its slice closes, because only then its position
// in the order of time is known.
type sample struct {
	timeMs   int64
	value    float64
	order    uint64 // batch.order
	slot     uint32
	producer uint32
}

// reading is one state of a distribution. The histogram is stored as it arrived and must not be changed, because other
// feeds read the same journal entry.
type reading struct {
	timeMs    int64
	order     uint64 // batch.order
	slot      uint32
	producer  uint32
	histogram *histogram.Histogram
	negatives uint64
}

// scratch is memory that is reused from one operation to the next, to avoid allocations.
type scratch struct {
	beside  slotted
	means   means
	merged  []sample
	mixed   column
	rows    []strip
	column  column
	places  []place
	dense   []float64
	buckets []*bucket
	pages   [len(pageSizes)][][]float64 // free pages by size
}

// maxSpareBuckets bounds the emptied buckets that are kept for reuse, and maxSpareSamples the capacity that each may
// keep.
const (
	maxSpareBuckets = 1 << 13
	maxSpareSamples = 1 << 14
)

func (t *seriesState) endOf(timeMs int64) int64 {
	return (timeMs + t.widthMs - 1) / t.widthMs * t.widthMs
}

// endAfter returns the first slice end after a time.
func (t *seriesState) endAfter(timeMs int64) int64 { return t.endOf(timeMs + 1) }

// lastEndBefore returns the newest slice end before a time, or 0 if there is none.
func (t *seriesState) lastEndBefore(timeMs int64) int64 {
	if timeMs <= 0 {
		return 0
	}
	return (timeMs - 1) / t.widthMs * t.widthMs
}

// seriesState returns the series state for a width, an interval and a pack span. It creates one if there is none.
func (s *Slicer) seriesState(src *source, widthMs, intervalMs, packMs int64) *seriesState {
	for _, t := range src.states {
		if t.widthMs == widthMs && t.intervalMs == intervalMs && t.packMs == packMs {
			return t
		}
	}
	t := newSeriesState(src, widthMs, intervalMs, packMs)
	if src.eventMs != never {
		t.closedTo = t.lastEndBefore(src.eventMs - s.options.LatenessMs - packMs)
	}
	src.states = append(src.states, t)
	src.closeMs = 0
	return t
}

// holds reports whether a time lies in the slice of a bucket.
func (t *seriesState) holds(b *bucket, timeMs int64) bool {
	return timeMs <= b.endMs && timeMs > b.endMs-t.widthMs
}

// enter assigns a slot to an input.
func (t *seriesState) enter(in *input) {
	in.state = t
	t.dueMs = 0
	if len(t.free) > 0 {
		in.slot = t.free[0]
		t.free = t.free[1:]
		t.inputs[in.slot] = in
	} else {
		in.slot = uint32(len(t.inputs))
		t.inputs = append(t.inputs, in)
	}
	t.seat(in)
}

// leave frees the slot of an input. No open sample may use it.
func (t *seriesState) leave(in *input) {
	t.inputs[in.slot] = nil
	t.slots[in.slot].seated = false
	at, _ := slices.BinarySearch(t.free, in.slot)
	t.free = slices.Insert(t.free, at, in.slot)
}

// bucket returns the open slice that ends at a time. It creates one if there is none.
func (s *Slicer) bucket(t *seriesState, endMs int64) *bucket {
	if t.hot != nil && t.hot.endMs == endMs {
		return t.hot
	}
	at, found := slices.BinarySearchFunc(t.open, endMs, func(b *bucket, end int64) int {
		return cmp.Compare(b.endMs, end)
	})
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
	clear(b.strips)
	b.strips, b.held, b.charged, b.origins, b.mixed = b.strips[:0], 0, 0, b.origins[:0], b.mixed[:0]
	if len(c.buckets) >= maxSpareBuckets || cap(b.samples)+cap(b.origins)+4*cap(b.mixed) > maxSpareSamples {
		return
	}
	b.samples = b.samples[:0]
	clear(b.histograms)
	b.histograms = b.histograms[:0]
	c.buckets = append(c.buckets, b)
}

// takeOut removes the open samples of a slot and returns them.
func (s *Slicer) takeOut(t *seriesState, slot uint32) (samples []sample, readings []reading) {
	kept := t.open[:0]
	for _, b := range t.open {
		samples = s.takeCells(t, b, slot, samples)
		b.samples = takeIf(b.samples, &samples, func(x *sample) bool { return x.slot == slot })
		b.histograms = takeIf(b.histograms, &readings, func(x *reading) bool { return x.slot == slot })
		if b.samplesOpen() > 0 {
			kept = append(kept, b)
		} else {
			s.discard(t, b)
		}
	}
	clear(t.open[len(kept):])
	t.open, t.hot = kept, nil
	return samples, readings
}

// takeIf moves the elements for which chosen returns true to the end of another slice. Both keep their order.
func takeIf[T any](from []T, to *[]T, chosen func(*T) bool) []T {
	kept := from[:0]
	for i := range from {
		if chosen(&from[i]) {
			*to = append(*to, from[i])
		} else {
			kept = append(kept, from[i])
		}
	}
	return kept
}

// realign moves each series whose slice width differs between the snapshot and the present options to the series state
// of its new width. Its open samples move too, or count as late if their new slice is already closed. Without this a
// changed width would apply only to series that are new.
func (s *Slicer) realign() {
	for _, src := range s.sources {
		for _, t := range src.states {
			for _, in := range t.inputs {
				if in == nil || in.out.owner != in {
					continue
				}
				if width := s.options.width(in.rule.Series.Name(), in.rule.IntervalMs); width != t.widthMs {
					s.move(in, width)
				}
			}
		}
	}
}

// move gives a series a place in the series state of another width, with its open samples. Another width is another
// series for the stores, so the output gets new refs (own).
func (s *Slicer) move(in *input, widthMs int64) {
	old := in.state
	interval := intervalIn(widthMs, in.rule.IntervalMs)
	samples, readings := s.takeOut(old, in.slot)
	old.leave(in)
	s.own(in.out, in, widthMs, interval)
	s.seriesState(old.source, widthMs, interval, old.packMs).enter(in)
	for _, x := range samples {
		if b := s.replace(in, x.timeMs); b != nil {
			x.slot = in.slot
			s.put(in.state, b, x)
		}
	}
	for _, x := range readings {
		if b := s.replace(in, x.timeMs); b != nil {
			x.slot = in.slot
			in.state.newestMs = max(in.state.newestMs, x.timeMs)
			b.histograms = append(b.histograms, x)
		}
	}
}

// replace returns the bucket for a sample that was open before. Unlike place, it skips the checks that the sample
// passed when it arrived. A sample whose new slice is closed counts as late, so that the accounting still balances.
func (s *Slicer) replace(in *input, timeMs int64) *bucket {
	end := in.state.endOf(timeMs)
	if end <= in.state.closedTo || end <= in.out.lastEnd {
		s.opened(in.state, -1)
		s.late(in, 1)
		return nil
	}
	return s.bucket(in.state, end)
}
