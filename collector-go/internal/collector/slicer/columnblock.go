package slicer

import "math"

// columnBlock is an open slice of a group, held by column: each of its rows is a row of a block, and a column is one
// series of one worker. Keeping the rows as they arrived makes folding a loop over long arrays.
type columnBlock struct {
	endMs  int64
	rows   []columnBlockRow // in order of arrival
	placed []int32          // by row of the slice: 1 + its place in rows; 0 where there is none

	folded                 bool
	means, least, greatest []float64 // by column, once it is folded
	memory                 [3][]float64
}

// columnBlockRow are the values of one time, by column.
type columnBlockRow struct {
	origin origin
	row    int // of the slice
	values []float64
}

// columnsTogether is how many columns are folded at once, so that what is added to stays in the processor's nearest
// cache.
const columnsTogether = 512

// fold makes the means, leasts and greatests of all columns, as foldGauge makes them of each. The rows stay as they
// are. perUnit is by column; nil where none is divided.
func (x *columnBlock) fold(columns int, perUnit []float64) {
	if x.folded {
		return
	}
	x.folded = true
	if len(x.rows) == 1 && perUnit == nil {
		only := x.rows[0].values
		x.means, x.least, x.greatest = only, only, only
		return
	}
	for i := range x.memory {
		x.memory[i] = grown(x.memory[i], columns)
	}
	x.means, x.least, x.greatest = x.memory[0], x.memory[1], x.memory[2]
	for first := 0; first < columns; first += columnsTogether {
		end := min(first+columnsTogether, columns)
		if perUnit == nil {
			x.foldWhole(first, end)
		} else {
			x.foldColumns(first, end, perUnit)
		}
	}
}

// foldColumns folds some columns whose values are divided; those of each are added in the order of time.
func (x *columnBlock) foldColumns(first, end int, perUnit []float64) {
	means, least, greatest := x.means[first:end], x.least[first:end], x.greatest[first:end]
	var divided [columnsTogether]float64
	begun := false
	for values := range x.inTime {
		values = values[first:end]
		for i, v := range values {
			divided[i] = v / perUnit[first+i]
		}
		values = divided[:len(values)]
		if !begun {
			begun = true
			copy(least, values)
			copy(greatest, values)
			for i, v := range values {
				means[i] = 0 + v
			}
			continue
		}
		for i, v := range values {
			means[i] += v
			least[i] = min(least[i], v)
			greatest[i] = max(greatest[i], v)
		}
	}
	n := float64(len(x.rows))
	for i, sum := range means {
		means[i] = min(max(sum/n, least[i]), greatest[i])
	}
}

// inTime yields the rows in the order of time.
func (x *columnBlock) inTime(yield func(values []float64) bool) {
	for _, place := range x.placed {
		if place != 0 && !yield(x.rows[place-1].values) {
			return
		}
	}
}

func grown(values []float64, n int) []float64 {
	if cap(values) < n {
		return make([]float64, n)
	}
	return values[:n]
}

// column blocks are those of a group, with what is used again.
type columnBlocks struct {
	open      []*columnBlock // by end
	spare     []*columnBlock
	spareRows [][]float64
}

// of is the open column block that ends at a time; nil where there is none.
func (x *columnBlocks) of(endMs int64) *columnBlock {
	for i := len(x.open) - 1; i >= 0; i-- {
		if x.open[i].endMs == endMs {
			return x.open[i]
		}
	}
	return nil
}

// add makes a row; the caller fills its values. The column block is made where it is not there.
func (x *columnBlocks) add(endMs int64, row, rows, columns int, by origin) []float64 {
	s := x.of(endMs)
	if s == nil {
		s = &columnBlock{}
		if n := len(x.spare); n > 0 {
			s, x.spare = x.spare[n-1], x.spare[:n-1]
		}
		s.endMs = endMs
		if cap(s.placed) < rows {
			s.placed = make([]int32, rows)
		}
		s.placed = s.placed[:rows]
		at := len(x.open)
		for at > 0 && x.open[at-1].endMs > endMs {
			at--
		}
		x.open = append(x.open, nil)
		copy(x.open[at+1:], x.open[at:])
		x.open[at] = s
	}
	var values []float64
	if n := len(x.spareRows); n > 0 {
		values, x.spareRows = x.spareRows[n-1], x.spareRows[:n-1]
	} else {
		values = make([]float64, columns)
	}
	s.rows = append(s.rows, columnBlockRow{by, row, values})
	s.placed[row] = int32(len(s.rows))
	return values
}

// has reports whether a row is taken.
func (x *columnBlocks) has(endMs int64, row int) bool {
	s := x.of(endMs)
	return s != nil && s.placed[row] != 0
}

// repeats reports whether a row has a time that its producer had reached before (see repeated.go).
func (x *columnBlocks) repeats(t *track, o origin) bool {
	found := beside{track: t, origin: o}
	endMs := t.endOf(o.timeMs)
	for i := len(x.open) - 1; i >= 0 && x.open[i].endMs >= endMs; i-- {
		for _, r := range x.open[i].rows {
			found.look(r.origin)
		}
	}
	return found.reason() != ""
}

// closeTo drops the column blocks that end at or before a time, and returns how many rows they had.
func (x *columnBlocks) closeTo(endMs int64) (rows int) {
	n := 0
	for n < len(x.open) && x.open[n].endMs <= endMs {
		s := x.open[n]
		rows += len(s.rows)
		for _, r := range s.rows {
			x.spareRows = append(x.spareRows, r.values)
		}
		clear(s.rows)
		clear(s.placed)
		s.rows, s.folded = s.rows[:0], false
		x.spare = append(x.spare, s)
		n++
	}
	x.open = append(x.open[:0], x.open[n:]...)
	return rows
}

// isMarker reports whether a value ends a series.
func isMarker(v float64) bool { return math.Float64bits(v) == math.Float64bits(staleNaN) }
