package query

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query/plan"
)

// LimitError reports that a query reads more than it may.
type LimitError = plan.LimitError

// query is one of the engine's, with what those who read for it may know.
type query struct {
	promql.Query
	plan *plan.Plan
}

// planned finds out which selectors of q are asked for at known instants only, and which for the least or greatest of known windows only.
func planned(q promql.Query, limits plan.Limits) promql.Query {
	p := plan.New(limits)
	if statement, is := q.Statement().(*parser.EvalStmt); is {
		thin(p, statement)
	}
	return query{q, p}
}

// Exec evaluates; what turned out to be damaged on the way is among the warnings.
func (q query) Exec(ctx context.Context) *promql.Result {
	result := q.Query.Exec(plan.With(ctx, q.plan))
	result.Warnings.Merge(q.plan.Warnings())
	return result
}

// thin names the selectors of which the engine takes the newest slice at each evaluation and nothing else, or the least or the greatest
// number of a window and nothing else. It reads the expression as the engine will evaluate it, and leaves out whatever is not surely so.
func thin(p *plan.Plan, s *parser.EvalStmt) {
	at := plan.Instants{FirstMs: milliseconds(s.Start), LastMs: milliseconds(s.End), StepMs: max(1, s.Interval.Milliseconds())}
	parser.Inspect(s.Expr, func(node parser.Node, path []parser.Node) error {
		selector, is := node.(*parser.VectorSelector)
		if !is || !isPlain(selector) {
			return nil
		}
		window, greatest := extreme(path)
		if window != nil {
			path = path[:len(path)-1]
		}
		for _, around := range path {
			if !evaluatesAsAsked(around) {
				return nil
			}
		}
		shifted := at
		shifted.FirstMs -= selector.OriginalOffset.Milliseconds()
		shifted.LastMs -= selector.OriginalOffset.Milliseconds()
		if window != nil {
			p.Fold(selector.LabelMatchers, plan.Windows{Instants: shifted, RangeMs: window.Range.Milliseconds(), Greatest: greatest})
			return nil
		}
		p.Thin(selector.LabelMatchers, shifted)
		return nil
	})
}

// extreme is the window of which min_over_time or max_over_time alone is taken; nil where the path to a selector ends in something else.
func extreme(path []parser.Node) (window *parser.MatrixSelector, greatest bool) {
	if len(path) < 2 {
		return nil, false
	}
	window, is := path[len(path)-1].(*parser.MatrixSelector)
	call, called := path[len(path)-2].(*parser.Call)
	if !is || !called || window.Range.Milliseconds() <= 0 || call.Func.Name != "min_over_time" && call.Func.Name != "max_over_time" {
		return nil, false
	}
	return window, call.Func.Name == "max_over_time"
}

// milliseconds cuts as the engine does.
func milliseconds(t time.Time) int64 { return t.UnixNano() / int64(time.Millisecond) }

// isPlain reports whether a selector is evaluated at the query's own times. Where only count and sum of distributions
// are read, the engine looks for resets between the slices that it meets.
func isPlain(s *parser.VectorSelector) bool {
	return s.Timestamp == nil && s.StartOrEnd == 0 && !s.Anchored && !s.Smoothed && !s.SkipHistogramBuckets
}

// evaluatesAsAsked reports whether what lies within a node is evaluated at the times at which the node is.
func evaluatesAsAsked(n parser.Node) bool {
	switch n := n.(type) {
	case *parser.Call:
		return n.Func.Name != "timestamp" && n.Func.Name != "info"
	case *parser.AggregateExpr, *parser.BinaryExpr, *parser.ParenExpr, *parser.UnaryExpr:
		return true
	}
	return false // ranges, subqueries, what is evaluated once, and what is yet unknown
}
