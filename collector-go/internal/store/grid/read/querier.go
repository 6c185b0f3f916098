// Package read answers PromQL's storage interface from runs: it finds series in several sources, merges what they hold by time, and gives the
// engine samples. It knows neither files nor what is appended.
package read

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

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

// Select is not there yet.
func (q *querier) Select(context.Context, bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
	return storage.ErrSeriesSet(errors.ErrUnsupported)
}

// LabelValues is not there yet.
func (q *querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

// LabelNames is not there yet.
func (q *querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
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
