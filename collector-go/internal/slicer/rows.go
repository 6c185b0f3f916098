package slicer

import "math/bits"

// An open slice holds the samples of a track's series on a grid: a row for each of the series' intervals, a cell for each slot. The
// first sample of a cell lies in it, whatever its offset within the row; what comes for a cell that is taken lies beside the grid and
// is brought into order of time when the slice closes. Where a sample lies changes nothing of what it becomes.

// strip is what a row holds of pageSlots adjacent slots.
type strip struct {
	page  *page  // nil where the row never held one of them
	taken uint32 // the slots of which a sample is there, a bit each
	by    uint32 // the origin of them all; or mixed
}

// page are the cells of a strip; those that are not taken have no meaning. There are no pointers in it, so that the garbage collector passes
// over what is open.
type page struct {
	values [pageSlots]float64
	by     [pageSlots]uint32 // 1 + the place of each origin among the bucket's, where they are mixed
}

// mixed says that a strip's samples have several origins.
const mixed = ^uint32(0)

// origin is that of a cell that is taken.
func (p *strip) origin(at uint32) uint32 {
	if p.by == mixed {
		return p.page.by[at%pageSlots]
	}
	return p.by
}

// take puts a sample into a cell that is not taken.
func (p *strip) take(at, by uint32, v float64) {
	p.page.values[at%pageSlots] = v
	switch {
	case p.taken == 0:
		p.by = by
	case p.by != by:
		p.mix()
		p.page.by[at%pageSlots] = by
	}
	p.taken |= 1 << (at % pageSlots)
}

// mix notes the origin of each cell.
func (p *strip) mix() {
	if p.by == mixed {
		return
	}
	for rest := p.taken; rest != 0; rest &= rest - 1 {
		p.page.by[bits.TrailingZeros32(rest)] = p.by
	}
	p.by = mixed
}

// pageSlots is few enough that a worker with a dozen series wastes little, and enough that a page's own cost is a small part of a
// sample's. A page is 384 bytes, which is one of the allocator's sizes.
const (
	pageSlots = 32
	pageBytes = 384

	stripBytes = 16
)

// maxRows bounds the rows of a slice; where a series' samples are closer, several share a row.
const maxRows = 4096

// origin is where a cell's sample came from, and its event time.
type origin struct {
	timeMs   int64
	sequence uint64
	producer uint32
}

// lookBack is how many of the newest origins are compared before another is added: a pack whose samples are sorted by series comes to
// each of its times once a series.
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
	}
	b.origins = append(b.origins, o)
	return uint32(len(b.origins))
}

// row is where a time lies in the slice that ends at endMs, to which it must belong.
func (t *track) row(endMs, timeMs int64) int { return int((timeMs - endMs + t.widthMs - 1) / t.rowMs) }

// columns is how many pages a row has.
func (t *track) columns() int { return (len(t.inputs) + pageSlots - 1) / pageSlots }

// strip is that of a row, with a page, which is made where it is not there. It is nil where there is no room for it.
func (s *Slicer) strip(t *track, b *bucket, column, row int) *strip {
	at := column*t.rows + row
	if at < len(b.strips) && b.strips[at].page != nil {
		return &b.strips[at]
	}
	charge := 1
	if at >= len(b.strips) {
		charge += ((column+1)*t.rows - len(b.strips)) * stripBytes / pageBytes
	}
	r := t.source.room
	if s.pages+charge > s.options.pages(s.options.MaxOpenSamples) || r.pages+charge > s.options.pages(s.options.MaxTopologyOpenSamples) {
		return nil
	}
	s.pages += charge
	r.pages += charge
	b.charged += charge
	if more := (column+1)*t.rows - len(b.strips); more > 0 {
		b.strips = append(b.strips, make([]strip, more)...)
	}
	b.strips[at].page = s.scratch.takePage()
	return &b.strips[at]
}

// pages is how many there may be: where they hold fewer than 16 samples each, further samples lie beside the grid. So what is open
// takes at most 24 bytes a sample in pages and 32 beside them.
func (o *Options) pages(samples int) int { return samples/16 + 64 }

// put keeps a sample in its bucket.
func (s *Slicer) put(t *track, b *bucket, x sample) {
	at := x.slot % pageSlots
	if p := s.strip(t, b, int(x.slot/pageSlots), t.row(b.endMs, x.timeMs)); p != nil && p.taken>>at&1 == 0 {
		p.take(at, b.origin(origin{x.timeMs, x.sequence, x.producer}), x.value)
		b.held++
		return
	}
	b.samples = append(b.samples, x)
}

// samplesOpen is how many samples a bucket holds.
func (b *bucket) samplesOpen() int { return b.held + len(b.samples) + len(b.histograms) }

// takeCells removes the samples of a slot from the grid and appends them to what is given, in order of their rows. A page that is empty
// then is given back.
func (s *Slicer) takeCells(t *track, b *bucket, slot uint32, to []sample) []sample {
	column, at := int(slot/pageSlots), slot%pageSlots
	for row := range t.rows {
		i := column*t.rows + row
		if i >= len(b.strips) || b.strips[i].taken>>at&1 == 0 {
			continue
		}
		p := &b.strips[i]
		w := &b.origins[p.origin(at)-1]
		to = append(to, sample{w.timeMs, p.page.values[at], w.sequence, slot, w.producer})
		p.taken &^= 1 << at
		b.held--
		if p.taken == 0 {
			s.release(t, b, 1)
			s.scratch.givePage(p.page)
			*p = strip{}
		}
	}
	return to
}

func (s *Slicer) release(t *track, b *bucket, pages int) {
	s.pages -= pages
	t.source.room.pages -= pages
	b.charged -= pages
}

// discard keeps a bucket whose cells are empty for use again. Its pages are given back so that they are taken again in the order in
// which ticks come, row by row, in which they mostly lie in memory.
func (s *Slicer) discard(t *track, b *bucket) {
	for row := t.rows - 1; row >= 0; row-- {
		for at := len(b.strips) - t.rows + row; at >= 0; at -= t.rows {
			if p := b.strips[at].page; p != nil {
				s.scratch.givePage(p)
			}
		}
	}
	s.release(t, b, b.charged)
	s.scratch.give(b)
}

// room is what one topology's open samples take, and what describes it.
type room struct {
	open  int // samples
	pages int
	infos []*info // as in topologies
}

func (s *Slicer) room(topology string) *room {
	r := s.rooms[topology]
	if r == nil {
		r = &room{infos: s.topologies[topology]}
		s.rooms[topology] = r
	}
	return r
}

// opened counts samples of a track that are open from now on, or, below 0, no longer.
func (s *Slicer) opened(t *track, samples int) {
	s.open += samples
	t.source.room.open += samples
}

// left is how many more samples of a topology may be open.
func (s *Slicer) left(r *room) int {
	return min(s.options.MaxOpenSamples-s.open, s.options.MaxTopologyOpenSamples-r.open)
}

// maxSparePages bounds the pages that are kept for use again, 48 MB.
const maxSparePages = 1 << 17

// slabPages are made together, 12 KB, so that neighbours in a row are neighbours in memory.
const slabPages = 32

func (c *scratch) takePage() *page {
	n := len(c.pages)
	if n == 0 {
		slab := new([slabPages]page)
		for i := range slab {
			c.pages = append(c.pages, &slab[slabPages-1-i])
		}
		n = slabPages
	}
	p := c.pages[n-1]
	c.pages = c.pages[:n-1]
	return p
}

// givePage keeps a page for use again.
func (c *scratch) givePage(p *page) {
	if len(c.pages) < maxSparePages {
		c.pages = append(c.pages, p)
	}
}

// shrink frees half of the pages that wait for use.
func (c *scratch) shrink() {
	half := len(c.pages) / 2
	clear(c.pages[half:])
	c.pages = c.pages[:half]
}
