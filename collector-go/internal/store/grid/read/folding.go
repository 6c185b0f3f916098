package read

import (
	"math"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// folding walks the slices of one series of which a query takes the least or the greatest number of windows and nothing else. Numbers that
// are in the same windows become one, at the end of the last of them; distributions come as they are, and a gap's markers, which the engine
// leaves out of windows, do not come. What the engine finds in a window is what it would find among all numbers, to the bit.
type folding struct {
	iterator
	kept chunkenc.ValueType // the present slice's kind; a distribution is where the iterator stands
	atMs int64
	best float64
}

// Next goes to the next number or distribution.
func (f *folding) Next() chunkenc.ValueType {
	if !f.read {
		return f.fold(f.iterator.Next())
	}
	if f.kept == chunkenc.ValHistogram {
		return f.fold(f.iterator.Next())
	}
	return f.fold(f.kind) // the iterator stands behind what was folded
}

// Seek goes to the first number or distribution that is not before ms; it stays where it is if that is so already.
func (f *folding) Seek(ms milliseconds) chunkenc.ValueType {
	if f.read && (f.kept == chunkenc.ValNone || f.atMs >= ms) {
		return f.kept
	}
	fromMs := ms
	if edgeMs := f.series.windows.EdgeBefore(ms); edgeMs < ms {
		fromMs = edgeMs + 1 // of what is folded with the slice at ms nothing may be missing
	}
	if f.kept == chunkenc.ValHistogram && f.iterator.at.atMs >= fromMs {
		f.Next()
	} else {
		f.fold(f.iterator.Seek(fromMs))
	}
	for f.kept != chunkenc.ValNone && f.atMs < ms {
		f.Next()
	}
	return f.kept
}

// fold takes the numbers from where the iterator stands up to the next edge of a window.
func (f *folding) fold(kind chunkenc.ValueType) chunkenc.ValueType {
	f.kept = chunkenc.ValNone
	edgeMs := int64(math.MinInt64)
	for kind == chunkenc.ValFloat {
		ms, v := f.iterator.At()
		if ms > edgeMs {
			if f.kept != chunkenc.ValNone {
				return f.kept
			}
			edgeMs = f.series.windows.EdgeFrom(ms)
		}
		f.take(ms, v)
		if f.alone >= 0 {
			f.takeAlone(edgeMs)
		}
		kind = f.iterator.Next()
	}
	if f.kept == chunkenc.ValNone && kind != chunkenc.ValNone {
		f.kept, f.atMs = kind, f.iterator.AtT()
	}
	return f.kept
}

// takeAlone takes what follows in the run in which the iterator stands, up to an edge, while no other run has slices and no place is empty.
func (f *folding) takeAlone(edgeMs int64) {
	c := &f.open[0]
	if c.Present != nil {
		return
	}
	last := f.alone
	if away := (edgeMs - c.FirstMs) / c.StepMs; away < int64(last) {
		last = int(away)
	}
	if last <= c.place {
		return
	}
	ms := c.FirstMs + int64(c.place)*c.StepMs
	for _, v := range c.Values[c.place+1 : last+1] {
		ms += c.StepMs
		f.take(ms, v)
	}
	c.place, c.atMs = last, ms
	f.at.place, f.at.atMs = last, ms
}

// take makes v the present number if it is the first, or less or greater as min_over_time and max_over_time see it.
func (f *folding) take(ms int64, v float64) {
	if value.IsStaleNaN(v) {
		return
	}
	f.atMs = ms
	if f.kept == chunkenc.ValNone {
		f.kept, f.best = chunkenc.ValFloat, v
		return
	}
	more := v < f.best
	if f.series.windows.Greatest {
		more = v > f.best
	}
	if more || math.IsNaN(f.best) {
		f.best = v
	}
}

// At is the present number.
func (f *folding) At() (int64, float64) { return f.atMs, f.best }

// AtT is the end of the present number's last slice, or of the present distribution.
func (f *folding) AtT() int64 { return f.atMs }
