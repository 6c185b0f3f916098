package query

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// sorted hands the engine a store's series in the order of their labels, wherever they lie: a store gives those in
// memory in the order of their arrival and those in blocks by their labels, and the engine breaks ties (topk) and adds
// floats in the order that it meets. So an answer does not change when a block is written.
type sorted struct{ storage.Queryable }

// Querier wraps the store's.
func (s sorted) Querier(minMs, maxMs int64) (storage.Querier, error) {
	querier, err := s.Queryable.Querier(minMs, maxMs)
	if err != nil {
		return nil, err
	}
	return sortedQuerier{querier}, nil
}

type sortedQuerier struct{ storage.Querier }

// Select asks for sorted series, whatever the engine asked for.
func (q sortedQuerier) Select(ctx context.Context, _ bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return q.Querier.Select(ctx, true, hints, matchers...)
}
