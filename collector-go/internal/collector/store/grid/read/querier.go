// Package read answers PromQL's storage interface for the grid store. It finds series in several sources, the heads in
// memory and the parts on disk, merges what they hold by time, and gives the engine samples.
//
// The package knows sources only as run.Source. It knows neither files nor how slices are appended.
//
// Most of its code saves work. A query's plan says which instants or windows the query needs (package plan), and the
// iterator skips all other slices. Windows of common functions are computed here instead of in the engine
// (computing.go, windows.go), from levels where a part has them (levels.go, outline.go). The results must equal the
// engine's to the bit.
//
// Start with querier.go, series.go and iterator.go, which answer any query; the other files only make some faster.
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

// querier reads several sources as one. The engine uses it from one goroutine, which closes it. After that nothing that
// it returned may be read. It keeps parts on disk until then.
type querier struct {
	sources      []run.Source
	minMs, maxMs int64
	release      func() error
}

// NewQuerier reads the slices that end within [minMs, maxMs], both included. If two sources hold a slice of a series at
// one time, the source that comes first in the list wins. Close calls release once; it may be nil.
func NewQuerier(sources []run.Source, minMs, maxMs int64, release func() error) storage.Querier {
	return &querier{sources: sources, minMs: minMs, maxMs: maxMs, release: release}
}

// onlyLabels is the function in the hints of a caller who wants series without their slices, such as the series API.
const onlyLabels = "series"

// Select finds series. They are always in the order of their labels, whether the caller asks for that or not, because
// merging sources needs it. Slices are decoded when an iterator first moves, so a query that only counts series decodes
// none.
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

// LabelNames are the sorted names of labels that matching series have. Within a time only series that may have slices
// in it count.
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

// LabelValues are the sorted values that a label has in matching series. Within a time only series that may have slices
// in it count.
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

// bounded reports whether the query names a time. Only then labels are restricted to series that may have slices within
// it; without a time, the index alone answers, which is much faster.
func (q *querier) bounded() bool { return q.minMs > farMs[0] || q.maxMs < farMs[1] }

// farMs are times before and behind which none is meant: Prometheus' API asks for its least and greatest where none is
// named.
var farMs = [2]int64{-100_000_000_000_000, 100_000_000_000_000}

// wordsWithin gathers words of the labels of a source's series that may have slices within the querier's time. It finds
// the series first, which costs more than the index alone.
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

// words joins what all sources answer, sorted and each once. Damage in a source becomes a warning. A limit cuts the
// sorted list, so that the same question gives the same words.
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

// Close releases what the sources lie in. It may be called twice.
func (q *querier) Close() error {
	release := q.release
	q.release = nil
	if release == nil {
		return nil
	}
	return release()
}
