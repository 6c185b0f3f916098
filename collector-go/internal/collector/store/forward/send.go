package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// hand is the hand-over in progress. Its points are sent from front to back, so a single number describes the progress.
type hand struct {
	upTo     uint64
	len      int
	points   []Point // ordered by time
	done     int     // number of points that were acknowledged or refused
	unsure   int     // points before this index may have been sent before, by a failed attempt or an earlier process
	tooOldMs int64   // the receiver refuses everything that ends at or before it
	rejected map[string]int
}

// is reports whether the current hand-over is of these columns.
func (h *hand) is(upTo uint64, c *slice.Columns) bool {
	return h.upTo == upTo && h.len == c.Len() && h.rejected != nil
}

// begin starts a hand-over, and lists its points in order of time. unsure states that an earlier process may have sent
// them.
func (h *hand) begin(upTo uint64, c *slice.Columns, unsure bool) {
	*h = hand{upTo: upTo, len: c.Len(), points: h.points[:0], rejected: map[string]int{}}
	for i, ref := range c.Refs {
		h.points = append(h.points, Point{EndMs: c.EndsMs[i], Ref: ref, Index: int32(i)})
	}
	for i, ref := range c.HistogramRefs {
		h.points = append(h.points, Point{EndMs: c.HistogramEndsMs[i], Ref: ref, Index: int32(i), Histogram: true})
	}
	slices.SortStableFunc(h.points, func(a, b Point) int { return cmp.Compare(a.EndMs, b.EndMs) })
	if unsure {
		h.unsure = len(h.points)
	}
}

// forget ends the hand-over. It keeps the memory of its points for the next one, unless that is large.
func (h *hand) forget() {
	h.rejected = nil
	if cap(h.points) > maxSparePoints {
		h.points = nil
	}
}

// maxSparePoints limits the memory that is kept for the next hand-over, in points of 24 bytes.
const maxSparePoints = 1 << 17

// send sends the rest of the current hand-over.
func (s *Store) send(ctx context.Context, c *slice.Columns) error {
	h := &s.pending
	if h.done == 0 {
		h.points = slices.DeleteFunc(h.points, func(p Point) bool { return s.hopeless(c, p) })
		h.unsure = min(h.unsure, len(h.points))
	}
	for h.done < len(h.points) {
		n := min(s.options.MaxSlices, len(h.points)-h.done)
		if err := s.part(ctx, c, h.points[h.done:h.done+n]); err != nil {
			return err
		}
	}
	return nil
}

// hopeless reports whether a point can never be stored, and counts it as rejected if so.
func (s *Store) hopeless(c *slice.Columns, p Point) bool {
	reason := undefined
	if int(p.Ref) < len(s.defined) {
		reason = s.defined[p.Ref]
	}
	if reason == "" {
		reason = s.protocol.Holds(c, p)
	}
	if reason != "" {
		s.pending.rejected[reason]++
	}
	return reason != ""
}

// part sends points in one request. If the request is too large or the receiver refuses one of the points, it splits
// them and sends the parts from front to back. Each series therefore still arrives in order of time.
func (s *Store) part(ctx context.Context, c *slice.Columns, points []Point) error {
	s.body = s.protocol.Encode(s.body[:0], c, points)
	if len(s.body) > s.options.MaxBytes && len(points) > 1 {
		return s.halves(ctx, c, points, len(points)/2)
	}
	err := s.post(ctx)
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case err == nil:
		s.pending.done += len(points)
		return nil
	case !refused:
		s.pending.unsure = max(s.pending.unsure, s.pending.done+len(points))
		return fmt.Errorf("forward to %s: %w", s.options.Name, err)
	case len(points) == 1, refusal.tooOld(points, s.options.Now()) && points[len(points)-1].EndMs <= s.pending.tooOldMs:
		s.refuse(points, refusal)
		return nil
	}
	return s.halves(ctx, c, points, refusal.cut(points, s.options.Now()))
}

// post sends the encoded body once, within Options.Timeout.
func (s *Store) post(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	started := s.options.Now()
	err := s.protocol.Post(ctx, s.body)
	s.figures.posted(len(s.body), s.options.Now().Sub(started), err)
	return err
}

// halves sends points in two parts, from front to back.
func (s *Store) halves(ctx context.Context, c *slice.Columns, points []Point, cut int) error {
	if err := s.part(ctx, c, points[:cut]); err != nil {
		return err
	}
	return s.part(ctx, c, points[cut:])
}

// refuse counts points that the receiver will never accept. A point that may have been sent before is assumed to be
// stored if the receiver refuses it as a duplicate or as out of order.
func (s *Store) refuse(points []Point, refusal *Refusal) {
	h := &s.pending
	reason := refusal.reason(points[0], s.options.Now())
	if reason == TooOld {
		h.tooOldMs = max(h.tooOldMs, points[len(points)-1].EndMs)
	}
	repeated := 0
	if reason == OutOfOrder || reason == Duplicate {
		repeated = min(max(h.unsure-h.done, 0), len(points))
	}
	s.figures.repeated.Add(float64(repeated))
	if n := len(points) - repeated; n > 0 {
		if s.figures.firstRefusal(reason) {
			s.log.Warn("the receiver rejected slices permanently; they are counted, and other slices are still sent",
				"store", s.options.Name, "reason", reason, "answer", refusal.Error(), "more", "docs/stores/README.md")
		}
		h.rejected[reason] += n
	}
	h.done += len(points)
}
