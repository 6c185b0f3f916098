// Package remote reads an external engine over Prometheus' HTTP API, for example Thanos, Mimir, VictoriaMetrics or
// Prometheus. It replaces the embedded store if query.url is set (decision 17 in docs/decisions).
//
// Queries that need only the engine's data are evaluated there, so that samples need not be transferred. A query that
// also needs series of the collector itself, such as results of rules, is evaluated by package query. This package
// then fetches the engine's series (querier.go). It must not know which series the collector has itself. Start with
// Store.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// MostBytes is the maximum size of an answer that the caller's HTTP client should accept. It is enough for a day of 1
// min slices of 10,000 series as text.
const MostBytes = 512 << 20

// Store is a remote engine that is queried over HTTP. It is safe for concurrent use.
type Store struct {
	address  string
	lookback time.Duration
	api      v1.API
}

// New returns a store for the engine whose API is below a URL, such as http://thanos-query:10902. caller is the HTTP
// client, which adds the credentials. lookback is the maximum age of a sample that still counts as a series' current
// value. Some engines ignore it and use their own. New makes no connection.
func New(address string, caller *http.Client, lookback time.Duration) (*Store, error) {
	asked, err := api.NewClient(api.Config{Address: address, Client: caller})
	if err != nil {
		return nil, fmt.Errorf("query.url %s: %w", address, err)
	}
	return &Store{address, lookback, v1.NewAPI(asked)}, nil
}

// Evaluate lets the engine evaluate a query and returns its result. Errors are converted to those of promql if the
// engine reports their type.
func (s *Store) Evaluate(ctx context.Context, q plan.Text) (parser.Value, annotations.Annotations, error) {
	value, warnings, err := s.evaluate(ctx, q)
	if err != nil {
		return nil, warnings, err
	}
	given, err := valueOf(value)
	return given, warnings, err
}

// LinesAt lets the engine evaluate a query at one time and returns its series without histograms.
func (s *Store) LinesAt(ctx context.Context, expression string, at time.Time) ([]query.Line, error) {
	value, _, err := s.Evaluate(ctx, plan.Text{Expression: expression, Start: at, End: at})
	if err != nil {
		return nil, err
	}
	return query.Lines(value)
}

func (s *Store) evaluate(ctx context.Context, q plan.Text) (value model.Value, _ annotations.Annotations, err error) {
	var warnings v1.Warnings
	var infos v1.Infos
	if q.Range {
		value, warnings, infos, err = s.api.QueryRange(ctx, q.Expression,
			v1.Range{Start: q.Start, End: q.End, Step: q.Step}, v1.WithLookbackDelta(s.lookback))
	} else {
		value, warnings, infos, err = s.api.Query(ctx, q.Expression, q.Start, v1.WithLookbackDelta(s.lookback))
	}
	return value, remarks(warnings, infos), s.failed(ctx, err)
}

// remarks converts an answer's warnings and infos to annotations.
func remarks(warnings v1.Warnings, infos v1.Infos) annotations.Annotations {
	all := annotations.Annotations{}
	for _, text := range warnings {
		all.Add(fmt.Errorf("%w: %s", annotations.PromQLWarning, text))
	}
	for _, text := range infos {
		all.Add(fmt.Errorf("%w: %s", annotations.PromQLInfo, text))
	}
	return all
}

// failed converts an error of the API to the error that Prometheus' engine would return, so that callers need not
// distinguish a remote engine.
func (s *Store) failed(ctx context.Context, err error) error {
	var refused *v1.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return promql.ErrQueryTimeout("query execution")
	case ctx.Err() != nil:
		return promql.ErrQueryCanceled("query execution")
	case !errors.As(err, &refused):
		return promql.ErrStorage{Err: fmt.Errorf("query.url %s: %w", s.address, err)}
	}
	kind, reason := reasonOf(refused)
	err = fmt.Errorf("query.url %s: %s", s.address, reason)
	switch kind {
	case v1.ErrTimeout:
		return promql.ErrQueryTimeout("query execution")
	case v1.ErrCanceled:
		return promql.ErrQueryCanceled("query execution")
	case v1.ErrExec, v1.ErrBadData:
		return err
	}
	return promql.ErrStorage{Err: err}
}

// reasonOf returns the type and the text of the engine's error. For a 5xx response the API client fills in only the
// status code; the JSON body is then in Detail.
func reasonOf(refused *v1.Error) (v1.ErrorType, string) {
	var answer struct {
		ErrorType v1.ErrorType
		Error     string
	}
	if err := json.Unmarshal([]byte(refused.Detail), &answer); err == nil && answer.Error != "" {
		return answer.ErrorType, answer.Error
	}
	return refused.Type, refused.Msg
}

// Querier returns a querier for series, samples and labels within [minMs, maxMs].
func (s *Store) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return &querier{s, minMs, maxMs}, nil
}

// timeOf returns a bound in the form of the API, in which the zero time means no bound.
func timeOf(ms int64) time.Time {
	if ms <= timestamp.FromTime(time.Unix(0, 0)) || ms > math.MaxInt64/int64(time.Millisecond) {
		return time.Time{}
	}
	return timestamp.Time(ms)
}

// Abilities are properties of an engine.
type Abilities struct {
	Version          string // as reported by the engine; "" if it reports none
	NativeHistograms bool   // whether the engine evaluates native histograms
}

// Abilities queries the engine for its abilities. It returns an error if the engine cannot be reached.
func (s *Store) Abilities(ctx context.Context) (a Abilities, err error) {
	if _, _, _, err = s.api.Query(ctx, "vector(1)", time.Time{}); err != nil {
		return a, s.failed(ctx, err)
	}
	if built, err := s.api.Buildinfo(ctx); err == nil {
		a.Version = built.Version
	}
	_, _, _, err = s.api.Query(ctx, "histogram_count(vector(1))", time.Time{})
	a.NativeHistograms = err == nil
	return a, nil
}

// Probe describes the abilities of the engine for a list of checks.
func (s *Store) Probe(ctx context.Context) (note string, err error) {
	can, err := s.Abilities(ctx)
	if err == nil && !can.NativeHistograms {
		note = "; it does not evaluate native histograms, so latency percentiles are unavailable"
	}
	return note, err
}

// retryInterval is how often an engine that does not answer is asked for its abilities.
const retryInterval = 10 * time.Second

// LogAbilities asks the engine for its abilities until it answers or ctx is done, and logs what it cannot do.
func (s *Store) LogAbilities(ctx context.Context, logger *slog.Logger) error {
	warned := false
	_ = poll.Until(ctx, retryInterval, func() bool { // its error is the end of ctx
		asking, cancel := context.WithTimeout(ctx, retryInterval)
		defer cancel()
		can, err := s.Abilities(asking)
		switch {
		case err == nil:
			logger.Info("queries are evaluated by the engine of query.url", "version", can.Version, "native_histograms",
				can.NativeHistograms)
			if !can.NativeHistograms {
				logger.Warn("the engine of query.url does not evaluate native histograms; latency percentiles are unavailable")
			}
		case !warned && ctx.Err() == nil:
			logger.Warn("the engine of query.url does not answer; retrying", "error", err)
			warned = true
		}
		return err == nil
	})
	return nil
}
