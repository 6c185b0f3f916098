package replay

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// Intake wraps the store of a replay and records which series the store accepted. The summary lists the metrics that a
// query will find from it. It is safe for concurrent use.
type Intake struct {
	feed.Store
	mu       sync.Mutex
	names    []string // indexed by slice.Ref
	texts    []string
	given    map[string]map[string]bool // series that the store accepted, by metric
	rejected map[string]int
}

// NewIntake returns an Intake. The caller sets its Store before use.
func NewIntake() *Intake {
	return &Intake{given: map[string]map[string]bool{}, rejected: map[string]int{}}
}

// Rewind implements feed.Rewinder.
func (s *Intake) Rewind(cursor uint64) {
	if store, ok := s.Store.(feed.Rewinder); ok {
		store.Rewind(cursor)
	}
}

// Append implements feed.Store. It passes the slices on and records what the store accepted.
func (s *Intake) Append(ctx context.Context, upTo uint64, closed *slice.Columns) (map[string]int, error) {
	rejected, err := s.Store.Append(ctx, upTo, closed)
	if err != nil {
		return rejected, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.define(closed.Definitions)
	for i, ref := range closed.Refs {
		if !value.IsStaleNaN(closed.Values[i]) {
			s.give(ref)
		}
	}
	for i, ref := range closed.HistogramRefs {
		if closed.Histograms[i] != nil {
			s.give(ref)
		}
	}
	for reason, n := range rejected {
		s.rejected[reason] += n
	}
	return rejected, nil
}

// define records the name and labels of new series by their Ref. Series that differ only in their Ref count once.
func (s *Intake) define(definitions []slice.Definition) {
	for _, d := range definitions {
		for int(d.Ref) >= len(s.names) {
			s.names, s.texts = append(s.names, ""), append(s.texts, "")
		}
		s.names[d.Ref], s.texts[d.Ref] = d.Series.Name(), string(d.Series.Labels.Bytes(nil))
	}
}

// give records that the store accepted a slice of a series.
func (s *Intake) give(ref slice.Ref) {
	name := s.names[ref]
	if s.given[name] == nil {
		s.given[name] = map[string]bool{}
	}
	s.given[name][s.texts[ref]] = true
}

// Metrics returns the number of stored series of each of the captures' metrics. It leaves out the collector's metrics
// about the collection itself.
func (s *Intake) Metrics() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]int, len(s.given))
	for name, series := range s.given {
		if !strings.HasPrefix(name, catalog.CollectionPrefix) {
			all[name] = len(series)
		}
	}
	return all
}

// Check returns an error if the store refused slices, because they are much older than what it holds.
func (s *Intake) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rejected) == 0 {
		return nil
	}
	return fmt.Errorf("the store refused slices (%v): the directory holds data much newer than the capture; replay it into a directory of its own",
		s.rejected)
}
