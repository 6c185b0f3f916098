package slicer

import (
	"maps"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// A worker's clock may be set back while it runs. Then event time occurs twice: the samples of the second time would
// mix with those of the first, in slices that stand for one stretch of time. So the second time is refused, as
// RefusedRepeated, until the clock has passed the newest time that it had reported.
//
// What is late by the network must not be taken for that. The two differ in the order in which the samples were made,
// which event time does not show, but the protocol does: a producer's batches are numbered in the order in which it
// received what is in them, and Storm delivers what one task sends to one consumer in order. So a sample repeats time
// where its own series has a newer one, or one of the same time, that came earlier in the order of the same producer.
// In whatever order batches arrive, that answer is the same. Between two producers there is no such order: what one of
// them delays is late, and no sign of a clock.
//
// Only open slices are looked at: a sample that is not older than another one lies in the same slice or an earlier one.

// made is where a sample stands in the order of its making, as far as that is known.
type made struct {
	order    uint64 // batch.order
	producer uint32
}

// before reports whether a sample is known to have been made before another, of the same series, that came later and
// is newer by its time.
func (m made) before(other made) bool {
	return m.producer == other.producer && (m.order>>1 < other.order>>1 || m.order == other.order)
}

func (o *origin) made() made { return made{o.order, o.producer} }

// order is the place of a sample among what its producer sent: twice the sequence number of its batch, and one more in
// a block. A batch does not say which of its columns' samples came before which of its blocks'.
func (b *batch) order() uint64 { return b.sequence<<1 | b.inBlock }

func (b *batch) origin(timeMs int64) origin { return origin{timeMs, b.order(), b.producer.id} }

// fullSecondsMs is the interval up to which a series may have two samples of one time: Storm cuts the time of a report
// to whole seconds, and of two reports that are nearly a second apart both may come to the same.
const fullSecondsMs = 1000

// mayCoincide reports whether one of the series may have two samples of one time.
func (t *seriesState) mayCoincide(timeMs int64) bool {
	return t.intervalMs <= fullSecondsMs && timeMs%1000 == 0
}

// repeated returns why a sample of a slot is refused beside what is open of its series, or "", and up to where its time
// had come before. The sample itself is not there yet.
func (t *seriesState) repeated(slot uint32, o origin) (Reason, int64) {
	if o.timeMs > t.newestMs {
		return "", 0
	}
	found := beside{state: t, origin: o}
	endMs := t.endOf(o.timeMs)
	for i := len(t.open) - 1; i >= 0 && t.open[i].endMs >= endMs; i-- {
		b, first := t.open[i], 0
		if b.endMs == endMs {
			first = t.row(endMs, o.timeMs)
		}
		column, at := int(slot/pageSlots)*t.rows, slot%pageSlots
		for place := column + first; place < min(column+t.filledRows(b), len(b.strips)); place++ {
			if p := &b.strips[place]; p.taken>>at&1 != 0 {
				found.look(b.origins[b.originOf(p, at)-1])
			}
		}
		for j := range b.samples {
			if x := &b.samples[j]; x.slot == slot {
				found.look(origin{x.timeMs, x.order, x.producer})
			}
		}
		for j := range b.histograms {
			if x := &b.histograms[j]; x.slot == slot {
				found.look(origin{x.timeMs, x.order, x.producer})
			}
		}
	}
	return found.reason(), found.reachedMs
}

// filledRows are the rows of a slice up to the one of the newest sample.
func (t *seriesState) filledRows(b *bucket) int {
	if t.newestMs >= b.endMs {
		return t.rows
	}
	return max(t.row(b.endMs, t.newestMs)+1, 0)
}

// beside is what there is beside a sample of its series by its producer.
type beside struct {
	state  *seriesState
	origin origin

	newer bool // one that was made before it and has a later time
	same  bool // one of the same time
	twice bool // such a one in the same batch

	reachedMs int64 // the newest time of those that were made before it
}

func (x *beside) look(other origin) {
	o := &x.origin
	switch {
	case other.producer != o.producer || other.timeMs < o.timeMs:
	case other.timeMs > o.timeMs:
		if other.made().before(o.made()) {
			x.newer, x.reachedMs = true, max(x.reachedMs, other.timeMs)
		}
	case x.state.mayCoincide(o.timeMs):
	case other.order>>1 == o.order>>1:
		x.twice = true
	case other.order < o.order:
		x.same, x.reachedMs = true, max(x.reachedMs, other.timeMs)
	}
}

func (x *beside) reason() Reason {
	switch {
	case x.newer, x.same:
		return RefusedRepeated
	case x.twice:
		return RefusedDuplicate
	}
	return ""
}

// notOlder are the slots of a page, a bit each, that may have a sample which is not older than a row's.
func (t *seriesState) notOlder(page int, p *place) uint32 {
	if p.timeMs > t.newestMs {
		return 0
	}
	var slots uint32
	for i := len(t.open) - 1; i >= 0 && t.open[i].endMs >= p.endMs; i-- {
		b, first := t.open[i], 0
		if len(b.samples) > 0 {
			return ^uint32(0)
		}
		if b.endMs == p.endMs {
			first = p.row
		}
		for at := page*t.rows + first; at < min(page*t.rows+t.filledRows(b), len(b.strips)); at++ {
			slots |= b.strips[at].taken
		}
	}
	return slots
}

// once drops what another producer brought too, of one series, time and value, such as a topology's second consumer
// that gets every report as the first does: it is the same sample, and would count twice. The samples are in order of
// time.
func (s *Slicer) once(in *input, samples []sample) []sample {
	kept := samples[:0]
	for _, x := range samples {
		double := false
		for i := len(kept) - 1; i >= 0 && kept[i].timeMs == x.timeMs; i-- {
			double = double || kept[i].producer != x.producer && kept[i].value == x.value
		}
		if double {
			s.refuse(in, RefusedDuplicate)
			continue
		}
		kept = append(kept, x)
	}
	return kept
}

// onceEach is once for readings of a distribution.
func (s *Slicer) onceEach(in *input, readings []reading) []reading {
	kept := readings[:0]
	for _, x := range readings {
		double := false
		for i := len(kept) - 1; i >= 0 && kept[i].timeMs == x.timeMs; i-- {
			double = double || kept[i].producer != x.producer && kept[i].histogram.Equals(x.histogram)
		}
		if double {
			s.refuse(in, RefusedDuplicate)
			continue
		}
		kept = append(kept, x)
	}
	return kept
}

// StepBack is that a worker's clock was set back while it ran.
type StepBack struct {
	// ByMs is by how much at least: a sample was made after the one that has a newer time, or the same. The clock was
	// set back by as much more as lay between the two, which is an interval where a series is regular.
	ByMs int64
	// RefusedMs is when the newest sample came that was refused for it, by the collector's clock.
	RefusedMs int64
}

// stepBackKnownMs is how long after the newest refused sample a step counts: long enough for rules to see it. Samples
// that are refused later belong to another step.
const stepBackKnownMs = 2 * slice.ClockWindowMs

func (s *Slicer) noteStepBack(w metric.Worker, byMs int64) {
	step := s.stepsBack[w]
	if s.batch.receivedMs-step.RefusedMs > stepBackKnownMs {
		step = StepBack{}
	}
	s.stepsBack[w] = StepBack{max(step.ByMs, byMs), max(step.RefusedMs, s.batch.receivedMs)}
}

// StepsBack are the workers of which samples were refused as RefusedRepeated in the last two minutes, by the
// collector's clock. What the slicer writes of them lies at their own time, where no rule looks meanwhile. No snapshot
// has them.
func (s *Slicer) StepsBack(nowMs int64) map[metric.Worker]StepBack {
	maps.DeleteFunc(s.stepsBack, func(_ metric.Worker, step StepBack) bool {
		return nowMs-step.RefusedMs > stepBackKnownMs
	})
	return maps.Clone(s.stepsBack)
}
