package grid

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// These are the reasons for rejecting a slice, and the keys of Append's result.
const (
	RejectedUndefined = "undefined"    // its Ref has no definition
	RejectedInvalid   = "invalid"      // Prometheus stores refuse its labels or its histogram
	RejectedExpired   = "expired"      // retention no longer keeps the partition in which it ends
	RejectedConflict  = "conflict"     // the store has another value at this time
	RejectedSeries    = "series_limit" // its series is new, and the store has Options.MaxSeries already
)

// farthestMs limits the end of a slice, in ms since the Unix epoch, so that arithmetic with times cannot overflow.
const farthestMs = 1 << 52

// retryHandOvers is the number of hand-overs before a failed write is tried again. If memory is full, each hand-over
// tries.
const retryHandOvers = 10

// handing is the state of one hand-over while its slices are added to the head. Its counts are added to the store's
// metrics at the end of the hand-over.
type handing struct {
	*head
	bound
	oldestMs int64 // slices that end before it are rejected as expired
	taken    int
	repeated int
	rejected map[string]int
}

// Append stores slices that closed from journal records before upTo, and returns how many were rejected, by reason. The
// caller may reuse c when it returns.
//
// Append is idempotent: it recognises a slice that the store already has, in whatever hand-over it arrives, and does
// not count it as rejected. The feed relies on this when it replays the journal after a restart. If upTo is less than
// in an earlier call, the caller has started over (see Rewind).
//
// After an error, nothing of c was stored. After ErrNoSpace, call Append with the same slices again later.
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

// Rewind announces that the caller starts over from a journal position. The slices that follow were stored before, so
// they change nothing.
func (s *Store) Rewind(cursor uint64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.rewind(cursor)
}

// rewind sets the position back and keeps the slices in memory. A repeated slice is recognised, because it is in memory
// or in a part. Everything up to the manifest's position is in parts, so it is counted as repeated without a
// comparison.
func (s *Store) rewind(cursor uint64) {
	s.handed = min(s.handed, cursor)
	s.replayed = s.manifest.position
}

// awaitMemory waits until the slices in memory take less than Options.HeadBytes. If they take more, it writes them to
// disk first. The feed waits meanwhile, and senders in turn wait for the journal, so no slice is lost.
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

// writeIfNecessary starts a worker if a write is due. n is the number of slices in the hand-over. The caller holds
// lock.
func (s *Store) writeIfNecessary(n int) {
	s.idle++
	if n > 0 {
		s.idle = 0
		s.handovers++
	}
	s.pause = max(s.pause-1, 0)
	due := s.handovers >= s.options.FlushHandOvers || s.idle >= s.options.IdleHandOvers || s.crowded() ||
		s.frozen != nil // an earlier attempt failed
	if !due || s.working || s.pause > 0 {
		return
	}
	s.working = true
	s.workers.Go(s.work)
}

// deep is the average number of slices per series from which an early write is worthwhile. It equals the number of
// slots in a chunk.
const deep = 64

// resting is the number of hand-overs without a slice after which the rest of a backlog is written.
const resting = 5

// crowded reports whether the head must be written because of its size. The limit is a third of HeadBytes. It is an
// eighth if each series has many slices, as in a backlog, or if nothing arrives any more. The caller holds lock.
func (s *Store) crowded() bool {
	bytes, limit := s.live.bytes(), s.options.HeadBytes
	return bytes >= limit/3 || bytes >= limit/8 && (s.live.slices() >= deep*s.live.series() || s.idle >= resting)
}

// oldestMs returns the beginning of the oldest partition that retention keeps, in ms.
func (s *Store) oldestMs() int64 {
	if s.options.RetentionTime == 0 {
		return -farthestMs
	}
	width := s.options.Partition.Milliseconds()
	return floor(s.options.Now().Add(-s.options.RetentionTime).UnixMilli(), width)
}

// take adds slices to the head. It tries two fast paths first: row for the next slices of series whose chunk exists,
// and begin for a new chunk. Each takes as many slices from the front as it can. A slice that neither takes goes
// through number, which handles every case and counts every rejection.
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

// number stores one number at any time that is allowed.
func (h *handing) number(ref slice.Ref, endMs int64, v float64) {
	if h.admit(ref, endMs) {
		h.note(h.numbers.put(h.ids[ref]-1, h.stepsMs[ref], endMs, v))
	}
}

// distribution stores one native histogram. It copies the histogram, because the caller may reuse it after Append. It
// rejects an invalid histogram, because Prometheus stores refuse it too.
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

// admit reports whether a slice may be stored. If not, it counts the rejection.
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

// note counts the outcome of a slice, and returns it.
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
