package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// Line is a series over time. TimesMs are ascending, in ms since the Unix epoch. A missing time is a gap.
type Line struct {
	Labels  map[string]string
	TimesMs []int64
	Values  []float64
}

// Lines returns the series of a vector or a matrix, without histograms.
func Lines(value parser.Value) (all []Line, err error) {
	switch found := value.(type) {
	case promql.Vector:
		for _, s := range found {
			all = append(all, Line{Labels: s.Metric.Map(), TimesMs: []int64{s.T}, Values: []float64{s.F}})
		}
	case promql.Matrix:
		for _, s := range found {
			line := Line{Labels: s.Metric.Map()}
			for _, p := range s.Floats {
				line.TimesMs, line.Values = append(line.TimesMs, p.T), append(line.Values, p.F)
			}
			all = append(all, line)
		}
	default:
		return nil, fmt.Errorf("query: the result is a %s, not a vector or a matrix", value.Type())
	}
	return all, nil
}

// LinesAt evaluates an expression at one time.
func (e *Engine) LinesAt(ctx context.Context, expression string, at time.Time) ([]Line, error) {
	return linesOf(ctx)(e.Instant(ctx, nil, expression, at))
}

// LinesBetween evaluates an expression at each step of a time range.
func (e *Engine) LinesBetween(ctx context.Context, expression string, from, to time.Time, step time.Duration) (
	[]Line, error) {
	return linesOf(ctx)(e.Range(ctx, nil, expression, from, to, step))
}

func linesOf(ctx context.Context) func(promql.Query, error) ([]Line, error) {
	return func(prepared promql.Query, err error) ([]Line, error) {
		if err != nil {
			return nil, err
		}
		defer prepared.Close()
		result := prepared.Exec(ctx)
		if result.Err != nil {
			return nil, result.Err
		}
		return Lines(result.Value)
	}
}

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
