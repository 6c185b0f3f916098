// Package read answers PromQL's storage interface from runs: it finds series in several sources, merges what they hold by time, and gives the
// engine samples. It knows neither files nor what is appended.
package read

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query/plan"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// querier reads several sources as one.
type querier struct {
	sources      []run.Source
	minMs, maxMs int64
	release      func() error
}

// NewQuerier reads the slices that end within [minMs, maxMs], both included. Where two sources hold a slice of a series at one time the
// first in the list wins. Close calls release once; nil: there is nothing to release.
func NewQuerier(sources []run.Source, minMs, maxMs int64, release func() error) storage.Querier {
	return &querier{sources: sources, minMs: minMs, maxMs: maxMs, release: release}
}

// onlyLabels is the hint's function of who wants series without their slices.
const onlyLabels = "series"

// Select finds series, always in the order of their labels. Their slices are decoded when their iterators first move.
func (q *querier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	w := wanted{ctx: ctx, plan: plan.From(ctx), minMs: q.minMs, maxMs: q.maxMs}
	limit := 0
	if hints != nil {
		w.minMs, w.maxMs, limit = max(w.minMs, hints.Start), min(w.maxMs, hints.End), hints.Limit
		w.noSlices = hints.Func == onlyLabels
		if hints.Range == 0 {
			w.instants, w.thinned = w.plan.Instants(matchers)
		}
	}
	if w.minMs > w.maxMs {
		return storage.EmptySeriesSet()
	}
	set := &seriesSet{wanted: w, limit: limit}
	for rank, source := range q.sources {
		found, err := source.Select(ctx, w.minMs, w.maxMs, matchers)
		if err = set.warn(err); err != nil {
			return storage.ErrSeriesSet(err)
		}
		if len(found) > 0 {
			set.heads = append(set.heads, head{rank: rank, left: found})
		}
	}
	return set
}

// LabelNames are the sorted names of labels that matching series have.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.words(ctx, hints, func(s run.Source) ([]string, error) { return s.LabelNames(ctx, matchers) })
}

// LabelValues are the sorted values that a label has in matching series.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.words(ctx, hints, func(s run.Source) ([]string, error) { return s.LabelValues(ctx, name, matchers) })
}

func (q *querier) words(ctx context.Context, hints *storage.LabelHints, of func(run.Source) ([]string, error)) ([]string, annotations.Annotations, error) {
	var all []string
	var warnings annotations.Annotations
	for _, source := range q.sources {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		found, err := of(source)
		if damaged := (*run.DamageError)(nil); errors.As(err, &damaged) {
			warnings.Add(err)
		} else if err != nil {
			return nil, warnings, err
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if hints != nil && hints.Limit > 0 && len(all) > hints.Limit {
		all = all[:hints.Limit]
	}
	return all, warnings, nil
}

// Close releases what the sources lie in. It may be called twice.
func (q *querier) Close() error {
	release := q.release
	q.release = nil
	if release == nil {
		return nil
	}
	return release()
}
