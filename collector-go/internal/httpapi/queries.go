package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
)

// The most points a series of a range query, as in Prometheus: a week by the minute, or a year by the hour.
const maxPoints = 11_000

// instant answers /api/v1/query.
func (a *api) instant(r *http.Request) answer {
	limit, err := limitParam(r)
	if err != nil {
		return invalid("limit", err)
	}
	at, err := timeParam(r, "time", a.now())
	if err != nil {
		return invalid("time", err)
	}
	return a.evaluate(r, limit, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.Instant(ctx, opts, r.FormValue("query"), at)
	})
}

// rangeOf answers /api/v1/query_range.
func (a *api) rangeOf(r *http.Request) answer {
	limit, err := limitParam(r)
	if err != nil {
		return invalid("limit", err)
	}
	start, err := parseTime(r.FormValue("start"))
	if err != nil {
		return invalid("start", err)
	}
	end, err := parseTime(r.FormValue("end"))
	if err != nil {
		return invalid("end", err)
	}
	if end.Before(start) {
		return invalid("end", errBackward)
	}
	step, err := parseDuration(r.FormValue("step"))
	if err != nil {
		return invalid("step", err)
	}
	if step <= 0 {
		return invalid("step", errStep)
	}
	if end.Sub(start)/step > maxPoints {
		return failed(badData, errTooFine)
	}
	return a.evaluate(r, limit, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.Range(ctx, opts, r.FormValue("query"), start, end, step)
	})
}

// evaluate runs a query under the parameters that both kinds share: timeout, lookback_delta, stats.
func (a *api) evaluate(r *http.Request, limit int, prepare func(context.Context, promql.QueryOpts) (promql.Query, error)) answer {
	ctx := r.Context()
	if text := r.FormValue("timeout"); text != "" {
		timeout, err := parseDuration(text)
		if err != nil {
			return invalid("timeout", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	opts, err := queryOptions(r)
	if err != nil {
		return failed(badData, err)
	}
	query, err := prepare(ctx, opts)
	if err != nil {
		return invalid("query", err)
	}
	return finish(r, query, query.Exec(ctx), limit)
}

// finish keeps the query open until the answer is written, since its result lives in the engine's memory.
func finish(r *http.Request, query promql.Query, result *promql.Result, limit int) answer {
	if result.Err != nil {
		defer query.Close()
		return failedQuery(result.Err)
	}
	warnings := result.Warnings
	if cut(result, limit) {
		warnings = warnings.Add(errCut)
	}
	data := queryData{value: result.Value}
	switch wanted := r.FormValue("stats"); wanted {
	case "":
	default:
		warnings = warnings.Add(fmt.Errorf("value %q for parameter \"stats\" is deprecated and will be rejected in the next major release, use %q or %q",
			wanted, "true", "all"))
		fallthrough
	case "true", "all":
		data.stats = stats.NewQueryStats(query.Stats())
	}
	return answer{data: data, warnings: warnings, close: query.Close}
}

func queryOptions(r *http.Request) (promql.QueryOpts, error) {
	var lookback time.Duration
	if text := r.FormValue("lookback_delta"); text != "" {
		var err error
		if lookback, err = parseDuration(text); err != nil {
			return nil, fmt.Errorf("error parsing lookback delta duration: %w", err)
		}
	}
	return promql.NewPrometheusQueryOpts(r.FormValue("stats") == "all", lookback), nil
}

// cut keeps the first limit series.
func cut(result *promql.Result, limit int) bool {
	switch v := result.Value.(type) {
	case promql.Matrix:
		if limit > 0 && len(v) > limit {
			result.Value = v[:limit]
			return true
		}
	case promql.Vector:
		if limit > 0 && len(v) > limit {
			result.Value = v[:limit]
			return true
		}
	}
	return false
}

// formatQuery answers /api/v1/format_query.
func (a *api) formatQuery(r *http.Request) answer {
	expr, err := a.engine.Parser().ParseExpr(r.FormValue("query"))
	if err != nil {
		return invalid("query", err)
	}
	return answer{data: expr.Pretty(0), warnings: annotations.Annotations{}}
}
