package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// collectionSpan is the time range of /collection if the parameter start is missing.
const collectionSpan = time.Hour

// collection answers /collection/{name}: how complete the samples of a topology are in a time range.
func (a *api) collection(r request) answer {
	name := r.PathValue("name")
	end, wrongEnd := timeParameter(r, "end", a.now())
	start, wrongStart := timeParameter(r, "start", end.Add(-collectionSpan))
	if err := cmp.Or(wrongEnd, wrongStart); err != nil {
		return badData(err)
	}
	if !start.Before(end) {
		return invalidParameter("start", errors.New("must be before end"))
	}
	found, err := collection.ReadByClocks(r.Context(), Instant(a.options.Engine), name, start, end,
		a.clocksAhead(r.Context(), name))
	switch {
	case err != nil:
		return answer{err: failed(err)}
	case len(found.Workers) == 0:
		return notFound(fmt.Errorf(
			"no samples of topology %q from %s to %s; /api/v1/topologies lists the known topologies",
			name, found.Start, found.End))
	}
	if a.options.NotStored != nil {
		if names, more := a.options.NotStored(name); len(names) > 0 {
			found.NotStored, found.NotStoredMore = names, more
		}
	}
	return answer{data: found}
}

// clocksAhead returns by how much each worker's time is ahead of the collector's, as far as the registry knows. It
// uses the worker's measured clock. If that is unknown and the worker is alive, it uses the time of the newest report.
func (a *api) clocksAhead(ctx context.Context, topology string) map[string]time.Duration {
	ahead := map[string]time.Duration{}
	if a.options.Federation == nil {
		return ahead
	}
	found, _, _ := a.options.Federation.Topology(ctx, topology, "")
	for _, w := range found.Workers {
		newest, err := time.Parse(time.RFC3339, w.LastSeen)
		switch {
		case w.Clock != nil && w.Clock.Ahead != 0:
			ahead[w.Worker] = time.Duration(w.Clock.Ahead * float64(time.Second))
		case w.Alive && err == nil:
			ahead[w.Worker] = newest.Sub(a.now())
		}
	}
	return ahead
}

// Instant returns a collection.Ask that evaluates expressions with the collector's own engine. The labels of the
// returned values are copies, because the engine reuses its memory after the query is closed.
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

// valuesOf returns the values of a vector, or all values of all series of a matrix.
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
