package query

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// unreadable is a querier of a store that cannot be read: everything asked of it ends with its error.
type unreadable struct{ err error }

// Select implements storage.Querier.
func (u unreadable) Select(context.Context, bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
	return storage.ErrSeriesSet(u.err)
}

// LabelValues implements storage.Querier.
func (u unreadable) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, u.err
}

// LabelNames implements storage.Querier.
func (u unreadable) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, u.err
}

// Close implements storage.Querier.
func (unreadable) Close() error { return nil }
