// Package query evaluates PromQL over a store. It uses Prometheus' own engine, so that results are those of
// Prometheus. It adds what a shared collector needs: limits on the length, the depth and the cost of a query, and a
// limit on concurrent queries.
//
// Before evaluation a query is planned (planned.go). The plan lists the instants at which values are needed, and the
// store may compute functions such as rate itself (decision 15 in docs/decisions). A store that can evaluate whole
// queries gets the whole query (pushed.go).
//
// The package must not know HTTP, nor how slices are made or stored. Start with Engine.
package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// Options are the engine's limits.
type Options struct {
	// Timeout ends a query with the error "timeout". The default is 2 min, as in Prometheus.
	Timeout time.Duration
	// MaxSamples is the maximum number of samples that one query may hold in memory. The default is 50 million, as in
	// Prometheus.
	MaxSamples int
	// LookbackDelta is the maximum age of a sample that still counts as a series' current value. The default is 5 min,
	// as in Prometheus.
	LookbackDelta time.Duration
	// MaxLength is the maximum length of a query or selector in bytes. The default is 64 KiB, ten times the length of
	// Grafana's longest queries.
	MaxLength int
	// MaxDepth is the maximum nesting depth of brackets and operators in a query. The default is 256, ten times what
	// people write. The limit exists because parsing and evaluation are recursive.
	MaxDepth int
	// MaxSeries is the maximum number of series that all selectors of one query may find together. The default is
	// 500,000, which is as many as a collector accepts.
	MaxSeries int64
	// MaxReadSamples is the maximum number of slices that one query may decode, whether or not they are in memory at
	// the same time. The default is 1,000 million: one day of 10 s slices of 100,000 series.
	MaxReadSamples int64
	// MaxConcurrent is the maximum number of concurrent queries. Further queries wait until their context ends. The
	// default is 20, as in Prometheus.
	MaxConcurrent int

	Logger     *slog.Logger          // nil: no log
	Registerer prometheus.Registerer // nil: no metrics
}

// DefaultOptions returns the default limits. Where Prometheus has the same limit, the value is that of Prometheus.
func DefaultOptions() Options {
	return Options{Timeout: 2 * time.Minute, MaxSamples: 50_000_000, LookbackDelta: 5 * time.Minute, MaxConcurrent: 20,
		MaxLength: 64 << 10, MaxDepth: 256, MaxSeries: 500_000, MaxReadSamples: 1_000_000_000}
}

// Validate returns an error that names the invalid limit.
func (o Options) Validate() error {
	switch {
	case o.Timeout <= 0:
		return fmt.Errorf("query: timeout %s is not positive", o.Timeout)
	case o.LookbackDelta <= 0:
		return fmt.Errorf("query: lookback delta %s is not positive", o.LookbackDelta)
	case o.MaxSamples < 1:
		return errors.New("query: the maximum number of samples must be at least 1")
	case o.MaxConcurrent < 1:
		return errors.New("query: the maximum number of concurrent queries must be at least 1")
	case o.MaxLength < 1 || o.MaxDepth < 1:
		return errors.New("query: the maximum length and depth must be at least 1")
	case o.MaxSeries < 1 || o.MaxReadSamples < 1:
		return errors.New("query: the maximum numbers of series and samples must be at least 1")
	}
	return nil
}

// defaultSubqueryStep is the step of a subquery that has none. Prometheus uses its evaluation interval, which is 1 min
// by default.
const defaultSubqueryStep = time.Minute

// Engine evaluates PromQL over one store. It is safe for concurrent use. Every text passes through its parser, which
// checks length and depth first: parsing and evaluation are recursive, so that a deep enough query would exhaust the
// stack.
type Engine struct {
	store     storage.Queryable
	promql    *promql.Engine
	parser    checked
	turnstile *turnstile
	computes  bool     // whether the store computes windows
	pushing   *pushing // nil if the store does not evaluate queries itself

	lookback time.Duration
	timeout  time.Duration
	limits   plan.Limits
}

// Parser returns the parser of an engine with these options. It enforces the limits on texts.
func (o Options) Parser() parser.Parser { return o.parser() }

func (o Options) parser() checked {
	return checked{parser.NewParser(parser.Options{}), textLimits{length: o.MaxLength, depth: o.MaxDepth}}
}

// New returns an engine over store. It starts no goroutine.
func New(store storage.Queryable, options Options) (*Engine, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		store: sorted{store}, computes: plan.Computes(store), pushing: pushingTo(store),
		lookback: options.LookbackDelta, timeout: options.Timeout,
		parser:    options.parser(),
		turnstile: newTurnstile(options.MaxConcurrent, options.Registerer),
		limits: plan.Limits{Series: options.MaxSeries, Samples: options.MaxReadSamples,
			InMemory: int64(options.MaxSamples)},
	}
	e.promql = promql.NewEngine(promql.EngineOpts{
		Logger:                   logger,
		ActiveQueryTracker:       e.turnstile,
		MaxSamples:               options.MaxSamples,
		Timeout:                  options.Timeout,
		LookbackDelta:            options.LookbackDelta,
		NoStepSubqueryIntervalFn: func(int64) int64 { return defaultSubqueryStep.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		Parser:                   e.parser,
	})
	return e, nil
}

// Instant prepares an instant query at time at. The caller must call Exec and then Close on the result.
func (e *Engine) Instant(ctx context.Context, opts promql.QueryOpts, expr string, at time.Time) (promql.Query, error) {
	text := plan.Text{Expression: expr, Start: at, End: at}
	return e.prepare(ctx, text, func(ctx context.Context, store storage.Queryable) (promql.Query, error) {
		return e.promql.NewInstantQuery(ctx, store, opts, expr, at)
	})
}

// Range prepares a range query. The step must be at least 1 ms. The caller must call Exec and then Close on the
// result.
func (e *Engine) Range(ctx context.Context, opts promql.QueryOpts, expr string, start, end time.Time,
	step time.Duration) (promql.Query, error) {
	if step < time.Millisecond {
		return nil, fmt.Errorf("step %s is below 1ms", step)
	}
	text := plan.Text{Expression: expr, Start: start, End: end, Step: step, Range: true}
	return e.prepare(ctx, text, func(ctx context.Context, store storage.Queryable) (promql.Query, error) {
		return e.promql.NewRangeQuery(ctx, store, opts, expr, start, end, step)
	})
}

// prepare checks the text before it waits for a slot to parse it.
func (e *Engine) prepare(ctx context.Context, text plan.Text, parse parse) (promql.Query, error) {
	if err := e.Check(text.Expression); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	q, err := e.planned(ctx, parse, e.computes)
	if err != nil {
		return nil, err
	}
	return e.push(q, text), nil
}

// Querier returns a querier of the store, for label names, label values and series.
func (e *Engine) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return e.store.Querier(minMs, maxMs)
}

// Bounded returns a context in which a Querier reads at most as much as one query may read.
func (e *Engine) Bounded(ctx context.Context) context.Context {
	return plan.With(ctx, plan.New(e.limits))
}

// Queryable returns the store as the engine reads it, with sorted series.
func (e *Engine) Queryable() storage.Queryable { return e.store }

// Parser returns the parser of the engine. It refuses a text that is too long or too deep before it parses.
func (e *Engine) Parser() parser.Parser { return e.parser }

// Lookback returns the maximum age of a sample that still counts as a series' current value.
func (e *Engine) Lookback() time.Duration { return e.lookback }

// Close closes Prometheus' engine.
func (e *Engine) Close() error { return e.promql.Close() }
