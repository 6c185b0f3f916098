// Package query answers PromQL over a store. It uses Prometheus' own engine, so that answers are those of Prometheus,
// and adds what a shared collector needs: limits on the length, the depth and the cost of a query, and a bound on how
// many run at once.
//
// Before evaluation a query is planned (planned.go): the store learns at which instants its values are needed, and may
// compute functions such as rate itself (decision 15 in docs/decisions). A store that answers whole queries gets them
// whole (pushed.go).
//
// It must not know HTTP, nor how slices are made or stored. Start with Engine.
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
	// Timeout ends a query (error "timeout"). 2 min by default, as Prometheus has it.
	Timeout time.Duration
	// MaxSamples is the most that one query may hold in memory. 50 million by default, as Prometheus has it.
	MaxSamples int
	// LookbackDelta is how old a sample may be and still count as a series' present value. 5 min by default, as
	// Prometheus has it.
	LookbackDelta time.Duration
	// MaxLength is the longest text of a query or selector, bytes. 64 KiB by default: Grafana's longest are a tenth of
	// it.
	MaxLength int
	// MaxDepth is how deep brackets and operators of a query may lie in each other. 256 by default, ten times what
	// people write: parsing and evaluating recurse.
	MaxDepth int
	// MaxSeries is how many series all selectors of one query may find. 500,000 by default, as many as a collector
	// takes.
	MaxSeries int64
	// MaxReadSamples is how many slices one query may decode, whether or not they are in memory at once. 1,000 million
	// by default: a day of slices of 10 s of 100,000 series.
	MaxReadSamples int64
	// MaxConcurrent is how many queries run at once; more wait, as long as their context lets them. 20 by default, as
	// Prometheus has it.
	MaxConcurrent int

	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no figures
}

// DefaultOptions returns Prometheus' own limits.
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
		return errors.New("query: a query must be allowed at least one sample")
	case o.MaxConcurrent < 1:
		return errors.New("query: at least one query must be allowed at a time")
	case o.MaxLength < 1 || o.MaxDepth < 1:
		return errors.New("query: a query must be allowed a length and a depth of at least 1")
	case o.MaxSeries < 1 || o.MaxReadSamples < 1:
		return errors.New("query: a query must be allowed to read at least one series and one sample")
	}
	return nil
}

// defaultSubqueryStep is the step of a subquery that names none: Prometheus takes its evaluation interval, 1 min by
// default.
const defaultSubqueryStep = time.Minute

// Engine evaluates PromQL over one store. It is safe for many goroutines. Every text passes through its parser, which
// checks length and depth first: parsing and evaluation recurse, so a deep enough query would exhaust the stack.
type Engine struct {
	store     storage.Queryable
	promql    *promql.Engine
	parser    checked
	turnstile *turnstile
	computes  bool     // whether the store computes windows
	pushing   *pushing // nil where the store evaluates no queries itself

	lookback time.Duration
	timeout  time.Duration
	limits   plan.Limits
}

// Parser is the parser of an engine with these options.
func (o Options) Parser() parser.Parser { return o.parser() }

func (o Options) parser() checked {
	return checked{parser.NewParser(parser.Options{}), textLimits{length: o.MaxLength, depth: o.MaxDepth}}
}

// New returns an engine over store; it starts nothing.
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

// Instant prepares an instant query at time at; the caller runs Exec and then Close on it.
func (e *Engine) Instant(ctx context.Context, opts promql.QueryOpts, expr string, at time.Time) (promql.Query, error) {
	text := plan.Text{Expression: expr, Start: at, End: at}
	return e.prepare(ctx, text, func(ctx context.Context, store storage.Queryable) (promql.Query, error) {
		return e.promql.NewInstantQuery(ctx, store, opts, expr, at)
	})
}

// Range prepares a range query; the caller runs Exec and then Close on it. The step is at least 1 ms.
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

// prepare checks the text before it waits for a place to parse it.
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

// Querier reads the store itself, for label names and values and for series.
func (e *Engine) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return e.store.Querier(minMs, maxMs)
}

// Bounded returns a context in which a Querier reads no more than a query may.
func (e *Engine) Bounded(ctx context.Context) context.Context {
	return plan.With(ctx, plan.New(e.limits))
}

// Queryable is the store as the engine reads it.
func (e *Engine) Queryable() storage.Queryable { return e.store }

// Parser is the parser that the engine uses. It refuses what is too long or too deep before it parses.
func (e *Engine) Parser() parser.Parser { return e.parser }

// Lookback is how old a sample may be and still count as a series' present value.
func (e *Engine) Lookback() time.Duration { return e.lookback }

// Close ends the engine.
func (e *Engine) Close() error { return e.promql.Close() }
