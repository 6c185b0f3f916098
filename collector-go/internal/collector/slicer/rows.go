package slicer

import "math/bits"

// An open slice holds the samples of its series on a grid. The grid has a row for each interval of the series and a
// cell for each slot. The first sample of a cell is stored in it, whatever its offset within the row. Further samples
// of that cell are stored beside the grid and are sorted by time when the slice closes. Where a sample is stored does
// not affect the result.

// strip is the part of a row that holds pageSlots adjacent slots.
type strip struct {
	// by slot, as many as the page has; the values of slots that are not taken have no meaning; nil if there is no page
	values []float64
	taken  uint32 // bit set of the slots that have a sample
	// the number of the origin that all samples share, from 1; or, if origins differ, the flag mixed and an index into
	// bucket.mixed
	by uint32
}

// mixed flags that strip.by is an index into bucket.mixed.
const mixed = 1 << 31

// origins holds the origin numbers of a strip's samples, by slot.
type origins [pageSlots]uint32

// originOf returns the origin number of a cell that is taken.
func (b *bucket) originOf(p *strip, at uint32) uint32 {
	if p.by&mixed != 0 {
		return b.mixed[p.by&^mixed][at%pageSlots]
	}
	return p.by
}

// fill stores a sample in a cell that is not taken.
func (b *bucket) fill(p *strip, at, by uint32, v float64) {
	p.values[at] = v
	if p.taken == 0 {
		p.by = by
	} else if p.by != by {
		if p.by&mixed == 0 {
			var all origins
			for rest := p.taken; rest != 0; rest &= rest - 1 {
				all[bits.TrailingZeros32(rest)] = p.by
			}
			p.by = mixed | uint32(len(b.mixed))
			b.mixed = append(b.mixed, all)
		}
		b.mixed[p.by&^mixed][at%pageSlots] = by
	}
	p.taken |= 1 << (at % pageSlots)
}

// pageSlots is large enough that the overhead of a page is a small part of the cost of a sample. A worker with few
// series has smaller pages, so that its open samples are close together in memory. Pages contain no pointers, so that
// the garbage collector does not scan them. pageBytes is the most memory that a page takes, including the origins of
// its strip.
const (
	pageSlots  = 32
	pageBytes  = 384
	stripBytes = 32
)

// pageSizes are the possible numbers of slots of a page.
var pageSizes = [...]int{8, 16, pageSlots}

// pageSize returns the size of the pages of a column, as an index into pageSizes.
func (t *seriesState) pageSize(column int) int {
	switch n := len(t.inputs) - column*pageSlots; {
	case n <= pageSizes[0]:
		return 0
	case n <= pageSizes[1]:
		return 1
	}
	return 2
}

// maxRows bounds the rows of a slice. If the samples of a series are closer together, several share a row.
const maxRows = 4096

// origin is the event time of a sample and the batch that it came from.
type origin struct {
	timeMs   int64
	order    uint64 // batch.order
	producer uint32
}

// lookBack is how many of the newest origins are searched before another is added. In a pack that is sorted by series,
// each time occurs once per series.
const lookBack = 16

// origin returns the number of an origin, from 1. It adds the origin if it is not among the newest.
func (b *bucket) origin(o origin) uint32 {
	if n := len(b.origins); n > 0 && b.origins[n-1] == o {
		return uint32(n)
	}
	for i := len(b.origins) - 1; i >= max(0, len(b.origins)-lookBack); i-- {
		if b.origins[i] == o {
			return uint32(i + 1)
		}
		// this origin and those before it are of an earlier batch
		if b.origins[i].order != o.order || b.origins[i].producer != o.producer {
			break
		}
	}
	b.origins = append(b.origins, o)
	return uint32(len(b.origins))
}

// row returns the row of a time in the slice that ends at endMs. The time must be in that slice.
func (t *seriesState) row(endMs, timeMs int64) int {
	return int((timeMs - endMs + t.widthMs - 1) / t.rowMs)
}

// columns returns the number of pages in a row.
func (t *seriesState) columns() int { return (len(t.inputs) + pageSlots - 1) / pageSlots }

// strip returns the strip of a row and column, and creates its page if needed. It returns nil if the limit of pages is
// reached.
func (s *Slicer) strip(t *seriesState, b *bucket, column, row int) *strip {
	at := column*t.rows + row
	size := t.pageSize(column)
	if at < len(b.strips) {
		p := &b.strips[at]
		if len(p.values) >= pageSizes[size] {
			return p
		}
		if p.values != nil { // the series state has gained slots since
			before := p.values
			p.values = s.scratch.takePage(size)
			copy(p.values, before)
			s.scratch.givePage(before)
			return p
		}
	}
	charge := 1
	if at >= len(b.strips) {
		charge += ((column+1)*t.rows - len(b.strips)) * stripBytes / pageBytes
	}
	r := t.source.topology
	if s.pages+charge > s.options.pages(s.options.MaxOpenSamples) ||
		r.pages+charge > s.options.pages(s.options.MaxTopologyOpenSamples) {
		return nil
	}
	s.pages += charge
	r.pages += charge
	b.charged += charge
	if more := (column+1)*t.rows - len(b.strips); more > 0 {
		b.strips = append(b.strips, make([]strip, more)...)
	}
	b.strips[at].values = s.scratch.takePage(size)
	return &b.strips[at]
}

// pages returns the most pages that may exist for a limit of samples. If pages hold fewer than 16 samples each on
// average, further samples are stored beside the grid. An open sample therefore takes at most 24 bytes in pages and 32
// bytes beside them.
func (o *Options) pages(samples int) int { return samples/16 + 64 }

// put stores a sample in its bucket.
func (s *Slicer) put(t *seriesState, b *bucket, x sample) {
	t.newestMs = max(t.newestMs, x.timeMs)
	at := x.slot % pageSlots
	if p := s.strip(t, b, int(x.slot/pageSlots), t.row(b.endMs, x.timeMs)); p != nil && p.taken>>at&1 == 0 {
		b.fill(p, at, b.origin(origin{x.timeMs, x.order, x.producer}), x.value)
		b.held++
		return
	}
	b.samples = append(b.samples, x)
}

// samplesOpen returns the number of samples in a bucket.
func (b *bucket) samplesOpen() int { return b.held + len(b.samples) + len(b.histograms) }

// takeCells removes the samples of a slot from the grid and appends them to the given slice, in order of their rows. A
// page that becomes empty is freed.
func (s *Slicer) takeCells(t *seriesState, b *bucket, slot uint32, to []sample) []sample {
	column, at := int(slot/pageSlots), slot%pageSlots
	for row := range t.rows {
		i := column*t.rows + row
		if i >= len(b.strips) || b.strips[i].taken>>at&1 == 0 {
			continue
		}
		p := &b.strips[i]
		w := &b.origins[b.originOf(p, at)-1]
		to = append(to, sample{w.timeMs, p.values[at], w.order, slot, w.producer})
		p.taken &^= 1 << at
		b.held--
		if p.taken == 0 {
			s.release(t, b, 1)
			s.scratch.givePage(p.values)
			*p = strip{}
		}
	}
	return to
}

func (s *Slicer) release(t *seriesState, b *bucket, pages int) {
	s.pages -= pages
	t.source.topology.pages -= pages
	b.charged -= pages
}

// discard keeps an emptied bucket for reuse. It frees the pages in an order in which they are reused row by row, as
// ticks arrive. The pages of a row are then mostly adjacent in memory. That matters because adding and closing both
// access them in that order.
func (s *Slicer) discard(t *seriesState, b *bucket) {
	for row := t.rows - 1; row >= 0; row-- {
		for at := len(b.strips) - t.rows + row; at >= 0; at -= t.rows {
			if values := b.strips[at].values; values != nil {
				s.scratch.givePage(values)
			}
		}
	}
	s.release(t, b, b.charged)
	s.scratch.give(b)
}

// maxSpareValues bounds the pages that are kept for reuse, to 48 MB of each size.
const maxSpareValues = 6 << 20

// slabPages is how many pages are allocated together, so that neighbours in a row are neighbours in memory.
const slabPages = 32

// takePage returns a page. size is an index into pageSizes.
func (c *scratch) takePage(size int) []float64 {
	if len(c.pages[size]) == 0 {
		slots := pageSizes[size]
		slab := make([]float64, slabPages*slots)
		for i := slabPages - 1; i >= 0; i-- {
			c.pages[size] = append(c.pages[size], slab[i*slots:(i+1)*slots:(i+1)*slots])
		}
	}
	n := len(c.pages[size]) - 1
	p := c.pages[size][n]
	c.pages[size] = c.pages[size][:n]
	return p
}

// givePage keeps a page for reuse.
func (c *scratch) givePage(values []float64) {
	size := 0
	for pageSizes[size] < len(values) {
		size++
	}
	if len(c.pages[size])*len(values) < maxSpareValues {
		c.pages[size] = append(c.pages[size], values)
	}
}

// shrink frees half of the pages that are kept for reuse.
func (c *scratch) shrink() {
	for size, pages := range c.pages {
		half := len(pages) / 2
		clear(pages[half:])
		c.pages[size] = pages[:half]
	}
}
