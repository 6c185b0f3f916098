package slicer

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// layout is an ordered list of series whose samples arrive as blocks. It caches the target of each column. If one of
// its series is defined or forgotten, the change counts of the pages differ and the targets are looked up again.
//
// A layout of the plugin contains the series of one source, which is one task of one worker. The protocol also allows
// series of several workers in one layout.
type layout struct {
	series []uint32

	pages      []uint32 // the pages of inputs that contain the series
	changes    uint64   // sum of the changes of these pages at the last lookup; 0 before the first
	inputs     []*input // by column; nil if the series is not defined
	missing    []uint32 // columns whose series is not defined
	counted    []bool   // by column that is missing in this block: whether its samples were counted
	counting   bool     // whether counted contains true
	states     []stateRun
	groups     []cellGroup
	cells      []cell
	topologies []*topologyState // of the series states
	apart      []uint32         // columns whose samples are added one by one
}

// stateRun is a series state and the end of its groups in the layout. Its groups begin at the end of the run before it.
type stateRun struct {
	state *seriesState
	end   int
}

// cellGroup holds the columns whose slots are on one page. A row of a block then accesses each strip once.
type cellGroup struct {
	page int
	end  int // of its cells

	// If each cell's slot and column is one more than those of the cell before:
	adjacent    int // the number of cells; otherwise 0
	column      int // the first column
	at          uint32
	taken       uint32  // the slots as a bit set
	least, most float64 // the range of values that all cells accept
}

// cell is the position of a column on a page, and the range of its values.
type cell struct {
	least, most float64
	column      uint32
	at          uint32 // on the page
}

// DefineLayout defines an ordered list of series for AddBlock, and copies it. An id may be assigned to another list
// later. Layouts are not part of a snapshot, because the journal defines them again for every reader.
func (s *Slicer) DefineLayout(id uint32, series []uint32) {
	if old := s.layouts[id]; old != nil && slices.Equal(old.series, series) {
		return
	}
	l := &layout{series: slices.Clone(series)}
	for _, id := range series {
		if page := id / pageSize; !slices.Contains(l.pages, page) {
			l.pages = append(l.pages, page)
		}
	}
	s.ForgetLayout(id)
	s.layouts[id] = l
}

// ForgetLayout removes a layout. It does nothing if the layout is unknown.
func (s *Slicer) ForgetLayout(id uint32) {
	delete(s.layouts, id)
}

// changesOf returns the number of changes of the given pages so far, plus 1.
func (x *inputs) changesOf(pages []uint32) uint64 {
	n := uint64(1)
	for _, page := range pages {
		if int(page) < len(x.changes) {
			n += x.changes[page]
		}
	}
	return n
}

// resolve looks up the targets of a layout's columns, unless the cached ones are still valid.
func (s *Slicer) resolve(l *layout) {
	changes := s.inputs.changesOf(l.pages)
	if changes == l.changes {
		return
	}
	l.changes = changes
	l.inputs = slices.Grow(l.inputs[:0], len(l.series))[:len(l.series)]
	l.counted = slices.Grow(l.counted[:0], len(l.series))[:len(l.series)]
	l.apart, l.missing = l.apart[:0], l.missing[:0]
	byState := make(map[*seriesState][]uint32)
	var states []*seriesState
	for column, id := range l.series {
		in := s.inputs.get(id)
		l.inputs[column] = in
		switch {
		case in == nil:
			l.missing = append(l.missing, uint32(column))
		case in.refused != "" || in.kind == metric.KindDistribution || in.folding == foldStart:
			l.apart = append(l.apart, uint32(column))
		default:
			if byState[in.state] == nil {
				states = append(states, in.state)
			}
			byState[in.state] = append(byState[in.state], uint32(column))
		}
	}
	l.states, l.groups, l.cells, l.topologies = l.states[:0], l.groups[:0], l.cells[:0], l.topologies[:0]
	for _, t := range states {
		l.addState(t, byState[t])
		if r := t.source.topology; !slices.Contains(l.topologies, r) {
			l.topologies = append(l.topologies, r)
		}
	}
}

// addState sorts the columns of a series state by their slots, so that a block is written page by page.
func (l *layout) addState(t *seriesState, columns []uint32) {
	slices.SortStableFunc(columns, func(a, b uint32) int { return cmp.Compare(l.inputs[a].slot, l.inputs[b].slot) })
	last := -1
	for _, column := range columns {
		in := l.inputs[column]
		if page := int(in.slot / pageSlots); page != last {
			l.groups = append(l.groups, cellGroup{page: page})
			last = page
		}
		l.cells = append(l.cells, cell{least: in.rule.Least, most: in.rule.Most, column: column,
			at: in.slot % pageSlots})
		l.groups[len(l.groups)-1].end = len(l.cells)
	}
	first, begin := 0, 0
	if n := len(l.states); n > 0 {
		begin = l.states[n-1].end
		first = l.groups[begin-1].end
	}
	for i := begin; i < len(l.groups); i++ {
		l.groups[i].join(l.cells[first:l.groups[i].end])
		first = l.groups[i].end
	}
	l.states = append(l.states, stateRun{state: t, end: len(l.groups)})
}

// join sets the fields of a group that apply if its cells are adjacent.
func (g *cellGroup) join(cells []cell) {
	g.adjacent, g.column, g.at, g.taken = 0, int(cells[0].column), cells[0].at, 0
	g.least, g.most = cells[0].least, cells[0].most
	for i := range cells {
		c := &cells[i]
		if int(c.column) != g.column+i || c.at != g.at+uint32(i) {
			return
		}
		g.taken |= 1 << c.at
		g.least, g.most = max(g.least, c.least), min(g.most, c.most)
	}
	g.adjacent = len(cells)
}
