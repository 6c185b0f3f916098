package slicer

import (
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// source is one worker process, which has its own watermark. Because event time advances per worker, a worker whose
// samples arrive late does not lose them when another worker is ahead.
//
// Its carriers are the producers that have sent its samples. If the worker is silent, their connections and their other
// batches decide when its slices close (advance).
type source struct {
	// Fields that every batch needs come first.
	eventMs  int64          // greatest event time heard; never before the first sample
	heardMs  int64          // the slicer's clock when it was last heard
	closeMs  int64          // lower bound of the event time at which its next slice closes
	takenMs  int64          // the slicer's clock when one of its samples was last accepted
	batch    uint64         // the last batch that touched it
	topology *topologyState // its topology's
	carrier  *producer      // the carrier that sent its last samples; nil if unknown
	health   health         // its first fields are needed by every batch

	carriers []*producer
	states   []*seriesState
	starts   starts
	again    stretch
	againMs  int64 // the newest time before its clock was set back for longer than slices stay open; 0 if it was not
	infos    []*info
	ended    []*info // replaced by newer ones; their markers are not written yet
	worker   metric.Worker
}

const never = math.MinInt64

// producer is a sender as the journal numbers it. Its connection matters for the watermarks of the workers that it
// reports. While it is connected and sends other data, the silence of a worker counts.
type producer struct {
	id          uint32
	connected   bool
	connectedMs int64          // the slicer's clock when it last connected
	sentMs      int64          // the slicer's clock when it last sent
	topology    *topologyState // of the topology whose state it owns; nil if it owns none
	numbers     numbers
	ended       bool // it sent its last batch, in order
}

// numbers makes the sequence numbers of a producer increase across restarts of its process.
type numbers struct {
	epoch  [16]byte // of the current process
	before uint64   // the greatest number of earlier processes
	newest uint64
}

func (n *numbers) begin(epoch [16]byte) {
	if n.epoch != epoch {
		n.epoch, n.before = epoch, n.newest
	}
}

// of returns the number of a batch among all batches of its producer.
func (n *numbers) of(sequence uint64) uint64 {
	n.newest = max(n.newest, n.before+sequence)
	return n.before + sequence
}

// stretch is a part of event time that occurred twice, because a worker's clock was set back. Only the newest one is
// kept.
type stretch struct{ fromMs, toMs int64 }

// note extends the stretch by a refused sample. reachedMs is the newest time that the source had reached before.
func (x *stretch) note(timeMs, reachedMs int64) {
	if timeMs > x.toMs {
		x.fromMs = timeMs
	}
	x.fromMs, x.toMs = min(x.fromMs, timeMs), max(x.toMs, reachedMs)
}

// saidMs is how long a clock that was set back counts as wrong. It is longer than the skew alert waits.
const saidMs = 420_000

// skewMs returns the clock offset of the period that ends at endMs. byBounds is the offset that the clock bounds imply.
// If the clock was recently set back by more than that, skewMs returns minus the size of the step.
func (x *stretch) skewMs(byBounds, endMs int64) int64 {
	if setMs := x.toMs - x.fromMs; x.toMs > 0 && endMs-x.toMs <= saidMs && setMs > max(byBounds, -byBounds) {
		return -setMs
	}
	return byBounds
}

// holds reports whether the stretch overlaps the time between two event times.
func (x *stretch) holds(afterMs, untilMs int64) bool { return afterMs < x.toMs && untilMs >= x.fromMs }

// maxCarriers bounds the producers that a source remembers. Those that are not connected are forgotten first.
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

// touch records that the current batch has a sample of a source.
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
			src.addCarrier(p)
		}
		src.carrier = nil
		if slices.Contains(src.carriers, p) {
			src.carrier = p
		}
	}
}

// addCarrier adds a producer to the carriers of a source. If there are too many, those that are not connected are
// forgotten.
func (src *source) addCarrier(p *producer) {
	if len(src.carriers) >= maxCarriers {
		src.carriers = slices.DeleteFunc(src.carriers, func(c *producer) bool { return !c.connected })
	}
	if len(src.carriers) < maxCarriers {
		src.carriers = append(src.carriers, p)
	}
}

// moves reports whether a slice of a source may close. It is a cheap check, based on the fact that the time of a source
// never advances by more than the slicer's clock did.
func (s *Slicer) moves(src *source) bool {
	return src.eventMs != never &&
		(src.eventMs+max(s.clockMs-src.heardMs, 0) >= src.closeMs || s.setBack(src) || s.ended(src))
}

// SoleSender records that a producer states whether it is the only sender of its topology's samples. Only the samples
// that it sends itself benefit.
func (s *Slicer) SoleSender(by uint32, topology string, sole bool) {
	var of *producer
	if sole {
		of = s.producer(by)
	}
	r := s.topologyState(topology)
	if r.sole == of {
		return
	}
	r.sole = of
	for _, src := range s.sources {
		if src.topology == r {
			src.closeMs = 0
		}
	}
}

// inOrder reports whether nothing can overtake the samples of a source on their way to the collector: a sole sender
// sends them, and no other sender may still have any.
func (s *Slicer) inOrder(src *source) bool {
	sole := src.topology.sole
	if sole == nil || !slices.Contains(src.carriers, sole) {
		return false
	}
	return !slices.ContainsFunc(src.carriers, func(p *producer) bool {
		return p != sole && !p.ended && (p.connected || s.clockMs-p.sentMs <= s.options.LatenessMs)
	})
}

// leastLatenessMs returns the least lateness with which a slice of a topology may close.
func (s *Slicer) leastLatenessMs(r *topologyState) int64 {
	if r.sole != nil {
		return min(s.options.SoleLatenessMs, s.options.LatenessMs)
	}
	return s.options.LatenessMs
}

// orderedEnd returns the newest slice end of a series state whose samples arrive in order that is complete. A pack may
// be late after a pause of its worker's process. Its slices therefore wait until a later slice has a sample.
func (s *Slicer) orderedEnd(t *seriesState, packMs int64) int64 {
	endMs := t.lastEndBefore(t.source.eventMs - s.leastLatenessMs(t.source.topology) - packMs)
	if packMs == 0 {
		return endMs
	}
	if len(t.open) == 0 {
		return 0
	}
	return min(endMs, t.open[len(t.open)-1].endMs-t.widthMs)
}

// setBack reports whether a source's clock was set back for longer than its slices stay open. The source is then heard,
// but all its samples have been useless for that long.
func (s *Slicer) setBack(src *source) bool {
	uselessMs := src.heardMs - src.takenMs
	if uselessMs <= s.options.LatenessMs || src.againMs >= src.eventMs || src.heardMs != s.clockMs {
		return false
	}
	return !slices.ContainsFunc(src.states, func(t *seriesState) bool {
		return uselessMs <= s.options.LatenessMs+t.packMs+2*t.widthMs
	})
}

// ended reports whether no more samples of a source can arrive. Each of its carriers either ended in order, or has been
// away for longer than a sender keeps a batch.
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
	closed, inOrder := false, s.inOrder(src)
	for _, t := range src.states {
		passed := src.eventMs
		if silentMs >= s.options.LatenessMs+2*t.intervalMs {
			passed = max(passed, src.eventMs+silentMs)
		}
		if awayMs > 0 {
			passed = max(passed, src.eventMs+awayMs)
		}
		packMs := t.packMs
		if ended { // no pack can arrive any more
			packMs = 0
		}
		endMs := t.lastEndBefore(passed - s.options.LatenessMs - packMs)
		if inOrder {
			endMs = max(endMs, s.orderedEnd(t, packMs))
		}
		if back { // the open slices are complete: later samples of their time are refused
			endMs = max(endMs, t.endOf(src.eventMs))
		}
		closed = s.closeTo(t, endMs) || closed
	}
	if closed {
		src.closeMs = math.MaxInt64
		latenessMs := s.leastLatenessMs(src.topology)
		for _, t := range src.states {
			src.closeMs = min(src.closeMs, t.endAfter(t.closedTo)+latenessMs+t.packMs+1)
		}
	}
	if t := src.finest(); closed && t != nil { // when all have closed, so that a period includes all their slices
		s.writeHealth(src, s.periodEnd(t.closedTo))
	}
}

// silentMs returns for how long a connected carrier has sent other data without samples of the source. It counts from
// when the carrier connected or the source was last heard. During that time the source's clock advanced although it
// sent nothing.
func (src *source) silentMs() int64 {
	var longest int64
	for _, p := range src.carriers {
		if p.connected {
			longest = max(longest, p.sentMs-max(p.connectedMs, src.heardMs))
		}
	}
	return longest
}

// finest returns the series state with the narrowest slices, or nil if none has series. If several have the same width,
// it is the first.
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
