package plan

import (
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/labels"
)

// Function is what of the numbers in a window is asked for.
type Function uint8

// The functions that a store may compute, each as PromQL's function of that name does.
const (
	MaxOverTime Function = iota
	MinOverTime
	AvgOverTime
	SumOverTime
	CountOverTime
	LastOverTime
	Rate
	Increase
)

// Windows are those of which a query takes one function and nothing else: (t-RangeMs, t] for each instant t. The result
// of a window stands OffsetMs behind its end.
type Windows struct {
	Instants
	RangeMs  int64 // positive
	OffsetMs int64
	Function Function
}

// EdgeFrom is the first edge of a window that is not before ms; math.MaxInt64 where there is none. Slices that end
// between two edges that follow on each other, at the later one or before it, are in the same windows.
func (w Windows) EdgeFrom(ms int64) int64 {
	edge := int64(math.MaxInt64)
	left := Instants{FirstMs: w.FirstMs - w.RangeMs, LastMs: w.LastMs - w.RangeMs, StepMs: w.StepMs}
	for _, edges := range [...]Instants{w.Instants, left} {
		if at, some := edges.AtOrAfter(ms); some {
			edge = min(edge, at)
		}
	}
	return edge
}

// Computing is a store whose queriers compute: of a selector with Windows they give each series the results in the
// place of its samples, at every instant, a gap's marker where there is none, under the labels that PromQL gives
// results. Where they cannot, because some of it is not numbers, they end with ErrNotComputed.
type Computing interface{ ComputesWindows() bool }

// Computes reports whether a store's queriers compute.
func Computes(store any) bool {
	c, is := store.(Computing)
	return is && c.ComputesWindows()
}

// ErrNotComputed ends a query whose windows the store could not compute: it is to be asked again without Windows.
var ErrNotComputed = errors.New("windows that the store cannot compute")

// Compute notes that of a selector only a function of windows is asked for. The selector is known as Thin knows it.
func (p *Plan) Compute(matchers []*labels.Matcher, of Windows) {
	for _, m := range matchers {
		p.windows[m] = of
	}
}

// Windows are those of which a selector's results are asked for; false where its samples are.
func (p *Plan) Windows(matchers []*labels.Matcher) (Windows, bool) {
	if p == nil || len(matchers) == 0 {
		return Windows{}, false
	}
	of, known := p.windows[matchers[0]]
	return of, known
}
