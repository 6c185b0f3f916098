package query

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// pushed is a query that the store's own engine evaluates. If one of its selectors matches series of another store,
// this package evaluates it instead.
type pushed struct {
	*query
	engine *Engine
	text   plan.Text
}

// push returns q, or a query that the store evaluates if it can.
func (e *Engine) push(q *query, text plan.Text) promql.Query {
	if e.pushing == nil {
		return q
	}
	return &pushed{q, e, text}
}

// Exec evaluates the query in the store, or in the collector's own engine if it needs series of other stores.
func (p *pushed) Exec(ctx context.Context) *promql.Result {
	ctx, cancel := context.WithTimeout(ctx, p.engine.timeout)
	defer cancel()
	if !p.engine.pushing.alone(ctx, p.Statement()) {
		return p.query.Exec(ctx)
	}
	place, err := p.engine.turnstile.Insert(ctx, p.text.Expression)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = promql.ErrQueryTimeout("query queue")
		}
		return &promql.Result{Err: err}
	}
	defer p.engine.turnstile.Delete(place)
	value, warnings, err := p.engine.pushing.store.Evaluate(ctx, p.text)
	return &promql.Result{Value: value, Warnings: warnings, Err: err}
}

// pushing is a store that evaluates queries, together with the other stores that are read with it.
type pushing struct {
	store  plan.Evaluating
	others []storage.Queryable
}

// pushingTo returns how queries over a store are pushed, or nil if the store evaluates no queries.
func pushingTo(store storage.Queryable) *pushing {
	of, is := store.(joined)
	if !is {
		of = joined{store: store}
	}
	if engine, evaluates := of.store.(plan.Evaluating); evaluates {
		return &pushing{engine, of.beside}
	}
	return nil
}

// alone reports whether the query has selectors and none of them matches series of another store.
func (p *pushing) alone(ctx context.Context, statement parser.Statement) bool {
	s, is := statement.(*parser.EvalStmt)
	if !is {
		return false
	}
	minMs, maxMs := promql.FindMinMaxTime(s)
	hints := &storage.SelectHints{Start: minMs, End: maxMs, Func: "series"}
	asks, beside := false, false
	parser.Inspect(s.Expr, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is && !beside {
			asks, beside = true, p.beside(ctx, hints, selector.LabelMatchers)
		}
		return nil
	})
	return asks && !beside
}

// beside reports whether another store may have series that match. A store that cannot be read counts as one that has.
func (p *pushing) beside(ctx context.Context, hints *storage.SelectHints, matchers []*labels.Matcher) bool {
	for _, other := range p.others {
		q, err := other.Querier(hints.Start, hints.End)
		if err != nil {
			return true // evaluate here, so that the query gets the warning
		}
		found := q.Select(ctx, false, hints, matchers...)
		any := found.Next() || found.Err() != nil || len(found.Warnings()) > 0
		_ = q.Close()
		if any {
			return true
		}
	}
	return false
}
