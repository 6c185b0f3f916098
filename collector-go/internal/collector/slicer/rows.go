package slicer

import "math/bits"

// An open slice holds the samples of its series on a grid: a row for each of the series' intervals, a
// cell for each slot. The first sample of a cell lies in it, whatever its offset within the row; what comes for a cell
// that is taken lies beside the grid and is brought into order of time when the slice closes. Where a sample lies
// changes nothing of what it becomes.

// strip is what a row holds of pageSlots adjacent slots.
type strip struct {
	// by slot: as many as a page of these slots has; those that are not taken have no meaning. nil where there is no
	// page
	values []float64
	taken  uint32 // the slots of which a sample is there, a bit each
	// their origin: 1 + its place among the bucket's; where they have several, mixed and the place of these among the
	// bucket's
	by uint32
}

// mixed marks the place of a strip's origins.
const mixed = 1 << 31

// origins are those of a strip's samples, by slot.
type origins [pageSlots]uint32

// originOf is the origin of a cell that is taken.
func (b *bucket) originOf(p *strip, at uint32) uint32 {
	if p.by&mixed != 0 {
		return b.mixed[p.by&^mixed][at%pageSlots]
	}
	return p.by
}

// fill puts a sample into a cell that is not taken.
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

// pageSlots is enough that a page's own cost is a small part of a sample's. A worker with few series has smaller pages,
// so that what is open of it lies together. There are no pointers in them, so that the garbage collector passes over
// what is open. pageBytes is the most that a page takes, its strip's origins included.
const (
	pageSlots  = 32
	pageBytes  = 384
	stripBytes = 32
)

// pageSizes are how many slots a page may have.
var pageSizes = [...]int{8, 16, pageSlots}

// pageSize is that of the pages of pageSlots adjacent slots, by its place among pageSizes.
func (t *seriesState) pageSize(column int) int {
	switch n := len(t.inputs) - column*pageSlots; {
	case n <= pageSizes[0]:
		return 0
	case n <= pageSizes[1]:
		return 1
	}
	return 2
}

// maxRows bounds the rows of a slice; where a series' samples are closer, several share a row.
const maxRows = 4096

// origin is where a cell's sample came from, and its event time.
type origin struct {
	timeMs   int64
	order    uint64 // batch.order
	producer uint32
}

// lookBack is how many of the newest origins are compared before another is added: a pack whose samples are sorted by
// series comes to each of its times once a series.
const lookBack = 16

// origin is the number of an origin, which is added where it is not among the newest.
func (b *bucket) origin(o origin) uint32 {
	if n := len(b.origins); n > 0 && b.origins[n-1] == o {
		return uint32(n)
	}
	for i := len(b.origins) - 1; i >= max(0, len(b.origins)-lookBack); i-- {
		if b.origins[i] == o {
			return uint32(i + 1)
		}
		// of an earlier batch, as those before it
		if b.origins[i].order != o.order || b.origins[i].producer != o.producer {
			break
		}
	}
	b.origins = append(b.origins, o)
	return uint32(len(b.origins))
}

// row is where a time lies in the slice that ends at endMs, to which it must belong.
func (t *seriesState) row(endMs, timeMs int64) int {
	return int((timeMs - endMs + t.widthMs - 1) / t.rowMs)
}

// columns is how many pages a row has.
func (t *seriesState) columns() int { return (len(t.inputs) + pageSlots - 1) / pageSlots }

// strip is that of a row, with a page, which is made where it is not there. It is nil where there is no room for it.
func (s *Slicer) strip(t *seriesState, b *bucket, column, row int) *strip {
	at := column*t.rows + row
	size := t.pageSize(column)
	if at < len(b.strips) {
		p := &b.strips[at]
		if len(p.values) >= pageSizes[size] {
			return p
		}
		if p.values != nil { // the series state has got more slots since
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

// pages is how many there may be: where they hold fewer than 16 samples each, further samples lie beside the grid. So
// what is open takes at most 24 bytes a sample in pages and 32 beside them.
func (o *Options) pages(samples int) int { return samples/16 + 64 }

// put keeps a sample in its bucket.
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

// samplesOpen is how many samples a bucket holds.
func (b *bucket) samplesOpen() int { return b.held + len(b.samples) + len(b.histograms) }

// takeCells removes the samples of a slot from the grid and appends them to what is given, in order of their rows. A
// page that is empty then is given back.
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

// discard keeps a bucket whose cells are empty for later use. Its pages go back so that they are taken again in the
// order in which ticks come, row by row. Pages of one row then mostly lie next to each other in memory, which matters
// because adding and closing both read them in that order.
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

// maxSpareValues bounds the pages that are kept for use again, 48 MB of each size.
const maxSpareValues = 6 << 20

// slabPages are made together, so that neighbours in a row are neighbours in memory.
const slabPages = 32

// takePage is a page of one of pageSizes.
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

// givePage keeps a page for use again.
func (c *scratch) givePage(values []float64) {
	size := 0
	for pageSizes[size] < len(values) {
		size++
	}
	if len(c.pages[size])*len(values) < maxSpareValues {
		c.pages[size] = append(c.pages[size], values)
	}
}

// shrink frees half of the pages that wait for use.
func (c *scratch) shrink() {
	for size, pages := range c.pages {
		half := len(pages) / 2
		clear(pages[half:])
		c.pages[size] = pages[:half]
	}
}
