package grid

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// Why a slice is rejected; the keys of what Append returns.
const (
	RejectedUndefined = "undefined"    // a Ref without a definition
	RejectedInvalid   = "invalid"      // labels or histogram that no Prometheus store takes
	RejectedExpired   = "expired"      // it ends in a partition that retention no longer keeps
	RejectedConflict  = "conflict"     // another value stands at this time already
	RejectedSeries    = "series_limit" // its series is new, and there are Options.MaxSeries
)

// farthestMs bounds the end of a slice, in ms since the Unix epoch, so that computing with times cannot overflow.
const farthestMs = 1 << 52

// retryHandOvers is how many hand-overs the store waits before it tries a failed write again. If memory is full, each
// hand-over tries.
const retryHandOvers = 10

// handing is the state of one hand-over while its slices go into the head. Its counts are added to the store's metrics
// at the end of the hand-over.
type handing struct {
	*head
	bound
	oldestMs int64 // slices that end before it are expired
	taken    int
	repeated int
	rejected map[string]int
}

// Append takes slices that closed from journal records before upTo. The caller may reuse c when it returns. It returns
// how many slices were rejected, by reason.
//
// Append is idempotent: a slice that the store holds already is recognised, whatever hand-over it arrives in, and not
// counted as rejected. The feed relies on this when it replays the journal after a restart. If upTo is less than
// before, the caller is taken to have started over (see Rewind).
//
// An error means that nothing of c was taken. After ErrNoSpace, hand it over again later.
func (s *Store) Append(ctx context.Context, upTo uint64, c *slice.Columns) (rejected map[string]int, err error) {
	if err := s.awaitMemory(ctx); err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if upTo < s.handed {
		s.rewind(upTo)
	}
	t := s.live.table
	for _, d := range c.Definitions {
		t.define(d, s.options.MaxSeries)
	}
	h := handing{head: s.live, bound: t.bound, oldestMs: s.oldestMs(), rejected: map[string]int{}}
	if upTo <= s.replayed {
		h.repeated = c.Len()
	} else {
		h.take(c)
		for _, ends := range [][]int64{c.EndsMs, c.HistogramEndsMs} {
			if len(ends) > 0 {
				s.newestMs = max(s.newestMs, slices.Max(ends))
			}
		}
	}
	for _, ref := range c.Retired {
		t.retire(ref)
	}
	s.handed = upTo
	s.figures.count(&h)
	s.writeIfNecessary(c.Len())
	return h.rejected, nil
}

// Rewind announces that the caller starts over from a journal position. What follows was handed over before and changes
// nothing.
func (s *Store) Rewind(cursor uint64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.rewind(cursor)
}

// rewind keeps what is in memory: a slice that comes again finds itself there, or in parts. What the replay brings up
// to the position of the manifest is in parts already, and is counted as repeated without a look at it.
func (s *Store) rewind(cursor uint64) {
	s.handed = min(s.handed, cursor)
	s.replayed = s.manifest.position
}

// awaitMemory waits until slices in memory are below Options.HeadBytes. If they are above it, it writes them, and waits
// for that. The feed waits with it, and senders wait for the journal in turn: back-pressure instead of loss.
func (s *Store) awaitMemory(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.full() {
		return nil
	}
	err := s.flush(ctx)
	if !s.full() {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrNoSpace, err)
}

func (s *Store) full() bool {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return !s.closed && s.sliceBytes() >= s.options.HeadBytes
}

// writeIfNecessary starts a worker when it is time; lock is held.
func (s *Store) writeIfNecessary(n int) {
	s.idle++
	if n > 0 {
		s.idle = 0
		s.handovers++
	}
	s.pause = max(s.pause-1, 0)
	due := s.handovers >= s.options.FlushHandOvers || s.idle >= s.options.IdleHandOvers || s.crowded() ||
		s.frozen != nil // an attempt failed
	if !due || s.working || s.pause > 0 {
		return
	}
	s.working = true
	s.workers.Go(s.work)
}

// deep is how many slices a series must have on average before a part of its own is worth writing early. A chunk has as
// many places.
const deep = 64

// resting is after how many hand-overs without a slice what a backlog left in memory is written.
const resting = 5

// crowded reports whether the head must be written because of its size. The bound is a third of HeadBytes. It is an
// eighth while a backlog brings many slices of each series at once, and when nothing arrives any more. The caller holds
// lock.
func (s *Store) crowded() bool {
	bytes, limit := s.live.bytes(), s.options.HeadBytes
	return bytes >= limit/3 || bytes >= limit/8 && (s.live.slices() >= deep*s.live.series() || s.idle >= resting)
}

// oldestMs is where the oldest partition begins that retention keeps.
func (s *Store) oldestMs() int64 {
	if s.options.RetentionTime == 0 {
		return -farthestMs
	}
	width := s.options.Partition.Milliseconds()
	return floor(s.options.Now().Add(-s.options.RetentionTime).UnixMilli(), width)
}

// take puts slices into the head. Two fast paths come first: row for the next slices of series whose chunk exists, and
// begin for a new chunk. Each takes as many slices at the front as it can. A slice that neither takes goes through
// number, which handles every case and counts every rejection.
func (h *handing) take(c *slice.Columns) {
	refs, ends, values := c.Refs, c.EndsMs[:len(c.Refs)], c.Values[:len(c.Refs)]
	if len(refs) > 0 {
		h.numbers.grow(len(h.table.labels))
	}
	for len(refs) > 0 {
		n := 0
		if ends[0] >= h.oldestMs {
			if n = h.numbers.row(h.ids, refs, ends, values); n == 0 {
				n = h.numbers.begin(h.ids, h.stepsMs, refs, ends, values)
			}
			h.taken += n
		}
		if n == 0 {
			h.number(refs[0], ends[0], values[0])
			n = 1
		}
		refs, ends, values = refs[n:], ends[n:], values[n:]
	}
	for i, ref := range c.HistogramRefs {
		h.distribution(ref, c.HistogramEndsMs[i], c.Histograms[i])
	}
}

// number stores one number, wherever in time it belongs.
func (h *handing) number(ref slice.Ref, endMs int64, v float64) {
	if h.admit(ref, endMs) {
		h.note(h.numbers.put(h.ids[ref]-1, h.stepsMs[ref], endMs, v))
	}
}

// distribution stores one native histogram. It copies the histogram, because the caller may reuse its own after Append.
// A histogram that no Prometheus store takes is rejected.
func (h *handing) distribution(ref slice.Ref, endMs int64, v *histogram.Histogram) {
	if !h.admit(ref, endMs) {
		return
	}
	if v != nil {
		if v.Validate() != nil {
			h.rejected[RejectedInvalid]++
			return
		}
		v = v.Copy()
	}
	was := h.note(h.distributions.put(h.ids[ref]-1, h.stepsMs[ref], endMs, v))
	if was == taken {
		h.heap += histogramBytes(v)
	}
}

// admit reports whether a slice may be stored, and counts it if it is rejected.
func (h *handing) admit(ref slice.Ref, endMs int64) bool {
	reason := ""
	switch {
	case int(ref) >= len(h.ids) || h.ids[ref] == 0:
		reason = RejectedUndefined
	case h.ids[ref] == boundToNothing:
		reason = RejectedSeries
	case h.ids[ref] == boundToInvalid || endMs > farthestMs || endMs < -farthestMs:
		reason = RejectedInvalid
	case endMs < h.oldestMs:
		reason = RejectedExpired
	default:
		return true
	}
	h.rejected[reason]++
	return false
}

// note counts what became of a slice and passes it on.
func (h *handing) note(was outcome) outcome {
	switch was {
	case taken:
		h.taken++
	case repeated:
		h.repeated++
	case conflict:
		h.rejected[RejectedConflict]++
	}
	return was
}
