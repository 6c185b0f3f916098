package slicer

import (
	"maps"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// A worker's clock may be set back while it runs. The same event time then occurs twice. Samples of the second time
// would mix with those of the first, in slices that cover the same period. The slicer therefore refuses samples of the
// second time as RefusedRepeated, until the clock has passed the newest time that it had reported.
//
// A sample that the network delayed must not be mistaken for such a sample. The two differ in the order in which
// samples were made. Event time does not show this order, but the protocol does. A producer numbers its batches in the
// order in which it received their contents. Storm delivers what one task sends to one consumer in order.
//
// A sample therefore repeats time if its series has a sample of the same or a newer time that came earlier from the
// same producer. The answer does not depend on the order in which batches arrive. Between two producers there is no
// such order: a sample that one of them delays is late, and says nothing about a clock.
//
// Only open slices are searched. A sample that is not older than another one is in the same slice or a later one.

// made is the position of a sample in the order in which samples were made, as far as it is known.
type made struct {
	order    uint64 // batch.order
	producer uint32
}

// before reports whether a sample is known to have been made before another sample of the same series. The other one
// must have arrived later.
func (m made) before(other made) bool {
	return m.producer == other.producer && (m.order>>1 < other.order>>1 || m.order == other.order)
}

func (o *origin) made() made { return made{o.order, o.producer} }

// order returns the position of a sample among those that its producer sent. It is twice the sequence number of the
// batch, plus one within a block. A batch does not show whether its column samples were made before those in its
// blocks.
func (b *batch) order() uint64 { return b.sequence<<1 | b.inBlock }

func (b *batch) origin(timeMs int64) origin { return origin{timeMs, b.order(), b.producer.id} }

// fullSecondsMs is the interval up to which a series may have two samples with the same time. Storm truncates the time
// of a report to whole seconds, so two reports that are nearly a second apart may have the same time.
const fullSecondsMs = 1000

// mayCoincide reports whether a series may have two samples with this time.
func (t *seriesState) mayCoincide(timeMs int64) bool {
	return t.intervalMs <= fullSecondsMs && timeMs%1000 == 0
}

// repeated returns the reason for which a new sample of a slot is refused because of the open samples of its series, or
// "". It also returns the newest time that the worker's clock had reached before. The sample itself must not be stored
// yet.
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

// filledRows returns the number of rows of a slice up to the row of the newest sample.
func (t *seriesState) filledRows(b *bucket) int {
	if t.newestMs >= b.endMs {
		return t.rows
	}
	return max(t.row(b.endMs, t.newestMs)+1, 0)
}

// beside summarises the open samples of the same series and producer that conflict with a new sample.
type beside struct {
	state  *seriesState
	origin origin

	newer bool // there is a sample that was made earlier and has a later time
	same  bool // there is an earlier sample with the same time
	twice bool // there is a sample with the same time in the same batch

	reachedMs int64 // the newest time among the samples that were made earlier
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

// notOlder returns, as a bit set, the slots of a page that may have a sample which is not older than the row.
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

// once removes samples for which another producer sent the same series, time and value. For example, a second consumer
// of a topology receives every report that the first one receives. The duplicates would count twice. The samples must
// be in order of time.
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

// onceEach does for readings of a distribution what once does for samples.
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

// StepBack reports that a worker's clock was set back while the worker ran.
type StepBack struct {
	// ByMs is a lower bound of the step. It is the difference between a newer time and the time of a sample that was
	// made later. The real step is larger by the time between making the two, which is an interval for a regular
	// series.
	ByMs int64
	// RefusedMs is when the newest sample arrived that was refused because of the step, by the collector's clock.
	RefusedMs int64
}

// stepBackKnownMs is how long a step is reported after the newest refused sample. It is long enough for alert rules to
// see the step. Samples that are refused later belong to another step.
const stepBackKnownMs = 2 * slice.ClockWindowMs

func (s *Slicer) noteStepBack(w metric.Worker, byMs int64) {
	step := s.stepsBack[w]
	if s.batch.receivedMs-step.RefusedMs > stepBackKnownMs {
		step = StepBack{}
	}
	s.stepsBack[w] = StepBack{max(step.ByMs, byMs), max(step.RefusedMs, s.batch.receivedMs)}
}

// StepsBack returns the workers that had samples refused as RefusedRepeated in the last two minutes, by the collector's
// clock. The health series of such a worker lie at the worker's own time, at which no rule looks meanwhile. Steps are
// not part of a snapshot.
func (s *Slicer) StepsBack(nowMs int64) map[metric.Worker]StepBack {
	maps.DeleteFunc(s.stepsBack, func(_ metric.Worker, step StepBack) bool {
		return nowMs-step.RefusedMs > stepBackKnownMs
	})
	return maps.Clone(s.stepsBack)
}
