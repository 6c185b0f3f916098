// Package query answers PromQL over a store. It owns the engine with its limits, and knows neither HTTP nor what a slice is.
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
)

// Options are the engine's limits.
type Options struct {
	// Timeout ends a query (error "timeout"). 2 min by default, as Prometheus has it.
	Timeout time.Duration
	// MaxSamples is the most that one query may hold in memory. 50 million by default, as Prometheus has it.
	MaxSamples int
	// LookbackDelta is how old a sample may be and still count as a series' present value. 5 min by default, as Prometheus has it.
	LookbackDelta time.Duration
	// MaxConcurrent is how many queries run at once; more wait, as long as their context lets them. 20 by default, as Prometheus has it.
	MaxConcurrent int

	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no figures
}

// DefaultOptions returns Prometheus' own limits.
func DefaultOptions() Options {
	return Options{Timeout: 2 * time.Minute, MaxSamples: 50_000_000, LookbackDelta: 5 * time.Minute, MaxConcurrent: 20}
}

// Validate says which limit cannot be.
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
	}
	return nil
}

// defaultSubqueryStep is the step of a subquery that names none: Prometheus takes its evaluation interval, 1 min by default.
const defaultSubqueryStep = time.Minute

// Engine evaluates PromQL over one store. It is safe for many goroutines.
type Engine struct {
	store  storage.Queryable
	promql *promql.Engine
	parser parser.Parser

	lookback time.Duration
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
	p := parser.NewParser(parser.Options{})
	return &Engine{store: sorted{store}, parser: p, lookback: options.LookbackDelta, promql: promql.NewEngine(promql.EngineOpts{
		Logger:                   logger,
		ActiveQueryTracker:       newTurnstile(options.MaxConcurrent, options.Registerer),
		MaxSamples:               options.MaxSamples,
		Timeout:                  options.Timeout,
		LookbackDelta:            options.LookbackDelta,
		NoStepSubqueryIntervalFn: func(int64) int64 { return defaultSubqueryStep.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		Parser:                   p,
	})}, nil
}

// Instant prepares an instant query at time at; the caller runs Exec and then Close on it.
func (e *Engine) Instant(ctx context.Context, opts promql.QueryOpts, expr string, at time.Time) (promql.Query, error) {
	return e.promql.NewInstantQuery(ctx, e.store, opts, expr, at)
}

// Range prepares a range query; the caller runs Exec and then Close on it.
func (e *Engine) Range(ctx context.Context, opts promql.QueryOpts, expr string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return e.promql.NewRangeQuery(ctx, e.store, opts, expr, start, end, step)
}

// Querier reads the store itself, for label names and values and for series.
func (e *Engine) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return e.store.Querier(minMs, maxMs)
}

// Queryable is the store as the engine reads it.
func (e *Engine) Queryable() storage.Queryable { return e.store }

// Parser is the parser that the engine uses.
func (e *Engine) Parser() parser.Parser { return e.parser }

// Lookback is how old a sample may be and still count as a series' present value.
func (e *Engine) Lookback() time.Duration { return e.lookback }

// Close ends the engine.
func (e *Engine) Close() error { return e.promql.Close() }
