// Package plan carries what a query knows to the code that reads for it: at which instants or over which windows it is
// evaluated, how much it may read, and where damage is reported. It travels in the context, because Prometheus' storage
// interface has no place for it. Code that finds no plan reads everything.
package plan

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
)

// Instants are times at which a query takes a selector's newest slice at or before: FirstMs, FirstMs+StepMs, ... up to
// LastMs.
type Instants struct {
	FirstMs, LastMs int64
	StepMs          int64 // positive
}

// AtOrAfter is the first instant that is not before ms; false where there is none.
func (i Instants) AtOrAfter(ms int64) (int64, bool) {
	if ms <= i.FirstMs {
		return i.FirstMs, i.FirstMs <= i.LastMs
	}
	at := i.FirstMs + (ms-i.FirstMs+i.StepMs-1)/i.StepMs*i.StepMs
	return at, at <= i.LastMs
}

// Plan belongs to one query. It is safe for concurrent use, except for Thin and Compute, which must be called before
// reading begins. A nil Plan knows no instants and has no limits.
type Plan struct {
	instants map[*labels.Matcher]Instants
	windows  map[*labels.Matcher]Windows
	budget   budget
	damage   damage
}

// New returns the plan of a query that may read so much.
func New(limits Limits) *Plan {
	return &Plan{instants: map[*labels.Matcher]Instants{}, windows: map[*labels.Matcher]Windows{},
		budget: budget{limits: limits}}
}

// Thin notes that a selector is asked for at instants only. The selector is known by its matchers' addresses, which it
// shares with no other selector of the query: its text and its hints may be those of another one that needs every
// slice.
func (p *Plan) Thin(matchers []*labels.Matcher, at Instants) {
	for _, m := range matchers {
		p.instants[m] = at
	}
}

// Instants are those that a selector is asked for; false where it needs every slice.
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

// From is the plan that a context carries; nil where there is none.
func From(ctx context.Context) *Plan {
	p, _ := ctx.Value(key{}).(*Plan)
	return p
}
