// Package plan carries information about a query to the code that reads data for it. A plan has the evaluation times or
// windows, the limits on reading, and the damage that was found. A plan is passed in the context, because Prometheus'
// storage interface has no parameter for it. Without a plan, everything is read.
package plan

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
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
