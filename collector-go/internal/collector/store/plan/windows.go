package plan

import (
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/labels"
)

// Function is the function that a query computes over each window.
type Function uint8

// These are the functions that a store may compute. Each equals PromQL's function of that name.
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

// Windows are the windows (t-RangeMs, t], for each instant t, of which a query needs only the result of one function.
// The time of a result is OffsetMs after the end of its window.
type Windows struct {
	Instants
	RangeMs  int64 // positive
	OffsetMs int64
	Function Function
}

// EdgeFrom returns the first beginning or end of a window that is not before ms, or math.MaxInt64 if there is none.
// Slices that end after one edge and at or before the next are in the same windows.
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

// Computing is implemented by stores whose queriers can compute windows. For a selector with Windows, a querier returns
// the results of each series instead of its samples, with the labels that PromQL gives results. There is a result for
// every instant; a window without one gets the marker of a gap. If some values are not numbers, the querier cannot
// compute and ends with ErrNotComputed.
type Computing interface{ ComputesWindows() bool }

// Computes reports whether a store's queriers can compute windows.
func Computes(store any) bool {
	c, is := store.(Computing)
	return is && c.ComputesWindows()
}

// ErrNotComputed ends a query if the store could not compute its windows. The query must be repeated without Windows.
var ErrNotComputed = errors.New("the store cannot compute these windows")

// Compute records that the query needs only a function of windows of a selector. It identifies the selector as Thin
// does.
func (p *Plan) Compute(matchers []*labels.Matcher, of Windows) {
	for _, m := range matchers {
		p.windows[m] = of
	}
}

// Windows returns the windows whose results a selector needs. The result is false if it needs samples.
func (p *Plan) Windows(matchers []*labels.Matcher) (Windows, bool) {
	if p == nil || len(matchers) == 0 {
		return Windows{}, false
	}
	of, known := p.windows[matchers[0]]
	return of, known
}
