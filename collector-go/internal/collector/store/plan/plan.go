// Package plan carries information about a query to the code that reads data for it. A plan has the evaluation times or
// windows, the limits on reading, and the damage that was found. A plan is passed in the context, because Prometheus'
// storage interface has no parameter for it. Without a plan, everything is read.
package plan

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

// Instants are the evaluation times FirstMs, FirstMs+StepMs, ... up to LastMs. At each of them a query uses only the
// newest slice of a selector's series at or before it.
type Instants struct {
	FirstMs, LastMs int64
	StepMs          int64 // above 0
}

// AtOrAfter returns the first instant that is not before ms. The result is false if there is none.
func (i Instants) AtOrAfter(ms int64) (int64, bool) {
	if ms <= i.FirstMs {
		return i.FirstMs, i.FirstMs <= i.LastMs
	}
	at := i.FirstMs + (ms-i.FirstMs+i.StepMs-1)/i.StepMs*i.StepMs
	return at, at <= i.LastMs
}

// Plan belongs to one query. It is safe for concurrent use, except for Thin and Compute, which must be called before
// reading begins. A nil Plan has no instants and no limits.
type Plan struct {
	instants map[*labels.Matcher]Instants
	windows  map[*labels.Matcher]Windows
	budget   budget
	damage   damage
}

// New returns an empty plan for a query with limits.
func New(limits Limits) *Plan {
	return &Plan{instants: map[*labels.Matcher]Instants{}, windows: map[*labels.Matcher]Windows{},
		budget: budget{limits: limits}}
}

// Thin records that the query needs a selector only at instants. The plan identifies a selector by the addresses of its
// matchers. The selector's text and hints would not identify it, because another selector of the same query with the
// same text may need every slice.
func (p *Plan) Thin(matchers []*labels.Matcher, at Instants) {
	for _, m := range matchers {
		p.instants[m] = at
	}
}

// Instants returns the instants at which a selector is needed. The result is false if it needs every slice.
func (p *Plan) Instants(matchers []*labels.Matcher) (Instants, bool) {
	if p == nil || len(matchers) == 0 {
		return Instants{}, false
	}
	at, known := p.instants[matchers[0]]
	return at, known
}

type key struct{}

// With returns a context that carries p.
func With(ctx context.Context, p *Plan) context.Context { return context.WithValue(ctx, key{}, p) }

// From returns the plan in a context, or nil if there is none.
func From(ctx context.Context) *Plan {
	p, _ := ctx.Value(key{}).(*Plan)
	return p
}

// Text is a query as the user wrote it, with its time or range.
type Text struct {
	Expression string
	Start, End time.Time
	Step       time.Duration // used if Range is true
	Range      bool          // if false, the query is evaluated only at Start
}

// Evaluating is a store with its own engine, which evaluates whole queries.
type Evaluating interface {
	// Evaluate returns the same result as the Prometheus engine would.
	Evaluate(ctx context.Context, q Text) (parser.Value, annotations.Annotations, error)
}

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
