package slicer

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// AddBlock adds the samples of a block. The result is the same as calling Add for each cell, but AddBlock looks up the
// target of each column only once per layout. values holds the values of the cells that are present, in cell order.
// AddBlock keeps neither the block nor the values.
//
// missing is called for each series that is not defined, with the number of its samples. It either defines the series
// and returns true, or counts the samples and returns false.
//
// If the layout is unknown, AddBlock returns false and counts nothing. The same applies if its number of series differs
// from the number of columns in the block.
func (s *Slicer) AddBlock(layout uint32, b *block.Block, values []float64,
	missing func(id uint32, samples int) bool) bool {
	l := s.layouts[layout]
	if l == nil || len(l.series) != b.Columns {
		return false
	}
	s.batch.inBlock = 1
	defer func() { s.batch.inBlock = 0 }()
	if b.Presence != nil {
		values = s.scratch.spread(b, values)
	}
	s.resolve(l)
	taken := s.defineMissing(l, b, missing)
	if !taken || !s.fits(l, len(values)) {
		for column, in := range l.inputs {
			s.addColumn(l, b, values, column, in)
		}
		return true
	}
	for _, column := range l.apart {
		s.addColumn(l, b, values, int(column), l.inputs[column])
	}
	group, first := 0, 0
	for _, run := range l.states {
		s.addRun(l, run.state, l.groups[group:run.end], first, b, values)
		group, first = run.end, l.groups[run.end-1].end
	}
	return true
}

// spread puts each value at the index of its cell. Cells that are absent become NaN and are never read.
func (c *scratch) spread(b *block.Block, values []float64) []float64 {
	dense := c.dense[:0]
	for cell := range b.Cells() {
		if !b.Present(cell) {
			dense = append(dense, math.NaN())
			continue
		}
		dense = append(dense, values[0])
		values = values[1:]
	}
	c.dense = dense
	return dense
}

// defineMissing calls missing for the series that are not defined. A definition can replace another series of the
// layout, and that series is then missing too. The loop therefore runs until each column's series is defined or its
// samples are counted. It returns false if a series became defined after its samples had been counted.
func (s *Slicer) defineMissing(l *layout, b *block.Block, missing func(id uint32, samples int) bool) bool {
	if len(l.missing) == 0 && !l.counting {
		return true
	}
	clear(l.counted)
	l.counting = len(l.missing) > 0
	for again := true; again; s.resolve(l) {
		again = false
		for _, column := range l.missing {
			id := l.series[column]
			if l.counted[column] || s.inputs.get(id) != nil {
				continue
			}
			samples := 0
			for row := range b.Rows {
				if b.Present(int(column)*b.Rows + row) {
					samples++
				}
			}
			again = true
			l.counted[column] = samples == 0 || !missing(id, samples) || s.inputs.get(id) == nil
		}
	}
	for column, counted := range l.counted {
		if counted && l.inputs[column] != nil {
			return false
		}
	}
	return true
}

// fits reports whether all samples of the block fit into the limits of open samples. If they do not, AddBlock adds the
// samples one by one, so that each of them is checked against the limits.
func (s *Slicer) fits(l *layout, cells int) bool {
	for _, r := range l.topologies {
		if s.left(r) < cells {
			return false
		}
	}
	return true
}

// addColumn adds the samples of one column one by one. This slow path is for series that need a decision per sample.
func (s *Slicer) addColumn(l *layout, b *block.Block, values []float64, column int, in *input) {
	if in == nil || l.counted[column] {
		return
	}
	for row := range b.Rows {
		if at := column*b.Rows + row; b.Present(at) {
			s.add(in, b.TimeMs(row), values[at])
		}
	}
}

// place is the position of a row of a block in a series state.
type place struct {
	timeMs int64
	endMs  int64 // of its slice; 0 if its time is invalid
	row    int
	bucket *bucket // nil if the row is late or its time is invalid
	by     uint32
	heard  int // samples that were stored or late
}

// addRun adds the columns of one series state; their cells begin at index first. fillAll fills an empty strip in one
// loop. All other cells are checked one by one.
func (s *Slicer) addRun(l *layout, t *seriesState, groups []cellGroup, first int, b *block.Block, values []float64) {
	places := s.places(t, b)
	opened := 0
	for i := range groups {
		g := &groups[i]
		cells := l.cells[first:g.end]
		first = g.end
		for row := range places {
			p := &places[row]
			var to *strip
			if p.bucket != nil {
				to = s.strip(t, p.bucket, g.page, p.row)
			}
			if to == nil {
				for i := range cells {
					s.addApart(l, t, &cells[i], p, b, values, row)
				}
				continue
			}
			again := t.notOlder(g.page, p)
			if to.taken == 0 && again == 0 && to.fillAll(g, values[g.column*b.Rows+row:], b.Rows, p.by) {
				p.bucket.held += len(cells)
				p.heard += len(cells)
				opened += len(cells)
				continue
			}
			held := 0
			rest := values[row:]
			for i := range cells {
				c := &cells[i]
				v, at := rest[int(c.column)*b.Rows], c.at%pageSlots
				if !(v >= c.least && v <= c.most) || (to.taken|again)>>at&1 != 0 {
					s.addApart(l, t, c, p, b, values, row)
					continue
				}
				p.bucket.fill(to, at, p.by, v)
				held++
			}
			p.bucket.held += held
			p.heard += held
			opened += held
		}
	}
	s.opened(t, opened)
	emptied := false
	for row := range places {
		p := &places[row]
		if p.heard > 0 {
			t.newestMs = max(t.newestMs, p.timeMs)
			s.touch(t.source, p.timeMs)
		}
		emptied = emptied || p.bucket != nil && p.bucket.samplesOpen() == 0
		p.bucket = nil
	}
	if emptied {
		s.dropEmpty(t)
	}
}

// fillAll writes a sample into each cell of a group whose cells are all empty. It requires that the group's columns and
// slots are adjacent and that each value is valid for every cell. Otherwise it returns false, and the strip counts as
// unchanged because taken is not set. Consecutive values are step elements apart.
func (p *strip) fillAll(g *cellGroup, values []float64, step int, by uint32) bool {
	if g.adjacent == 0 {
		return false
	}
	cells := p.values[g.at:][:g.adjacent]
	least, most := g.least, g.most
	if step == 1 {
		for i, v := range values[:len(cells)] {
			if !(v >= least && v <= most) {
				return false
			}
			cells[i] = v
		}
	} else {
		for i := range cells {
			v := values[i*step]
			if !(v >= least && v <= most) {
				return false
			}
			cells[i] = v
		}
	}
	p.taken, p.by = g.taken, by
	return true
}

// places returns the position of each row of a block. It creates the buckets that do not exist yet.
func (s *Slicer) places(t *seriesState, b *block.Block) []place {
	places := s.scratch.places[:0]
	for row := range b.Rows {
		p := place{timeMs: b.TimeMs(row)}
		if p.timeMs > 0 && p.timeMs <= maxTimeMs {
			p.endMs = t.endOf(p.timeMs)
			p.row = t.row(p.endMs, p.timeMs)
			if p.endMs > t.closedTo {
				p.bucket = s.bucket(t, p.endMs)
				p.by = p.bucket.origin(s.batch.origin(p.timeMs))
			}
		}
		places = append(places, p)
	}
	s.scratch.places = places
	return places
}

// addApart adds a sample that fillAll and the fast path of addRun do not handle. Its value may be absent or invalid,
// its slice closed, its cell taken, or a newer sample of its series may exist.
func (s *Slicer) addApart(l *layout, t *seriesState, c *cell, p *place, b *block.Block, values []float64, row int) {
	at := int(c.column)*b.Rows + row
	if !b.Present(at) {
		return
	}
	in, v := l.inputs[c.column], values[at]
	if !(v >= c.least && v <= c.most) || p.timeMs <= 0 || p.timeMs > maxTimeMs {
		s.nonsense(in, v)
		return
	}
	o := s.batch.origin(p.timeMs)
	switch reason, reachedMs := t.repeated(in.slot, o); {
	case reason != "":
		s.refuseAt(in, o.timeMs, reachedMs, reason)
	case p.bucket == nil:
		s.tooLate(in, o.timeMs)
	default:
		p.bucket.samples = append(p.bucket.samples, sample{o.timeMs, v, o.order, in.slot, o.producer})
		s.opened(t, 1)
	}
	p.heard++
}

// dropEmpty removes the open slices that received no sample.
func (s *Slicer) dropEmpty(t *seriesState) {
	kept := t.open[:0]
	for _, b := range t.open {
		if b.samplesOpen() > 0 {
			kept = append(kept, b)
		} else {
			s.discard(t, b)
		}
	}
	clear(t.open[len(kept):])
	t.open, t.hot = kept, nil
}
