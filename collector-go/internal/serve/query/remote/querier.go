package remote

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

type querier struct {
	store        *Store
	minMs, maxMs int64
}

// Select reads a selector's series, sorted by labels. If the query's plan knows the instants, the remote engine
// evaluates the selector at these instants, so that an ended series is absent. Otherwise Select reads all samples.
// These lack the markers of ended series, because the API does not return markers. Therefore a subquery that also
// reads other stores sees an ended series until the end of the lookback.
func (q *querier) Select(ctx context.Context, _ bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	minMs, maxMs := q.minMs, q.maxMs
	if hints != nil {
		minMs, maxMs = hints.Start, hints.End
	}
	if hints != nil && hints.Func == "series" {
		return q.list(ctx, minMs, maxMs, matchers)
	}
	at, thinned := plan.From(ctx).Instants(matchers)
	text := plan.Text{Expression: selector(matchers), Start: timestamp.Time(at.FirstMs), End: timestamp.Time(at.LastMs),
		Step: time.Duration(at.StepMs) * time.Millisecond, Range: true}
	if !thinned {
		minMs = max(minMs, 0)
		text.Expression = fmt.Sprintf("%s[%dms]", text.Expression, max(1, maxMs-minMs+1))
		text.Start, text.Range = timestamp.Time(maxMs), false
	}
	found, warnings, err := q.store.evaluate(ctx, text)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	matrix, is := found.(model.Matrix)
	if !is {
		return storage.ErrSeriesSet(fmt.Errorf("query.url %s: the result of %s is a %s", q.store.address,
			text.Expression, found.Type()))
	}
	all, err := seriesOf(plan.From(ctx), matrix)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	if thinned {
		for i := range all {
			addMarkers(&all[i], at)
		}
	}
	return query.NewSet(all, warnings)
}

// list reads the label sets of series without their samples.
func (q *querier) list(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) storage.SeriesSet {
	found, warnings, infos, err := q.store.api.Series(ctx, []string{selector(matchers)}, timeOf(minMs), timeOf(maxMs))
	if err != nil {
		return storage.ErrSeriesSet(q.store.failed(ctx, err))
	}
	if err := plan.From(ctx).ReadSeries(len(found)); err != nil {
		return storage.ErrSeriesSet(err)
	}
	all := make(promql.Matrix, len(found))
	for i, lset := range found {
		all[i].Metric = labelsOf(model.Metric(lset))
	}
	return query.NewSet(all, remarks(warnings, infos))
}

// seriesOf converts the series of an answer with their samples. They count against the query's limits.
func seriesOf(p *plan.Plan, matrix model.Matrix) (promql.Matrix, error) {
	if err := p.ReadSeries(len(matrix)); err != nil {
		return nil, err
	}
	for _, stream := range matrix {
		if err := p.ReadSamples(len(stream.Values) + len(stream.Histograms)); err != nil {
			return nil, err
		}
	}
	return matrixOf(matrix)
}

// addMarkers adds a stale marker at each instant without a value that follows one with a value. The remote engine has
// already applied the lookback, so that the series really has no value there.
func addMarkers(s *promql.Series, at plan.Instants) {
	known := map[int64]bool{}
	for _, p := range s.Floats {
		known[p.T] = true
	}
	for _, p := range s.Histograms {
		known[p.T] = true
	}
	for ms := range known {
		if next := ms + at.StepMs; next <= at.LastMs && !known[next] {
			s.Floats = append(s.Floats, promql.FPoint{T: next, F: stale})
		}
	}
	slices.SortFunc(s.Floats, func(x, y promql.FPoint) int { return cmp.Compare(x.T, y.T) })
}

// selector returns matchers as a PromQL selector.
func selector(matchers []*labels.Matcher) string {
	all := make([]string, len(matchers))
	for i, m := range matchers {
		all[i] = m.String()
	}
	return "{" + strings.Join(all, ",") + "}"
}

// LabelValues implements storage.Querier.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints,
	matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	found, warnings, infos, err := q.store.api.LabelValues(ctx, name, selected(matchers), timeOf(q.minMs),
		timeOf(q.maxMs), limit(hints)...)
	return sortedTexts(found), remarks(warnings, infos), q.store.failed(ctx, err)
}

// LabelNames implements storage.Querier.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	found, warnings, infos, err := q.store.api.LabelNames(ctx, selected(matchers), timeOf(q.minMs), timeOf(q.maxMs),
		limit(hints)...)
	return sortedTexts(found), remarks(warnings, infos), q.store.failed(ctx, err)
}

func sortedTexts[T ~string](found []T) []string {
	all := make([]string, len(found))
	for i, text := range found {
		all[i] = string(text)
	}
	slices.Sort(all)
	return all
}

// Close implements storage.Querier; there is nothing to close.
func (q *querier) Close() error { return nil }

func limit(hints *storage.LabelHints) (all []v1.Option) {
	if hints != nil && hints.Limit > 0 {
		all = append(all, v1.WithLimit(uint64(hints.Limit)))
	}
	return all
}

func selected(matchers []*labels.Matcher) []string {
	if len(matchers) == 0 {
		return nil
	}
	return []string{selector(matchers)}
}

// stale is the value of the marker that ends a series.
var stale = math.Float64frombits(value.StaleNaN)
