package httpapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
)

// collectionSpan is the time range of /collection where start is left out.
const collectionSpan = time.Hour

// collection answers /collection/{name}: how whole it is what was collected of a topology.
func (a *api) collection(r request) answer {
	name := r.PathValue("name")
	end, err := timeParameter(r, "end", a.now())
	if err != nil {
		return invalidParameter("end", err)
	}
	start, err := timeParameter(r, "start", end.Add(-collectionSpan))
	if err != nil {
		return invalidParameter("start", err)
	}
	if !start.Before(end) {
		return invalidParameter("start", errors.New("it must be before end"))
	}
	whole, err := collection.Read(r.Context(), Instant(a.options.Engine), name, start, end)
	switch {
	case err != nil:
		return answer{err: failed(err)}
	case len(whole.Workers) == 0:
		return notFound(fmt.Errorf(
			"nothing was collected of a topology %q from %s to %s; /api/v1/topologies lists those that have reported",
			name, whole.Start, whole.End))
	}
	return answer{data: whole}
}

// Instant answers the vector that an expression is at a time, or all values of a range selector; a value holds for so
// long.
func Instant(engine *query.Engine) func(ctx context.Context, expr string, at time.Time, holds time.Duration) (
	[]collection.Value, error) {
	return func(ctx context.Context, expr string, at time.Time, holds time.Duration) ([]collection.Value, error) {
		q, err := engine.Instant(ctx, promql.NewPrometheusQueryOpts(false, holds), expr, at)
		if err != nil {
			return nil, err
		}
		defer q.Close()
		return valuesOf(q.Exec(ctx))
	}
}

func valuesOf(result *promql.Result) ([]collection.Value, error) {
	if matrix, err := result.Matrix(); err == nil {
		var values []collection.Value
		for _, series := range matrix {
			ls := series.Metric.Copy()
			for _, p := range series.Floats {
				values = append(values, collection.Value{Labels: ls, Value: p.F, TimeMs: p.T})
			}
		}
		return values, nil
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, err
	}
	values := make([]collection.Value, len(vector))
	for i, sample := range vector {
		values[i] = collection.Value{Labels: sample.Metric.Copy(), Value: sample.F, TimeMs: sample.T}
	}
	return values, nil
}
