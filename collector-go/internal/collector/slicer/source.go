package slicer

import (
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// source is one worker process, and the owner of a watermark. Event time advances per worker, so that a worker whose
// samples arrive late does not lose them because another worker is ahead.
//
// Its carriers are the producers that have sent its samples. Whether they are connected, and what else they send,
// decides when a silent worker's slices close (advance).
type source struct {
	// What every batch needs lies together.
	eventMs  int64          // greatest event time heard; never before the first sample
	heardMs  int64          // the slicer's clock when it was last heard
	closeMs  int64          // no slice of it closes before its event time is there; it may be further off
	takenMs  int64          // the slicer's clock when a sample of it was last of use
	batch    uint64         // the last batch that touched it
	topology *topologyState // its topology's
	carrier  *producer      // the last of the carriers that was heard; nil where that is not known
	health   health         // begins with what every batch needs

	carriers []*producer
	states   []*seriesState
	starts   starts
	again    stretch
	againMs  int64 // its clock was set back from there, for longer than slices stay open; 0 where it was not
	infos    []*info
	ended    []*info // replaced by a later one; their markers are due
	worker   metric.Worker
}

const never = math.MinInt64

// producer is a sender as the journal numbers it. Its connection matters for the watermarks of the workers that it
// reports: while it is connected and sends other things, a worker's silence counts as silence.
type producer struct {
	id          uint32
	connected   bool
	connectedMs int64          // the slicer's clock when it last connected
	sentMs      int64          // the slicer's clock when it last sent
	topology    *topologyState // of the topology that it carries from collector to collector; nil where it does not
	numbers     numbers
	ended       bool // it sent its last batch, in order
}

// numbers let the sequence numbers of a producer go on rising where its process restarts.
type numbers struct {
	epoch  [16]byte // of the process
	before uint64   // the greatest number that an earlier one had
	newest uint64
}

func (n *numbers) begin(epoch [16]byte) {
	if n.epoch != epoch {
		n.epoch, n.before = epoch, n.newest
	}
}

// of is the number of a batch among all of its producer.
func (n *numbers) of(sequence uint64) uint64 {
	n.newest = max(n.newest, n.before+sequence)
	return n.before + sequence
}

// stretch is a part of event time that occurred twice, because a worker's clock was set back. Only the newest one is
// kept.
type stretch struct{ fromMs, toMs int64 }

// note takes a sample that was refused, of a source that had reached a time before.
func (x *stretch) note(timeMs, reachedMs int64) {
	if timeMs > x.toMs {
		x.fromMs = timeMs
	}
	x.fromMs, x.toMs = min(x.fromMs, timeMs), max(x.toMs, reachedMs)
}

// saidMs is for how long a clock that was set back counts as wrong: longer than the alert of skew waits.
const saidMs = 420_000

// skewMs is how far off a clock is in the period that ends at a time, where by its bounds it is so much: what it showed
// before it was set back, or shows since, is wrong by as much as it was set.
func (x *stretch) skewMs(byBounds, endMs int64) int64 {
	if setMs := x.toMs - x.fromMs; x.toMs > 0 && endMs-x.toMs <= saidMs && setMs > max(byBounds, -byBounds) {
		return -setMs
	}
	return byBounds
}

// holds reports whether some of it lies between two times.
func (x *stretch) holds(afterMs, untilMs int64) bool { return afterMs < x.toMs && untilMs >= x.fromMs }

// maxCarriers bounds the producers that a source remembers; those away are forgotten first.
const maxCarriers = 64

func (s *Slicer) producer(id uint32) *producer {
	p := s.producers[id]
	if p == nil {
		p = &producer{id: id}
		s.producers[id] = p
	}
	return p
}

// source finds the source of a worker, or makes one. The order of s.sources is the order in which workers were first
// heard. It decides the order of output, so it must be the same in every replay.
func (s *Slicer) source(w metric.Worker) *source {
	src := s.byWorker[w]
	if src == nil {
		src = &source{worker: w, topology: s.topologyState(w.Topology), eventMs: never, heardMs: s.clockMs,
			health: health{aheadMs: never}, starts: starts{latenessMs: s.options.LatenessMs}}
		s.byWorker[w] = src
		s.sources = append(s.sources, src)
	}
	return src
}

// touch notes that a source was heard.
func (s *Slicer) touch(src *source, timeMs int64) {
	src.eventMs = max(src.eventMs, timeMs)
	if s.batch.receivedMs != 0 {
		src.health.aheadMs = max(src.health.aheadMs, timeMs-s.batch.receivedMs)
	}
	if src.batch == s.batch.number {
		return
	}
	src.batch = s.batch.number
	src.heardMs = s.clockMs
	s.batch.touched = append(s.batch.touched, src)
	if p := s.batch.producer; src.carrier != p {
		if !slices.Contains(src.carriers, p) {
			src.carry(p)
		}
		src.carrier = nil
		if slices.Contains(src.carriers, p) {
			src.carrier = p
		}
	}
}

// carry adds a producer to the senders of a source. When there are too many, those that are not connected are
// forgotten.
func (src *source) carry(p *producer) {
	if len(src.carriers) >= maxCarriers {
		src.carriers = slices.DeleteFunc(src.carriers, func(c *producer) bool { return !c.connected })
	}
	if len(src.carriers) < maxCarriers {
		src.carriers = append(src.carriers, p)
	}
}

// moves reports whether a slice of a source may close: a source's time never advances by more than its clock did.
func (s *Slicer) moves(src *source) bool {
	return src.eventMs != never &&
		(src.eventMs+max(s.clockMs-src.heardMs, 0) >= src.closeMs || s.setBack(src) || s.ended(src))
}

// setBack reports whether a source is heard, and nothing of it was of use for longer than its slices stay open, since
// its clock was set back that far.
func (s *Slicer) setBack(src *source) bool {
	uselessMs := src.heardMs - src.takenMs
	if uselessMs <= s.options.LatenessMs || src.againMs >= src.eventMs || src.heardMs != s.clockMs {
		return false
	}
	return !slices.ContainsFunc(src.states, func(t *seriesState) bool {
		return uselessMs <= s.options.LatenessMs+t.packMs+2*t.widthMs
	})
}

// ended reports whether nothing of a source is on its way: all who carried it ended in order, or have been away for
// longer than a sender keeps a batch.
func (s *Slicer) ended(src *source) bool {
	any := false
	for _, p := range src.carriers {
		if !p.ended && (p.connected || s.clockMs-p.sentMs <= s.options.BacklogMs) {
			return false
		}
		any = any || p.ended
	}
	return any
}

// advance moves a source's watermark and closes the slices that it has passed. Event time moves the watermark when
// samples arrive. The slicer's clock moves it when nothing arrives: after silence on a live connection, after an
// ordered end, or after BacklogMs, when no sender can still hold samples.
func (s *Slicer) advance(src *source) {
	if !s.moves(src) {
		return
	}
	back := s.setBack(src)
	if back {
		src.againMs = src.eventMs
	}
	silentMs := src.silentMs()
	awayMs, ended := s.clockMs-src.heardMs-s.options.BacklogMs, s.ended(src)
	if ended {
		awayMs = s.clockMs - src.heardMs
	}
	closed := false
	for _, t := range src.states {
		passed := src.eventMs
		if silentMs >= s.options.LatenessMs+2*t.intervalMs {
			passed = max(passed, src.eventMs+silentMs)
		}
		if awayMs > 0 {
			passed = max(passed, src.eventMs+awayMs)
		}
		packMs := t.packMs
		if ended { // no pack is on its way
			packMs = 0
		}
		endMs := t.lastEndBefore(passed - s.options.LatenessMs - packMs)
		if back { // what is open is as it will be: its time has passed, and is not taken again
			endMs = max(endMs, t.endOf(src.eventMs))
		}
		closed = s.closeTo(t, endMs) || closed
	}
	if closed {
		src.closeMs = math.MaxInt64
		for _, t := range src.states {
			src.closeMs = min(src.closeMs, t.endAfter(t.closedTo)+s.options.LatenessMs+t.packMs+1)
		}
	}
	if t := src.finest(); closed && t != nil { // when all have closed, so that a period holds what each of them has
		s.writeHealth(src, s.periodEnd(t.closedTo))
	}
}

// silentMs is for how long a connected producer, which has carried the source, has sent other things since it connected
// and since the source was last heard. For so long the source's clock has gone on while it said nothing.
func (src *source) silentMs() int64 {
	var longest int64
	for _, p := range src.carriers {
		if p.connected {
			longest = max(longest, p.sentMs-max(p.connectedMs, src.heardMs))
		}
	}
	return longest
}

// finest is the series state with the narrowest slices, the first of several that have series.
func (src *source) finest() *seriesState {
	var finest *seriesState
	for _, t := range src.states {
		if len(t.free) == len(t.inputs) {
			continue
		}
		if finest == nil || t.widthMs < finest.widthMs {
			finest = t
		}
	}
	return finest
}
