package plan

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"
)

// Windows are those of which a query takes the least or the greatest number: (t-RangeMs, t] for each instant t.
type Windows struct {
	Instants
	RangeMs  int64 // positive
	Greatest bool
}

// EdgeFrom is the first edge of a window that is not before ms; math.MaxInt64 where there is none. Slices that end between two edges that
// follow on each other, at the later one or before it, are in the same windows.
func (w Windows) EdgeFrom(ms int64) int64 {
	edge := int64(math.MaxInt64)
	for _, side := range [...]Instants{w.Instants, w.left()} {
		if at, some := side.AtOrAfter(ms); some {
			edge = min(edge, at)
		}
	}
	return edge
}

// EdgeBefore is the last edge of a window before ms; math.MinInt64 where there is none.
func (w Windows) EdgeBefore(ms int64) int64 {
	edge := int64(math.MinInt64)
	for _, side := range [...]Instants{w.Instants, w.left()} {
		if at, some := side.before(ms); some {
			edge = max(edge, at)
		}
	}
	return edge
}

// left is where the windows begin.
func (w Windows) left() Instants {
	return Instants{FirstMs: w.FirstMs - w.RangeMs, LastMs: w.LastMs - w.RangeMs, StepMs: w.StepMs}
}

// before is the last instant before ms; false where there is none.
func (i Instants) before(ms int64) (int64, bool) {
	if ms <= i.FirstMs || i.FirstMs > i.LastMs {
		return 0, false
	}
	return i.FirstMs + (min(ms-1, i.LastMs)-i.FirstMs)/i.StepMs*i.StepMs, true
}

// Fold notes that of a selector only the least or the greatest number of each window is asked for, by a function that takes it as
// min_over_time and max_over_time do. The selector is known as Thin knows it.
func (p *Plan) Fold(matchers []*labels.Matcher, of Windows) {
	for _, m := range matchers {
		p.windows[m] = of
	}
}

// Windows are those of which a selector's least or greatest number is asked for; false where more is.
func (p *Plan) Windows(matchers []*labels.Matcher) (Windows, bool) {
	if p == nil || len(matchers) == 0 {
		return Windows{}, false
	}
	of, known := p.windows[matchers[0]]
	return of, known
}
