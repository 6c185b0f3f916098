package read

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// outline holds the first and last number of each level window, for a span whose numbers never fall. In such a span,
// the least number of a window is its first and the greatest is its last. A rate needs no other numbers (decision 15).
type outline struct {
	levelMs     int64
	firstEndMs  int64 // end of the first window
	first, last []float64
}

// outlined finds sources whose windows can be computed without their slices. For counts, the times of the slices
// suffice. For rates of rising numbers, the first and last number of level windows suffice. No edge of the query's
// windows may then cut off more than one slice. These sources are added as spans, and skipped when slices are read.
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
		s := span{firstMs: e.FirstMs, stepMs: e.StepMs, slots: int((e.LastMs-e.FirstMs)/e.StepMs) + 1}
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

// inOrder sorts spans by time. It returns false if some overlap. Then two sources may have slices of the same time, and
// only an iterator can decide between them.
func (w *windows) inOrder() bool {
	slices.SortFunc(w.spans, func(a, b span) int { return cmp.Compare(a.firstMs, b.firstMs) })
	for i := 1; i < len(w.spans); i++ {
		if w.spans[i].firstMs <= w.spans[i-1].lastMs() {
			return false
		}
	}
	return true
}

// outlineOf reads the coarsest level that fits the query's windows. It returns nil if none fits or if it cannot be
// read; then the slices are read. A level must cover the series without a break, which its number of windows shows.
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

// fits reports whether the first and last slice of each of the query's windows are the first or last slice of a level
// window.
func fits(of *plan.Windows, e run.Extent, levelMs int64) bool {
	if levelMs%e.StepMs != 0 || of.FirstMs%levelMs != 0 || of.FirstMs < of.LastMs && of.StepMs%levelMs != 0 {
		return false
	}
	// The query's windows end where level windows end. They begin beforeMs before the end of a level window, and the
	// newest slice of that window ends newestMs before its end.
	beforeMs, newestMs := of.RangeMs%levelMs, ceilTo(e.FirstMs, e.StepMs)-e.FirstMs
	return newestMs+e.StepMs >= beforeMs
}

// at returns the number at a slot of a span. The slot must be the first or the last of a level window or of the span.
func (o *outline) at(s *span, slot int) float64 {
	ms := s.firstMs + int64(slot)*s.stepMs
	endMs := ceilTo(ms, o.levelMs)
	window := (endMs - o.firstEndMs) / o.levelMs
	if slot == 0 || ms-s.stepMs <= endMs-o.levelMs {
		return o.first[window]
	}
	return o.last[window]
}
