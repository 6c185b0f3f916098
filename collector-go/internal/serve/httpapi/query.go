package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// api has the data that the handlers share. Its only state is the slots of running requests and streams, so that any
// number of handlers can run concurrently.
type api struct {
	options  Options
	requests *quota.Slots
	started  time.Time
	now      func() time.Time
	streams  *quota.Slots // of live samples
}

func newAPI(options Options) *api {
	return &api{options: options, requests: quota.New(options.MaxRequests), streams: quota.New(maxLiveStreams),
		started: time.Now().UTC(), now: time.Now}
}

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

// queryData is the result of /query and /query_range.
type queryData struct {
	ResultType parser.ValueType `json:"resultType"`
	Result     parser.Value     `json:"result"`
	Stats      stats.QueryStats `json:"stats,omitempty"`
}

// maxPoints bounds the points per series in one answer, as in Prometheus. It is enough for a week at 1 min or a year
// at 1 h.
const maxPoints = 11000

// query answers /query: the value of an expression at one time.
func (a *api) query(r request) answer {
	limit, wrongLimit := limitParameter(r)
	at, wrongTime := timeParameter(r, "time", a.now())
	if err := cmp.Or(wrongLimit, wrongTime); err != nil {
		return badData(err)
	}
	return a.evaluate(r, limit, func(ctx context.Context, o promql.QueryOpts) (promql.Query, error) {
		return a.options.Engine.Instant(ctx, o, r.FormValue("query"), at)
	})
}

// queryRange answers /query_range. The number of points is checked before anything is read, because one request could
// otherwise use all memory of the process.
func (a *api) queryRange(r request) answer {
	limit, err := limitParameter(r)
	if err != nil {
		return badData(err)
	}
	start, err := parseTime(r.FormValue("start"))
	if err != nil {
		return invalidParameter("start", err)
	}
	end, err := parseTime(r.FormValue("end"))
	if err != nil {
		return invalidParameter("end", err)
	}
	if end.Before(start) {
		return invalidParameter("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := parseDuration(r.FormValue("step"))
	if err != nil {
		return invalidParameter("step", err)
	}
	if step <= 0 {
		return invalidParameter("step",
			errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	}
	if end.Sub(start)/step > maxPoints {
		return badData(errors.New(
			"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"))
	}
	return a.evaluate(r, limit, func(ctx context.Context, o promql.QueryOpts) (promql.Query, error) {
		return a.options.Engine.Range(ctx, o, r.FormValue("query"), start, end, step)
	})
}

// exemplars answers /query_exemplars. The result is always empty, because samples from Storm have no trace IDs. The
// parameters are checked as Prometheus does.
func (a *api) exemplars(r request) answer {
	start, end, err := timeRange(r)
	if err != nil {
		return badData(err)
	}
	if end.Before(start) {
		return badData(errors.New("end timestamp must not be before start timestamp"))
	}
	expression, err := a.options.Engine.Parse(r.Context(), r.FormValue("query"))
	if err != nil {
		return unparsed(err, badData)
	}
	if len(parser.ExtractSelectors(expression)) == 0 {
		return answer{}
	}
	return answer{data: []struct{}{}}
}

// evaluate runs the query that prepare makes, within the timeout of the request.
func (a *api) evaluate(r request, limit int, prepare func(context.Context, promql.QueryOpts) (promql.Query, error)) (
	result answer) {
	ctx := r.Context()
	if text := r.FormValue("timeout"); text != "" {
		timeout, err := parseDuration(text)
		if err != nil {
			return invalidParameter("timeout", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	options, err := queryOptions(r)
	if err != nil {
		return badData(err)
	}
	q, err := prepare(ctx, options)
	if err != nil {
		return unparsed(err, invalidQuery)
	}
	defer func() {
		if result.done == nil { // only after a panic
			q.Close()
		}
	}()
	return a.evaluated(r, limit, q, q.Exec(ctx))
}

func (a *api) evaluated(r request, limit int, q promql.Query, res *promql.Result) answer {
	if res.Err != nil {
		return answer{err: failed(res.Err), warnings: res.Warnings, done: q.Close}
	}
	warnings := res.Warnings
	if limit > 0 && truncate(res, limit) {
		warnings = warnings.Add(errTruncated)
	}
	data := &queryData{ResultType: res.Value.Type(), Result: res.Value}
	if wanted := r.FormValue("stats"); wanted != "" {
		data.Stats = stats.NewQueryStats(q.Stats())
		if wanted != statsTrue && wanted != statsAll {
			warnings = warnings.Add(
				fmt.Errorf("value %q for parameter \"stats\" is deprecated and will be rejected in the next major release, use %q or %q",
					wanted, statsTrue, statsAll))
		}
	}
	return answer{data: data, warnings: warnings, done: q.Close}
}

// Values of the parameter stats: statistics of the whole query, or also of each step.
const (
	statsTrue = "true"
	statsAll  = "all"
)

// queryOptions reads the parameters stats and lookback_delta.
func queryOptions(r request) (promql.QueryOpts, error) {
	var lookback time.Duration
	if text := r.FormValue("lookback_delta"); text != "" {
		d, err := parseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("error parsing lookback delta duration: %w", err)
		}
		lookback = d
	}
	return promql.NewPrometheusQueryOpts(r.FormValue("stats") == statsAll, lookback), nil
}

// truncate shortens a vector or matrix to limit elements, and reports whether it removed any.
func truncate(res *promql.Result, limit int) bool {
	switch v := res.Value.(type) {
	case promql.Matrix:
		if len(v) > limit {
			res.Value = v[:limit]
			return true
		}
	case promql.Vector:
		if len(v) > limit {
			res.Value = v[:limit]
			return true
		}
	}
	return false
}

// formatQuery answers /format_query: the expression with line breaks and indentation.
func (a *api) formatQuery(r request) answer {
	pretty, err := a.options.Engine.Format(r.Context(), r.FormValue("query"))
	if err != nil {
		return unparsed(err, invalidQuery)
	}
	return answer{data: pretty}
}

func invalidQuery(err error) answer { return invalidParameter("query", err) }
