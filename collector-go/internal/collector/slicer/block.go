package slicer

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// AddBlock adds the samples of a block. It gives the same result as Add for each cell, but looks up once per layout
// where the cells go. values holds the numbers of the cells that are present, in the order of the cells. AddBlock keeps
// neither the block nor the values.
//
// missing is called for each series that is not defined, with the number of its samples. It either defines the series
// and returns true, or counts the samples and returns false. AddBlock returns false and counts nothing if the layout is
// unknown or has another number of series than the block has columns.
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
	s.scratch.placed = placed{}
	group, first := 0, 0
	for i, run := range l.states {
		if i%warmTogether == 0 {
			s.scratch.warm(l.states[i:min(i+warmTogether, len(l.states))])
		}
		s.addRun(l, run.state, l.groups[group:run.end], first, b, values)
		group, first = run.end, l.groups[run.end-1].end
	}
	return true
}

// warmTogether is how many series states are read ahead. It matters only for blocks with samples of many workers.
const warmTogether = 16

// warm reads what adding reads of each series state, so that the processor fetches many at a time from memory where it
// would else wait for each. The sum has no meaning, but it cannot be left out.
func (c *scratch) warm(runs []stateRun) {
	var hot [warmTogether]*bucket
	var sum int64
	for i := range runs {
		t := runs[i].state
		hot[i] = t.hot
		sum += t.source.eventMs
	}
	for _, b := range hot[:len(runs)] {
		if b != nil {
			sum += b.endMs
			if n := len(b.origins); n > 0 {
				sum += b.origins[n-1].timeMs
			}
			if n := len(b.strips); n > 0 {
				sum += int64(b.strips[min(len(b.origins), n-1)].taken) // mostly a row has one origin
			}
		}
	}
	c.warmed += sum
}

// spread puts values where their cells are; the others, which are no numbers, are never looked at.
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

// defineMissing calls missing for the series that are not defined. What it defines may take the place of others of the
// layout, of which it is called then: so it goes on until each column's series is defined or its samples are counted.
// It returns false where samples were counted of a series that was defined after that.
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

// fits reports whether the whole block fits into the limits of open samples, whatever its samples are counted as. If it
// does not, AddBlock adds the samples one by one, so that each of them is checked against the limits.
func (s *Slicer) fits(l *layout, cells int) bool {
	for _, r := range l.topologies {
		if s.left(r) < cells {
			return false
		}
	}
	return true
}

// addColumn adds the samples of one column one by one. It is the slow way, for series that need a decision per sample.
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

// place is where a row of a block goes in a series state.
type place struct {
	timeMs int64
	endMs  int64 // of its slice; 0 where its time makes no sense
	row    int
	bucket *bucket // nil where the row is late or its time makes no sense
	by     uint32
	heard  int // samples that were of use, or late
}

// placed says for which width and row length the scratch places were computed. Series states with the same two values
// share them within a block.
type placed struct{ widthMs, rowMs int64 }

// addRun adds the columns of one series state; their cells begin at first. A strip that is empty is filled in one loop
// (fillAll). All other cells are looked at one by one.
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

// fillAll puts a sample into each of a group's cells, of which none is taken, where the group's columns are adjacent as
// their slots are and each value is valid for every cell. Otherwise it returns false and changes nothing. The values
// are step apart.
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

// places finds or makes the buckets of a block's rows.
func (s *Slicer) places(t *seriesState, b *block.Block) []place {
	if now := (placed{t.widthMs, t.rowMs}); s.scratch.placed != now {
		s.scratch.placed = now
		s.scratch.places = s.scratch.places[:0]
		for row := range b.Rows {
			p := place{timeMs: b.TimeMs(row)}
			if p.timeMs > 0 && p.timeMs <= maxTimeMs {
				p.endMs = t.endOf(p.timeMs)
				p.row = t.row(p.endMs, p.timeMs)
			}
			s.scratch.places = append(s.scratch.places, p)
		}
	}
	places := s.scratch.places
	for row := range places {
		p := &places[row]
		p.heard = 0
		if p.endMs > t.closedTo && p.endMs != 0 {
			p.bucket = s.bucket(t, p.endMs)
			p.by = p.bucket.origin(s.batch.origin(p.timeMs))
		}
	}
	return places
}

// addApart takes a sample that does not go into an empty cell: it is not there, or of no use, or late, or its cell is
// taken, or there is a newer one of its series.
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

// dropEmpty removes the open slices that got no sample after all.
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
