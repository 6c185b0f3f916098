package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// LimitError reports that a query exceeds a limit on what it may read.
type LimitError = plan.LimitError

// query is a query of Prometheus' engine together with its plan. The store reads the plan during evaluation.
type query struct {
	promql.Query
	plan  *plan.Plan
	plain func(context.Context) (*query, error) // the same query without computed windows; nil if it has none
}

// Exec evaluates the query. If the store cannot compute a function after all (plan.ErrNotComputed), Exec evaluates the
// query a second time without computed functions. Skipped damaged data are reported as warnings.
func (q *query) Exec(ctx context.Context) *promql.Result {
	result := q.Query.Exec(plan.With(ctx, q.plan))
	if q.plain != nil && errors.Is(result.Err, plan.ErrNotComputed) {
		plain, err := q.plain(ctx)
		if err != nil {
			return &promql.Result{Err: err}
		}
		q.Query.Close()
		*q = *plain
		return q.Exec(ctx)
	}
	result.Warnings.Merge(q.plan.Warnings())
	return result
}

// parse makes a query over a store.
type parse func(context.Context, storage.Queryable) (promql.Query, error)

// planned parses a query and plans its selectors. It finds selectors that are evaluated only at known instants. If
// computes is true, it also finds functions over windows that the store can compute.
func (e *Engine) planned(ctx context.Context, parse parse, computes bool) (*query, error) {
	store := &reaching{Queryable: e.store, minMs: math.MaxInt64, maxMs: math.MinInt64}
	made, err := parse(ctx, store)
	if err != nil {
		return nil, err
	}
	q := &query{Query: made, plan: plan.New(e.limits)}
	if s, is := made.Statement().(*parser.EvalStmt); is {
		at := plan.Instants{FirstMs: milliseconds(s.Start), LastMs: milliseconds(s.End),
			StepMs: max(1, s.Interval.Milliseconds())}
		s.Expr = (&planner{plan: q.plan, at: at, store: store, computes: computes}).visit(s.Expr)
	}
	if store.minMs <= store.maxMs {
		q.plain = func(ctx context.Context) (*query, error) { return e.planned(ctx, parse, false) }
	}
	return q, nil
}

// reaching is a store whose time range is extended to the computed windows. The engine does not know these windows and
// would open the store for a shorter range.
type reaching struct {
	storage.Queryable
	minMs, maxMs int64
}

func (r *reaching) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return r.Queryable.Querier(min(minMs, r.minMs), max(maxMs, r.maxMs))
}

// planner visits an expression as the engine will evaluate it. It plans only selectors that are certainly evaluated at
// the query's own times. In all other cases a store that omits slices would change the result.
type planner struct {
	plan     *plan.Plan
	at       plan.Instants
	store    *reaching
	computes bool // whether the store computes windows
}

// visit plans the selectors in an expression, and returns the expression that replaces it.
func (p *planner) visit(expr parser.Expr) parser.Expr {
	switch n := expr.(type) {
	case *parser.VectorSelector:
		if isPlain(n) {
			p.plan.Thin(n.LabelMatchers, p.shifted(n))
		}
	case *parser.Call:
		return p.call(n)
	case *parser.AggregateExpr:
		n.Expr = p.visit(n.Expr)
		n.Param = p.visit(n.Param)
	case *parser.BinaryExpr:
		n.LHS, n.RHS = p.visit(n.LHS), p.visit(n.RHS)
	case *parser.ParenExpr:
		n.Expr = p.visit(n.Expr)
	case *parser.UnaryExpr:
		n.Expr = p.visit(n.Expr)
	}
	return expr // matrix selectors, subqueries, step-invariant expressions, and types that this code does not know
}

func (p *planner) call(n *parser.Call) parser.Expr {
	if n.Func.Name == "timestamp" || n.Func.Name == "info" {
		return n
	}
	if computed := p.computed(n); computed != nil {
		return computed
	}
	within := *p
	// The store computes nothing for distributions. absent reads the matchers of its argument, which must not be
	// replaced.
	if strings.HasPrefix(n.Func.Name, "histogram_") || n.Func.Name == "absent" {
		within.computes = false
	}
	for i := range n.Args {
		n.Args[i] = within.visit(n.Args[i])
	}
	return n
}

func (p *planner) shifted(s *parser.VectorSelector) plan.Instants {
	at, offsetMs := p.at, s.OriginalOffset.Milliseconds()
	at.FirstMs, at.LastMs = at.FirstMs-offsetMs, at.LastMs-offsetMs
	return at
}

// functions are the functions that the store may compute, by name.
var functions = map[string]plan.Function{
	"max_over_time": plan.MaxOverTime, "min_over_time": plan.MinOverTime, "avg_over_time": plan.AvgOverTime,
	"sum_over_time": plan.SumOverTime, "count_over_time": plan.CountOverTime, "last_over_time": plan.LastOverTime,
	"rate": plan.Rate, "increase": plan.Increase,
}

// computed returns a selector that replaces a function over windows whose results the store computes. It returns nil
// if the store does not compute the function. It also returns nil if the engine would warn about the metric's name, or
// could find two series that differ only in their metric names.
func (p *planner) computed(n *parser.Call) parser.Expr {
	function, known := functions[n.Func.Name]
	if !p.computes || !known {
		return nil
	}
	window, is := n.Args[0].(*parser.MatrixSelector)
	if !is || window.Range < time.Millisecond || window.Range%time.Millisecond != 0 {
		return nil
	}
	selector, is := window.VectorSelector.(*parser.VectorSelector)
	if !is || !isPlain(selector) || selector.OriginalOffset%time.Millisecond != 0 {
		return nil
	}
	metric := metricOf(selector.LabelMatchers)
	if metric == "" || (function == plan.Rate || function == plan.Increase) && !isCounter(metric) {
		return nil
	}
	of := plan.Windows{Instants: p.shifted(selector), RangeMs: window.Range.Milliseconds(),
		OffsetMs: selector.OriginalOffset.Milliseconds(), Function: function}
	p.plan.Compute(selector.LabelMatchers, of)
	p.store.minMs, p.store.maxMs = min(p.store.minMs, of.FirstMs-of.RangeMs+1), max(p.store.maxMs, of.LastMs)
	return &parser.VectorSelector{Name: selector.Name, LabelMatchers: selector.LabelMatchers, PosRange: n.PosRange}
}

// metricOf returns the one metric name that matchers select, or "" if they may select several.
func metricOf(matchers []*labels.Matcher) string {
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}

// isCounter reports whether the engine computes rates of a metric with this name without an info annotation.
func isCounter(metric string) bool {
	return slices.ContainsFunc([]string{"_total", "_sum", "_count", "_bucket"}, func(suffix string) bool {
		return strings.HasSuffix(metric, suffix)
	})
}

// milliseconds rounds as the engine does.
func milliseconds(t time.Time) int64 { return t.UnixNano() / int64(time.Millisecond) }

// isPlain reports whether a selector is evaluated at the query's own times. SkipHistogramBuckets is excluded, because
// the engine then looks for counter resets between consecutive slices.
func isPlain(s *parser.VectorSelector) bool {
	return s.Timestamp == nil && s.StartOrEnd == 0 && !s.Anchored && !s.Smoothed && !s.SkipHistogramBuckets
}
