package query

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// joined is a store that is read with what lies beside it.
type joined struct {
	store  storage.Queryable
	beside []storage.Queryable
}

// Join reads a store and what lies beside it as one. A series that is in more than one has the samples of all. What
// lies beside the store can be done without: where it cannot be read a query has the store's answer, with a warning.
func Join(store storage.Queryable, beside ...storage.Queryable) storage.Queryable {
	return joined{store, beside}
}

func (j joined) Querier(minMs, maxMs int64) (storage.Querier, error) {
	first, err := j.store.Querier(minMs, maxMs)
	if err != nil {
		return nil, err
	}
	all := []storage.Querier{first}
	for _, store := range j.beside {
		q, err := store.Querier(minMs, maxMs)
		if err != nil {
			q = unreadable{err}
		}
		all = append(all, dispensable{q})
	}
	return joinedQuerier{storage.NewMergeQuerier(all, nil, storage.ChainedSeriesMerge), all}, nil
}

// ComputesWindows implements plan.Computing.
func (j joined) ComputesWindows() bool { return plan.Computes(j.store) }

type joinedQuerier struct {
	storage.Querier
	all []storage.Querier // the store's is the first
}

// Select implements storage.Querier. Results of windows are the store's where nothing beside it has any of the series.
func (q joinedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	of, computed := plan.From(ctx).Windows(matchers)
	if !computed {
		return q.Querier.Select(ctx, sorted, hints, matchers...)
	}
	found := &storage.SelectHints{Start: of.FirstMs - of.RangeMs + 1, End: of.LastMs, Func: "series"}
	for _, beside := range q.all[1:] {
		if set := beside.Select(plan.With(ctx, nil), false, found, matchers...); set.Next() ||
			len(set.Warnings()) > 0 || set.Err() != nil {
			return storage.ErrSeriesSet(plan.ErrNotComputed)
		}
	}
	return q.all[0].Select(ctx, sorted, hints, matchers...)
}

// dispensable is a querier whose errors are warnings. (Prometheus' own secondary queriers are Selected once only.)
type dispensable struct{ storage.Querier }

// Select implements storage.Querier.
func (d dispensable) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return dispensableSet{d.Querier.Select(ctx, sortSeries, hints, matchers...)}
}

// LabelValues implements storage.Querier.
func (d dispensable) LabelValues(ctx context.Context, name string, hints *storage.LabelHints,
	matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	values, warnings, err := d.Querier.LabelValues(ctx, name, hints, matchers...)
	return values, warned(warnings, err), given(err)
}

// LabelNames implements storage.Querier.
func (d dispensable) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	names, warnings, err := d.Querier.LabelNames(ctx, hints, matchers...)
	return names, warned(warnings, err), given(err)
}

type dispensableSet struct{ storage.SeriesSet }

// Err implements storage.SeriesSet.
func (s dispensableSet) Err() error { return given(s.SeriesSet.Err()) }

// Warnings implements storage.SeriesSet.
func (s dispensableSet) Warnings() annotations.Annotations {
	return warned(s.SeriesSet.Warnings(), s.SeriesSet.Err())
}

// given is an error that ends a query all the same: its time is over, or nobody waits for it any more.
func given(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func warned(warnings annotations.Annotations, err error) annotations.Annotations {
	if err != nil && given(err) == nil {
		warnings.Add(err)
	}
	return warnings
}

// unreadable is a querier of a store that does not open: everything ends with its error.
type unreadable struct{ err error }

// Select implements storage.Querier.
func (u unreadable) Select(context.Context, bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
	return storage.ErrSeriesSet(u.err)
}

// LabelValues implements storage.Querier.
func (u unreadable) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, u.err
}

// LabelNames implements storage.Querier.
func (u unreadable) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, u.err
}

// Close implements storage.Querier.
func (unreadable) Close() error { return nil }
