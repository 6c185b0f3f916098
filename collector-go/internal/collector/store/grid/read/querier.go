// Package read implements Prometheus' storage interface for queries of the grid store. It finds series in several
// sources, which are the heads in memory and the parts on disk. It merges their slices by time, and returns samples to
// the engine.
//
// The package knows sources only as run.Source. It knows neither files nor how slices are appended.
//
// Most of its code saves work. A query's plan says which instants or windows the query needs (package plan), and the
// iterator skips all other slices. Windows of common functions are computed here instead of in the engine
// (computing.go, windows.go), from levels if a part has them (levels.go, outline.go). The results must equal the
// engine's bit by bit.
//
// Start with querier.go, series.go and iterator.go, which can answer any query. The other files only make some queries
// faster.
package read

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// querier reads several sources as one. The engine uses it from one goroutine, which closes it. Afterwards nothing that
// it returned may be used. It keeps parts on disk until then.
type querier struct {
	sources      []run.Source
	minMs, maxMs int64
	release      func() error
}

// NewQuerier returns a querier for the slices that end within [minMs, maxMs]. If two sources have a slice of a series
// at one time, the source that comes first in the list takes precedence. Close calls release once, unless it is nil.
func NewQuerier(sources []run.Source, minMs, maxMs int64, release func() error) storage.Querier {
	return &querier{sources: sources, minMs: minMs, maxMs: maxMs, release: release}
}

// onlyLabels is the function in the hints of callers that need series without their slices, such as the series API.
const onlyLabels = "series"

// Select returns the matching series. They are always sorted by labels, because merging sources requires it. Slices are
// decoded when an iterator first moves, so a query that only counts series decodes none.
func (q *querier) Select(ctx context.Context, _ bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	w := wanted{ctx: ctx, plan: plan.From(ctx), minMs: q.minMs, maxMs: q.maxMs}
	limit := 0
	if hints != nil {
		w.minMs, w.maxMs, limit = max(w.minMs, hints.Start), min(w.maxMs, hints.End), hints.Limit
		w.noSlices = hints.Func == onlyLabels
		if w.windows, w.computed = w.plan.Windows(matchers); w.computed {
			w.minMs, w.maxMs = max(q.minMs, w.windows.FirstMs-w.windows.RangeMs+1), min(q.maxMs, w.windows.LastMs)
			if w.windows.Function == plan.MaxOverTime || w.windows.Function == plan.MinOverTime {
				w.levels = &levels{}
			}
		} else if hints.Range == 0 {
			w.instants, w.thinned = w.plan.Instants(matchers)
		}
	}
	if w.minMs > w.maxMs {
		return storage.EmptySeriesSet()
	}
	set := &seriesSet{wanted: w, limit: limit}
	for _, source := range q.sources {
		found, err := source.Select(ctx, w.minMs, w.maxMs, matchers)
		if err = set.warn(err); err != nil {
			return storage.ErrSeriesSet(err)
		}
		if len(found) > 0 {
			set.left = append(set.left, found)
		}
	}
	return set
}

// LabelNames returns the sorted label names of matching series. If the query is bounded in time, only series that may
// have slices in that range count.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return q.words(ctx, hints, func(s run.Source) ([]string, error) {
		if q.bounded() {
			return q.wordsWithin(ctx, s, matchers, func(l labels.Labels, add func(string)) {
				l.Range(func(l labels.Label) { add(l.Name) })
			})
		}
		return s.LabelNames(ctx, matchers)
	})
}

// LabelValues returns the sorted values of a label in matching series. If the query is bounded in time, only series
// that may have slices in that range count.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints,
	matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.words(ctx, hints, func(s run.Source) ([]string, error) {
		if q.bounded() {
			return q.wordsWithin(ctx, s, matchers, func(l labels.Labels, add func(string)) {
				if value := l.Get(name); value != "" {
					add(value)
				}
			})
		}
		return s.LabelValues(ctx, name, matchers)
	})
}

// bounded reports whether the query is limited to a time range. Only then are labels restricted to series that may have
// slices in it. Without a range, the index alone answers, which is much faster.
func (q *querier) bounded() bool { return q.minMs > farMs[0] || q.maxMs < farMs[1] }

// farMs are the times beyond which a bound is not a real one. If a request names no range, Prometheus' API passes its
// least and greatest time.
var farMs = [2]int64{-100_000_000_000_000, 100_000_000_000_000}

// wordsWithin collects label names or values from a source's series that may have slices within the querier's range. It
// finds the series first, which costs more than using only the index.
func (q *querier) wordsWithin(ctx context.Context, s run.Source, matchers []*labels.Matcher,
	of func(labels.Labels, func(string))) ([]string, error) {
	found, err := s.Select(ctx, q.minMs, q.maxMs, append([]*labels.Matcher{anySeries}, matchers...))
	words := map[string]struct{}{}
	for _, f := range found {
		of(f.Labels, func(word string) { words[word] = struct{}{} })
	}
	return slices.Collect(maps.Keys(words)), err
}

// anySeries matches every series that has a name.
var anySeries = labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, "")

// words merges the names or values of all sources, sorted and without duplicates. Damage in a source becomes a warning.
// A limit cuts the sorted list, so that the same query returns the same words.
func (q *querier) words(ctx context.Context, hints *storage.LabelHints, of func(run.Source) ([]string, error)) (
	[]string, annotations.Annotations, error) {
	var all []string
	var warnings annotations.Annotations
	for _, source := range q.sources {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		found, err := of(source)
		if _, damaged := errors.AsType[*run.DamageError](err); damaged {
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

// Close releases the sources. It may be called twice.
func (q *querier) Close() error {
	release := q.release
	q.release = nil
	if release == nil {
		return nil
	}
	return release()
}
