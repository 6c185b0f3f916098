package query

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

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
