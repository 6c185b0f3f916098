package grid

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/read"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// Querier returns a querier for slices that end within [minMs, maxMs], which makes *Store a storage.Queryable. No file
// that it reads is deleted before it is closed, so a querier that is never closed keeps disk space in use.
func (s *Store) Querier(minMs, maxMs int64) (storage.Querier, error) {
	sources, release, err := s.sources(minMs, maxMs)
	if err != nil {
		return nil, err
	}
	return read.NewQuerier(sources, minMs, maxMs, release), nil
}

// ComputesWindows implements plan.Computing: queriers return results of windows if a query's plan asks for them
// (decision 15).
func (s *Store) ComputesWindows() bool { return true }

// sources returns where slices within [minMs, maxMs] may be, oldest first. They are valid until release is called.
func (s *Store) sources(minMs, maxMs int64) (all []run.Source, release func() error, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	all, release = s.reading(minMs, maxMs)
	return all, release, nil
}

// reading begins a reader of the heads, and of all parts that may have slices within [minMs, maxMs]. The caller holds
// lock. Sources are returned in order of precedence, oldest first. If two have a slice of one series at one time, the
// older source's counts, as in a merge.
func (s *Store) reading(minMs, maxMs int64) (all []run.Source, release func() error) {
	var pieces []*piece
	for _, p := range s.pieces {
		if p.minMs <= maxMs && p.maxMs >= minMs {
			p.readers++
			pieces = append(pieces, p)
			all = append(all, p)
		}
	}
	if s.frozen != nil {
		all = append(all, source{&s.lock, s.frozen.head})
	}
	all = append(all, source{&s.lock, s.live})
	s.readers++
	return all, sync.OnceValue(func() error { s.leave(pieces); return nil })
}

// leave ends a reader. It removes the files of parts that were merged or expired meanwhile and that nobody reads any
// more.
func (s *Store) leave(pieces []*piece) {
	var unread []*piece
	s.lock.Lock()
	for _, p := range pieces {
		if p.readers--; p.readers == 0 && p.dropped {
			unread = append(unread, p)
			s.lingering.Add(-p.bytes)
		}
	}
	s.readers--
	last := s.readers == 0 && s.closed
	s.lock.Unlock()
	s.sweep(unread)
	if last {
		close(s.unread)
	}
}

// Newest returns the end of the store's newest slice that is not a gap marker. ok is false if there is none.
func (s *Store) Newest(ctx context.Context) (endMs int64, ok bool, err error) {
	sources, release, err := s.sources(math.MinInt64, math.MaxInt64)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = release() }()
	for _, each := range slices.Backward(sources) {
		if p, isPart := each.(*piece); isPart && ok && p.maxMs <= endMs {
			continue
		}
		at, found, err := newest(ctx, each, endMs, ok)
		if err != nil {
			return 0, false, fmt.Errorf("grid store: read: %w", err)
		}
		if found {
			endMs, ok = at, true
		}
	}
	return endMs, ok, nil
}

// newest returns the end of a source's newest slice that is not a gap marker. If bounded is true, it only looks for
// slices after afterMs.
func newest(ctx context.Context, from run.Source, afterMs int64, bounded bool) (endMs int64, ok bool, err error) {
	minMs := int64(math.MinInt64)
	if bounded {
		minMs = afterMs + 1
	}
	all, err := from.Select(ctx, minMs, math.MaxInt64,
		[]*labels.Matcher{labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, "")})
	var runs []run.Run
	for _, found := range all {
		runs, err = found.Reader.Runs(found.Ref, minMs, math.MaxInt64, runs[:0])
		if err != nil {
			return 0, false, err
		}
		for _, r := range runs {
			for i := r.Slots() - 1; i >= 0; i-- {
				ms := r.FirstMs + int64(i)*r.StepMs
				if ms < minMs || ok && ms <= endMs {
					break
				}
				if r.Has(i) && !isMarker(&r, i) {
					endMs, ok, minMs = ms, true, ms+1
					break
				}
			}
		}
	}
	return endMs, ok, err
}

// isMarker reports whether the slice at a slot is a gap marker.
func isMarker(r *run.Run, slot int) bool {
	if r.Histograms != nil {
		return r.Histograms[slot] == nil
	}
	return value.IsStaleNaN(r.Values[slot])
}
