package slicer

import (
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// source is a worker: what a watermark belongs to.
type source struct {
	// What every batch needs lies together.
	eventMs int64     // greatest event time heard; never before the first sample
	heardMs int64     // the slicer's clock when it was last heard
	closeMs int64     // no slice of it closes before its event time is there; it may be further off
	order   int       // of its being heard of, among the sources
	batch   uint64    // the last batch that touched it
	room    *room     // its topology's
	cohort  *cohort   // nil where it goes on by itself
	carrier *producer // the last of the carriers that was heard; nil where that is not known
	health  health    // begins with what every batch needs

	carriers []*producer
	tracks   []*track
	starts   starts
	infos    []*info
	ended    []*info // replaced by a later one; their markers are due
	worker   metric.Worker
}

const never = math.MinInt64

// producer is a sender.
type producer struct {
	id          uint32
	connected   bool
	connectedMs int64 // the slicer's clock when it last connected
	sentMs      int64 // the slicer's clock when it last sent
	room        *room // of the topology that it carries from collector to collector; nil where it does not
}

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

func (s *Slicer) source(w metric.Worker) *source {
	src := s.byWorker[w]
	if src == nil {
		src = &source{worker: w, room: s.room(w.Topology), eventMs: never, heardMs: s.clockMs,
			health: health{aheadMs: never}}
		if n := len(s.sources); n > 0 {
			src.order = s.sources[n-1].order + 1
		}
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

func (src *source) carry(p *producer) {
	if len(src.carriers) >= maxCarriers {
		src.carriers = slices.DeleteFunc(src.carriers, func(c *producer) bool { return !c.connected })
	}
	if len(src.carriers) < maxCarriers {
		src.carriers = append(src.carriers, p)
	}
}

// advance closes the slices that the source's time has passed.
func (s *Slicer) advance(src *source) {
	switch c := src.cohort; {
	case c == nil:
		s.advanceAlone(src)
	case src == c.leader:
		s.advanceTogether(c)
	}
}

// moves reports whether a slice of a source may close: a source's time never advances by more than its clock did.
func (s *Slicer) moves(src *source) bool {
	return src.eventMs != never && src.eventMs+max(s.clockMs-src.heardMs, 0) >= src.closeMs
}

func (s *Slicer) advanceAlone(src *source) {
	if !s.moves(src) {
		return
	}
	silentMs := src.silentMs()
	awayMs := s.clockMs - src.heardMs - s.options.BacklogMs
	closed := false
	for _, t := range src.tracks {
		passed := src.eventMs
		if silentMs >= s.options.LatenessMs+2*t.intervalMs {
			passed = max(passed, src.eventMs+silentMs)
		}
		if awayMs > 0 {
			passed = max(passed, src.eventMs+awayMs)
		}
		closed = s.closeTo(t, t.lastEndBefore(passed-s.options.LatenessMs-t.packMs)) || closed
	}
	if closed {
		src.closeMs = math.MaxInt64
		for _, t := range src.tracks {
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

// finest is the track with the narrowest slices, the first of several that have series.
func (src *source) finest() *track {
	var finest *track
	for _, t := range src.tracks {
		if len(t.free) == len(t.inputs) {
			continue
		}
		if finest == nil || t.widthMs < finest.widthMs {
			finest = t
		}
	}
	return finest
}
