package query

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// Series and Point are promql's types, for packages that compute series and need nothing else of the engine.
type (
	Series = promql.Series
	Point  = promql.FPoint
)

// set implements storage.SeriesSet for series that are in memory.
type set struct {
	all      []Series
	at       int
	warnings annotations.Annotations
}

// NewSet returns series that are in memory as a storage.SeriesSet. It sorts all in place by labels, because a merge
// with the series of another store relies on that order.
func NewSet(all []Series, warnings annotations.Annotations) storage.SeriesSet {
	slices.SortFunc(all, func(x, y Series) int { return labels.Compare(x.Metric, y.Metric) })
	return &set{all: all, at: -1, warnings: warnings}
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.all) }
func (s *set) At() storage.Series                { return promql.NewStorageSeries(s.all[s.at]) }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return s.warnings }
