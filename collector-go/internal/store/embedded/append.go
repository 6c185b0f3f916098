package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// Why a slice is rejected; the keys of what Append returns.
const (
	RejectedTooOld    = "too_old"   // further behind the newest slice end than the out-of-order window
	RejectedConflict  = "conflict"  // another value stands at this time already
	RejectedInvalid   = "invalid"   // labels or histogram that no Prometheus store takes
	RejectedUndefined = "undefined" // a Ref without a definition
)

// series is one output series as the store knows it; the zero value is one that was never defined.
type series struct {
	labels labels.Labels
	ref    storage.SeriesRef // of the head; 0 until first used
}

// handing is one hand-over on its way into the head.
type handing struct {
	store    *Store
	appender storage.Appender
	newestMs int64 // the newest slice end so far, from which the window counts back
	durable  bool  // all of it lies before Durable
	storedMs int64 // slices that end before it are in blocks already
	settled  int64 // as Store.settledMs

	taken    []int64 // the slice ends of what was taken
	repeated int     // slices that were in blocks already
	rejected map[string]int
}

// Append takes slices that closed from journal records before upTo; c is the caller's again when it returns. Handing the same
// slices over again is harmless and counts nothing as rejected, whatever batches they come in. Where upTo falls, the caller
// is taken to have started over, from Durable or before.
//
// An error means that none of c counts as taken: after ErrNoSpace hand it over again later; after ErrFailed open the store anew.
func (s *Store) Append(ctx context.Context, upTo uint64, c *slice.Columns) (rejected map[string]int, err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	s.define(c.Definitions)
	h := s.begin(ctx, upTo)
	if err := s.guard(func() error { return h.commit(c) }); err != nil {
		return nil, err
	}
	s.finish(upTo, h)
	s.flushWhereIdle(ctx, c.Len())
	if err := s.ready(); err != nil {
		return nil, err
	}
	return h.rejected, nil
}

// flushWhereIdle writes all that is held after so many hand-overs without a slice: the topology has stopped, and what it said
// last must not hold the journal for ever.
func (s *Store) flushWhereIdle(ctx context.Context, slices int) {
	s.idle++
	if slices > 0 {
		s.idle = 0
	}
	if s.idle < s.options.IdleHandOvers {
		return
	}
	s.idle = 0
	if err := s.compactAll(ctx); err != nil {
		s.log.Warn("embedded store cannot write what it holds of a silent topology; it will try again", "error", err)
	}
}

// admit says why nothing can be taken now.
func (s *Store) admit(ctx context.Context) error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.room(); err != nil {
		return err
	}
	if !s.full() {
		return nil
	}
	if err := s.compactAll(ctx); err != nil && s.full() {
		return err
	}
	return nil
}

func (s *Store) full() bool {
	s.state.Lock()
	defer s.state.Unlock()
	return s.held.total >= s.options.MaxHeadSamples
}

func (s *Store) begin(ctx context.Context, upTo uint64) *handing {
	s.state.Lock()
	defer s.state.Unlock()
	if upTo < s.handovers.upTo && s.handovers.upTo > s.saved.position {
		s.rewind(max(s.db.Head().MaxTime()+1, s.settledMs))
	}
	h := &handing{store: s, newestMs: s.handovers.newestMs, storedMs: math.MinInt64, settled: s.settledMs, rejected: map[string]int{}}
	if upTo <= s.saved.handed {
		h.storedMs = s.saved.stored
	}
	h.durable = upTo <= s.saved.position
	h.appender = s.db.Appender(ctx)
	return h
}

func (s *Store) finish(upTo uint64, h *handing) {
	s.state.Lock()
	defer s.state.Unlock()
	if !h.durable {
		s.handovers.add(upTo, h.newestMs)
	}
	for _, endMs := range h.taken {
		s.held.add(endMs)
	}
	s.figures.count(h)
	s.compactWhereDue()
}

func (s *Store) define(definitions []slice.Definition) {
	for _, d := range definitions {
		for int(d.Ref) >= len(s.series) {
			s.series = append(s.series, series{})
		}
		if known := &s.series[d.Ref]; !labels.Equal(known.labels, d.Series.Labels) {
			*known = series{labels: d.Series.Labels}
		}
	}
}

func (h *handing) commit(c *slice.Columns) error {
	for i, ref := range c.Refs {
		if err := h.float(ref, c.EndsMs[i], c.Values[i]); err != nil {
			return errors.Join(err, h.appender.Rollback())
		}
	}
	for i, ref := range c.HistogramRefs {
		if err := h.histogram(ref, c.HistogramEndsMs[i], c.Histograms[i]); err != nil {
			return errors.Join(err, h.appender.Rollback())
		}
	}
	if err := h.appender.Commit(); err != nil {
		return fmt.Errorf("embedded store: commit: %w", err)
	}
	return nil
}

func (h *handing) float(ref slice.Ref, endMs int64, v float64) error {
	return h.take(ref, endMs, func(s *series) (storage.SeriesRef, error) {
		return h.appender.Append(s.ref, s.labels, endMs, v)
	})
}

// staleHistogram marks the end of a histogram series; tsdb knows it by its sum.
var staleHistogram = histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}

func (h *handing) histogram(ref slice.Ref, endMs int64, v *histogram.Histogram) error {
	if v == nil {
		v = &staleHistogram
	}
	v = v.Copy() // tsdb keeps it, and widens its spans
	return h.take(ref, endMs, func(s *series) (storage.SeriesRef, error) {
		return h.appender.AppendHistogram(s.ref, s.labels, endMs, v, nil)
	})
}

// take decides on one slice. The window is ours, over what was handed over in this order, so that a replay decides as the
// first time; tsdb's own view runs ahead during a replay, when its blocks are newer than what comes.
func (h *handing) take(ref slice.Ref, endMs int64, add func(*series) (storage.SeriesRef, error)) error {
	s := h.store
	if int(ref) >= len(s.series) || s.series[ref].labels.IsEmpty() {
		h.rejected[RejectedUndefined]++
		return nil
	}
	if h.durable {
		h.repeated++
		return nil
	}
	if tooOld(endMs, h.newestMs, s.options.OutOfOrderWindow.Milliseconds()) {
		h.rejected[RejectedTooOld]++
		return nil
	}
	if endMs < h.storedMs {
		h.newestMs = max(h.newestMs, endMs)
		h.repeated++
		return nil
	}
	headRef, err := add(&s.series[ref])
	if err != nil {
		return h.refused(endMs, err)
	}
	s.series[ref].ref = headRef
	h.newestMs = max(h.newestMs, endMs)
	h.taken = append(h.taken, endMs)
	return nil
}

func tooOld(endMs, newestMs, windowMs int64) bool {
	return newestMs != math.MinInt64 && endMs < newestMs-windowMs
}

// refused counts what tsdb refused for what it is, and returns an error that is about the store.
func (h *handing) refused(endMs int64, err error) error {
	switch {
	case errors.Is(err, storage.ErrTooOldSample) && endMs < h.settled:
		h.newestMs = max(h.newestMs, endMs)
		h.repeated++ // in a block already: see docs/stores/embedded.md, "Why nothing is lost"
	case errors.Is(err, storage.ErrTooOldSample), errors.Is(err, storage.ErrOutOfBounds), errors.Is(err, storage.ErrOutOfOrderSample):
		h.rejected[RejectedTooOld]++
	case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
		h.rejected[RejectedConflict]++
	case errors.Is(err, tsdb.ErrInvalidSample), invalidHistogram(err):
		h.rejected[RejectedInvalid]++
	default:
		return fmt.Errorf("embedded store: append: %w", err)
	}
	return nil
}

// invalidHistogram knows the errors of histogram.Validate.
func invalidHistogram(err error) bool {
	var invalid histogram.Error
	return errors.As(err, &invalid)
}
