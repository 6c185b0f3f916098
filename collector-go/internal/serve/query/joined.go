package query

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// joined is a main store that is read together with further stores.
type joined struct {
	store  storage.Queryable
	beside []storage.Queryable
}

// Join returns a store that reads store and the stores beside it as one. A series that is in several of them has the
// samples of all. The stores beside it are optional: if one cannot be read, a query has the results of store and a
// warning.
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

// Select implements storage.Querier. If the plan lets the store compute windows, the store's results are used only if
// no other store has any of the series. Otherwise the error is plan.ErrNotComputed, and the query is evaluated again
// from samples.
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

// dispensable is a querier whose errors become warnings. Prometheus has secondary queriers for this purpose, but they
// allow only one Select.
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

// given returns err if it must end the query in any case, which is true for a timeout and a cancellation. Otherwise it
// returns nil.
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

// unreadable is the querier of a store that could not be opened. Every method returns the error of opening.
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

// sorted returns the series of a store sorted by their labels. A store returns the series in memory in order of
// arrival and the series in blocks in order of labels. The engine breaks ties (topk) and adds floats in the order of
// the series. Without sorting, a result could change when a block is written.
type sorted struct{ storage.Queryable }

// Querier implements storage.Queryable.
func (s sorted) Querier(minMs, maxMs int64) (storage.Querier, error) {
	querier, err := s.Queryable.Querier(minMs, maxMs)
	if err != nil {
		return nil, err
	}
	return sortedQuerier{querier}, nil
}

type sortedQuerier struct{ storage.Querier }

// Select implements storage.Querier. It always requests sorted series.
func (q sortedQuerier) Select(ctx context.Context, _ bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return q.Querier.Select(ctx, true, hints, matchers...)
}

// ErrNoStore means that there is nothing to query, because this collector does not store slices itself.
var ErrNoStore = errors.New(
	"this collector keeps no slices of its own (store.embedded.enabled is false): ask the store that it sends them to, or name it in query.url")

// Absent is a placeholder for a missing store. Every query to it ends with ErrNoStore.
var Absent storage.Queryable = absent{}

type absent struct{}

func (absent) Querier(int64, int64) (storage.Querier, error) { return nil, ErrNoStore }
