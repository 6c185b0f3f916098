package read

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// outline holds the first and the last number of each level window, over a span whose numbers never fall. There, the
// least number of a window is the first and the greatest is the last. A rate needs no others (decision 15).
type outline struct {
	levelMs     int64
	firstEndMs  int64 // end of the first window
	first, last []float64
}

// outlined finds sources whose windows can be computed without their slices. For counts the times of the slices
// suffice. For rates of rising numbers the first and the last number of level windows suffice, if no edge of the
// query's windows cuts off more than one slice. These sources are read as spans, and skipped when slices are read.
func (c *computing) outlined() {
	w := c.series.wanted
	of := &w.windows
	rate := of.Function == plan.Rate || of.Function == plan.Increase
	if w.noSlices || !rate && of.Function != plan.CountOverTime || w.minMs != of.FirstMs-of.RangeMs+1 ||
		w.maxMs != of.LastMs {
		return
	}
	for i, found := range c.series.found {
		reader, has := found.Reader.(run.LevelReader)
		if !has {
			continue
		}
		e, err := reader.Extent(found.Ref)
		if err != nil || e.StepMs == 0 || e.LastMs < w.minMs || e.FirstMs > w.maxMs {
			continue
		}
		s := span{firstMs: e.FirstMs, stepMs: e.StepMs, places: int((e.LastMs-e.FirstMs)/e.StepMs) + 1}
		if rate {
			if s.outline = outlineOf(reader, found.Ref, e, of); s.outline == nil {
				continue
			}
			if c.err = c.series.plan.ReadSamples(2 * len(s.outline.first)); c.err != nil {
				return
			}
		}
		c.windows.spans = append(c.windows.spans, s)
		c.skip = append(c.skip, make([]bool, i+1-len(c.skip))...)
		c.skip[i] = true
	}
}

// inOrder sorts spans by time; false where some overlap. Then two sources have slices of the same time, and only an
// iterator can decide between them.
func (w *windows) inOrder() bool {
	slices.SortFunc(w.spans, func(a, b span) int { return cmp.Compare(a.firstMs, b.firstMs) })
	for i := 1; i < len(w.spans); i++ {
		if w.spans[i].firstMs <= w.spans[i-1].lastMs() {
			return false
		}
	}
	return true
}

// outlineOf reads the coarsest level that the query's windows fit. It returns nil where none does or where it cannot be
// read: then the slices are read. A level must cover the series without a break, which the number of its windows shows.
func outlineOf(reader run.LevelReader, ref uint32, e run.Extent, of *plan.Windows) *outline {
	if !e.Rises || e.FinestMs == 0 {
		return nil
	}
	for _, levelMs := range run.LevelsMs {
		if levelMs < e.FinestMs || !fits(of, e, levelMs) {
			continue
		}
		fromMs, toMs := floorTo(e.FirstMs-1, levelMs), ceilTo(e.LastMs, levelMs)
		first, err := reader.Extremes(ref, levelMs, false, fromMs, toMs)
		if err != nil {
			return nil
		}
		last, err := reader.Extremes(ref, levelMs, true, fromMs, toMs)
		if err != nil || len(first.Values) != int((toMs-fromMs)/levelMs) || len(first.Values) != len(last.Values) {
			return nil
		}
		return &outline{levelMs, first.FirstMs, first.Values, last.Values}
	}
	return nil
}

// fits reports whether of each window the first and the last slice are the first or the last of one of a level's.
func fits(of *plan.Windows, e run.Extent, levelMs int64) bool {
	if levelMs%e.StepMs != 0 || of.FirstMs%levelMs != 0 || of.FirstMs < of.LastMs && of.StepMs%levelMs != 0 {
		return false
	}
	// The windows end with the level's. They begin so much before one ends, and the newest slice of that one is so far
	// before its end.
	beforeMs, newestMs := of.RangeMs%levelMs, ceilTo(e.FirstMs, e.StepMs)-e.FirstMs
	return newestMs+e.StepMs >= beforeMs
}

// at is the number at a place of a span of so many, which is the first or the last of a window, or of the span.
func (o *outline) at(s *span, place int) float64 {
	ms := s.firstMs + int64(place)*s.stepMs
	endMs := ceilTo(ms, o.levelMs)
	window := (endMs - o.firstEndMs) / o.levelMs
	if place == 0 || ms-s.stepMs <= endMs-o.levelMs {
		return o.first[window]
	}
	return o.last[window]
}
