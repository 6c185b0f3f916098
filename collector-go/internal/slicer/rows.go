package slicer

// An open slice holds the samples of a track's series on a grid: a row for each of the series' intervals, a cell for each slot. The
// first sample of a cell lies in it, whatever its offset within the row; what comes for a cell that is taken lies beside the grid and
// is brought into order of time when the slice closes. Where a sample lies changes nothing of what it becomes.

// page is a row's cells of pageSlots adjacent slots. There are no pointers in it, so that the garbage collector passes over what is open.
type page struct {
	by     [pageSlots]uint32 // 0: the cell is empty; else 1 + the place of its origin among the bucket's
	values [pageSlots]float64
}

// taken are the cells that hold a sample, a bit each; none where there is no page.
func (p *page) taken() (cells uint32) {
	if p == nil {
		return 0
	}
	for at, by := range p.by {
		if by != 0 {
			cells |= 1 << at
		}
	}
	return cells
}

// pageSlots is few enough that a worker with a dozen series wastes little, and enough that a page's own cost is a small part of a
// sample's. A page is 384 bytes, which is one of the allocator's sizes.
const (
	pageSlots = 32
	pageBytes = 384
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

// page is that of a row, which is made where it is not there. It is nil where there is no room for it.
func (s *Slicer) page(t *track, b *bucket, column, row int) *page {
	at := column*t.rows + row
	if at < len(b.pages) && b.pages[at] != nil {
		return b.pages[at]
	}
	charge := 1
	if at >= len(b.pages) {
		charge += ((column+1)*t.rows - len(b.pages)) * 8 / pageBytes
	}
	r := t.source.room
	if s.pages+charge > s.options.pages(s.options.MaxOpenSamples) || r.pages+charge > s.options.pages(s.options.MaxTopologyOpenSamples) {
		return nil
	}
	s.pages += charge
	r.pages += charge
	b.charged += charge
	for at >= len(b.pages) {
		b.pages = append(b.pages, nil)
	}
	if rest := (column+1)*t.rows - len(b.pages); rest > 0 {
		b.pages = append(b.pages, make([]*page, rest)...)
	}
	b.pages[at] = s.scratch.takePage()
	return b.pages[at]
}

// pages is how many there may be: where they hold fewer than 16 samples each, further samples lie beside the grid. So what is open
// takes at most 24 bytes a sample in pages and 32 beside them.
func (o *Options) pages(samples int) int { return samples/16 + 64 }

// put keeps a sample in its bucket.
func (s *Slicer) put(t *track, b *bucket, x sample) {
	at := x.slot % pageSlots
	if p := s.page(t, b, int(x.slot/pageSlots), t.row(b.endMs, x.timeMs)); p != nil && p.by[at] == 0 {
		p.by[at], p.values[at] = b.origin(origin{x.timeMs, x.sequence, x.producer}), x.value
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
		if i >= len(b.pages) || b.pages[i] == nil || b.pages[i].by[at] == 0 {
			continue
		}
		p := b.pages[i]
		w := &b.origins[p.by[at]-1]
		to = append(to, sample{w.timeMs, p.values[at], w.sequence, slot, w.producer})
		p.by[at] = 0
		b.held--
		if p.by == [pageSlots]uint32{} {
			b.pages[i] = nil
			s.release(t, b, 1)
			s.scratch.givePage(p)
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
		for at := len(b.pages) - t.rows + row; at >= 0; at -= t.rows {
			if p := b.pages[at]; p != nil {
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

// givePage keeps an empty page for use again.
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
