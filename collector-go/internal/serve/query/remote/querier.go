package remote

import (
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
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

type querier struct {
	store        *Store
	minMs, maxMs int64
}

// Select reads a selector's series, in the order of their labels. Where the query's plan knows the instants at which it
// looks, the engine looks at them, so that a series that ended is not there; else all samples come, without the markers
// of series that ended, which no API gives: a subquery that also reads what lies beside the engine sees such a series
// for as long as it looks back.
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
		return storage.ErrSeriesSet(fmt.Errorf("query.url %s: the answer to %s is a %s", q.store.address,
			text.Expression, found.Type()))
	}
	all, err := seriesOf(plan.From(ctx), matrix)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	if thinned {
		for i := range all {
			all[i].samples = withMarkers(all[i].samples, at)
		}
	}
	return newSet(all, warnings)
}

// list reads labels alone.
func (q *querier) list(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) storage.SeriesSet {
	found, warnings, infos, err := q.store.api.Series(ctx, []string{selector(matchers)}, timeOf(minMs), timeOf(maxMs))
	if err != nil {
		return storage.ErrSeriesSet(q.store.failed(ctx, err))
	}
	if err := plan.From(ctx).ReadSeries(len(found)); err != nil {
		return storage.ErrSeriesSet(err)
	}
	all := make([]series, len(found))
	for i, lset := range found {
		all[i].labels = labelsOf(model.Metric(lset))
	}
	return newSet(all, remarks(warnings, infos))
}

// seriesOf are an answer's series with their samples, by time.
func seriesOf(p *plan.Plan, matrix model.Matrix) ([]series, error) {
	if err := p.ReadSeries(len(matrix)); err != nil {
		return nil, err
	}
	all := make([]series, len(matrix))
	for i, stream := range matrix {
		if err := p.ReadSamples(len(stream.Values) + len(stream.Histograms)); err != nil {
			return nil, err
		}
		s := &all[i]
		s.labels = labelsOf(stream.Metric)
		for _, v := range stream.Values {
			s.samples = append(s.samples, sample{ms: int64(v.Timestamp), value: float64(v.Value)})
		}
		for _, v := range stream.Histograms {
			h, err := histogramOf(v.Histogram)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.labels, err)
			}
			s.samples = append(s.samples, sample{ms: int64(v.Timestamp), histogram: h})
		}
		slices.SortStableFunc(s.samples, func(x, y chunks.Sample) int { return int(x.T() - y.T()) })
	}
	return all, nil
}

// withMarkers ends a series wherever it has nothing at an instant: the engine that evaluates has looked back already.
func withMarkers(samples []chunks.Sample, at plan.Instants) (all []chunks.Sample) {
	for i, s := range samples {
		all = append(all, s)
		next := s.T() + at.StepMs
		if next <= at.LastMs && (i+1 == len(samples) || samples[i+1].T() > next) {
			all = append(all, sample{ms: next, value: stale})
		}
	}
	return all
}

// selector is matchers as text.
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
	all := make([]string, len(found))
	for i, v := range found {
		all[i] = string(v)
	}
	slices.Sort(all)
	return all, remarks(warnings, infos), q.store.failed(ctx, err)
}

// LabelNames implements storage.Querier.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	found, warnings, infos, err := q.store.api.LabelNames(ctx, selected(matchers), timeOf(q.minMs), timeOf(q.maxMs),
		limit(hints)...)
	all := make([]string, len(found))
	for i, name := range found {
		all[i] = string(name)
	}
	slices.Sort(all)
	return all, remarks(warnings, infos), q.store.failed(ctx, err)
}

// Close implements storage.Querier; nothing is held.
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

// stale is the value that ends a series.
var stale = math.Float64frombits(value.StaleNaN)
