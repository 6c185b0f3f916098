package grid

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// source makes a head readable for queries. A query may still use it after the head was published as parts. It reads
// under lock, because the live head and its table change while queries run.
type source struct {
	lock *sync.RWMutex // guards the head and its table
	head *head
}

// between is the number of series after which find checks whether the query has ended.
const between = 4096

// Select implements run.Source.
func (s source) Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]run.Found, error) {
	found, err := s.find(ctx, minMs, maxMs, matchers)
	slices.SortFunc(found, func(a, b run.Found) int { return labels.Compare(a.Labels, b.Labels) })
	return found, err
}

// find returns the series that match and that may have slices within [minMs, maxMs], in the order of their ids. It
// checks repeatedly whether the query has ended, because a selector may match a million series.
func (s source) find(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) (
	found []run.Found, err error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	t := s.head.table
	for i, id := range t.index.find(t.labels, matchers) {
		if i%between == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if s.head.holds(id, minMs, maxMs) {
			found = append(found, run.Found{Labels: t.labels[id], Reader: s, Ref: id})
		}
	}
	return found, nil
}

// LabelNames implements run.Source.
func (s source) LabelNames(ctx context.Context, matchers []*labels.Matcher) ([]string, error) {
	found, err := s.find(ctx, math.MinInt64, math.MaxInt64, matchers)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range found {
		f.Labels.Range(func(l labels.Label) { names[l.Name] = true })
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// LabelValues implements run.Source.
func (s source) LabelValues(ctx context.Context, name string, matchers []*labels.Matcher) ([]string, error) {
	if len(matchers) == 0 {
		return s.values(name), ctx.Err()
	}
	found, err := s.find(ctx, math.MinInt64, math.MaxInt64, matchers)
	if err != nil {
		return nil, err
	}
	values := map[string]bool{}
	for _, f := range found {
		if v := f.Labels.Get(name); v != "" {
			values[v] = true
		}
	}
	return slices.Sorted(maps.Keys(values)), nil
}

// values returns the label's values in all series of the head.
func (s source) values(name string) (all []string) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	for value, ids := range s.head.table.index.byName[name] {
		if slices.ContainsFunc(ids, func(id uint32) bool { return s.head.holds(id, math.MinInt64, math.MaxInt64) }) {
			all = append(all, value)
		}
	}
	slices.Sort(all)
	return all
}

// Runs implements run.Reader.
func (s source) Runs(ref uint32, minMs, maxMs int64, to []run.Run) ([]run.Run, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.head.runs(&reading{}, ref, minMs, maxMs, to), nil
}

// sortRuns sorts the runs of a series by their beginnings. Numbers and distributions are collected separately, and runs
// with different distances may overlap.
func sortRuns(runs []run.Run) {
	slices.SortStableFunc(runs, func(a, b run.Run) int { return cmp.Compare(a.FirstMs, b.FirstMs) })
}
