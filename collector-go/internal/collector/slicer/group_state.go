package slicer

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// state is what the slicer knows of a worker with one track, but for its names, its refs, its counters and its open
// samples. Workers whose states are equal go on alike for as long as the same happens to them.
type state struct {
	eventMs, heardMs, closeMs int64
	takenMs, againMs          int64
	again                     stretch
	batch                     uint64
	carrier                   *producer
	carriers                  []*producer
	aheadMs, writtenTo        int64
	closedTo, dueMs           int64
	lanes                     []lane
	metrics                   []metricState
	infos                     []infoState
	health                    []healthSeries
	counted                   []uint64 // of what was refused and dropped
	reasons                   []string
}

type metricState struct {
	flow                flow
	healthy             healthy
	intervalMs, widthMs int64
}

type infoState struct {
	widthMs, lastEnd  int64
	announced, hasRef bool
	live              bool
}

// read takes the state of a worker.
func (x *state) read(src *source) {
	t, h := src.tracks[0], &src.health
	x.eventMs, x.heardMs, x.closeMs, x.batch = src.eventMs, src.heardMs, src.closeMs, src.batch
	x.takenMs, x.againMs, x.again = src.takenMs, src.againMs, src.again
	x.carrier, x.carriers = src.carrier, append(x.carriers[:0], src.carriers...)
	x.aheadMs, x.writtenTo, x.closedTo, x.dueMs = h.aheadMs, h.writtenTo, t.closedTo, t.dueMs
	x.lanes = append(x.lanes[:0], t.lanes...)
	for i := range x.lanes {
		l := &x.lanes[i]
		l.ref, l.flow = 0, nil
		if l.heardMs > l.sinceMs { // what was before does not matter any more
			l.sinceMs = 0
		}
	}
	x.metrics = x.metrics[:0]
	for _, m := range h.metrics {
		x.metrics = append(x.metrics, metricState{*m.flow, *m.healthy, m.intervalMs, m.widthMs})
	}
	x.infos = x.infos[:0]
	for _, in := range src.infos {
		x.infos = append(x.infos, infoState{in.widthMs, in.lastEnd, in.announced, in.hasRef, in.live})
	}
	x.health = x.health[:0]
	for t := range h.each {
		value := *t
		value.ref = 0
		x.health = append(x.health, value)
	}
	x.counted, x.reasons = x.counted[:0], x.reasons[:0]
	for tallies := range h.tallies {
		for i := range tallies {
			x.counted, x.reasons = append(x.counted, tallies[i].n), append(x.reasons, tallies[i].reason)
		}
	}
}

// write brings a worker whose state was equal to another's to what that one's is now. What is there by then, series,
// metrics and reasons, was there before.
func (x *state) write(src *source) {
	t, h := src.tracks[0], &src.health
	src.eventMs, src.heardMs, src.closeMs, src.batch = x.eventMs, x.heardMs, x.closeMs, x.batch
	src.takenMs, src.againMs, src.again = x.takenMs, x.againMs, x.again
	src.carrier, src.carriers = x.carrier, append(src.carriers[:0], x.carriers...)
	h.aheadMs, h.writtenTo, t.closedTo, t.dueMs = x.aheadMs, x.writtenTo, x.closedTo, x.dueMs
	for i := range x.lanes {
		from, to := &x.lanes[i], &t.lanes[i]
		to.lastEnd, to.lastMs, to.heardMs, to.missed, to.live = from.lastEnd, from.lastMs, from.heardMs,
			from.missed, from.live
	}
	for i, m := range h.metrics {
		*m.flow, *m.healthy = x.metrics[i].flow, x.metrics[i].healthy
	}
	for i, in := range src.infos {
		from := &x.infos[i]
		in.widthMs, in.lastEnd, in.live = from.widthMs, from.lastEnd, from.live
	}
	i := 0
	for t := range h.each {
		from := &x.health[i]
		t.live, t.lastEnd, t.value = from.live, from.lastEnd, from.value
		i++
	}
	i = 0
	for tallies := range h.tallies {
		for at := range tallies {
			tallies[at].n = x.counted[i]
			i++
		}
	}
}

func (x *state) equal(y *state) bool {
	return x.eventMs == y.eventMs && x.heardMs == y.heardMs && x.closeMs == y.closeMs && x.batch == y.batch &&
		x.carrier == y.carrier && x.takenMs == y.takenMs && x.againMs == y.againMs && x.again == y.again &&
		x.aheadMs == y.aheadMs && x.writtenTo == y.writtenTo && x.closedTo == y.closedTo && x.dueMs == y.dueMs &&
		slices.Equal(x.carriers, y.carriers) && slices.Equal(x.lanes, y.lanes) && slices.Equal(x.metrics, y.metrics) &&
		slices.Equal(x.infos, y.infos) &&
		slices.Equal(x.health, y.health) && slices.Equal(x.counted, y.counted) && slices.Equal(x.reasons, y.reasons)
}

// tallies yields what is counted by reason.
func (h *health) tallies(yield func([]tally) bool) {
	if !yield(h.refused) || !yield(h.drops) {
		return
	}
	for _, m := range h.metrics {
		if !yield(m.refused) {
			return
		}
	}
}

// refs are those under which a worker's series may be written, in an order that is the same for workers of equal
// states.
func (src *source) refs(yield func(ref slice.Ref) bool) {
	t := src.tracks[0]
	for i := range t.lanes {
		l := &t.lanes[i]
		if !yield(l.ref) || l.spread && !(yield(l.ref+1) && yield(l.ref+2)) {
			return
		}
	}
	for t := range src.health.each {
		if t.hasRef && !yield(t.ref) {
			return
		}
	}
	for _, in := range src.infos {
		if in.hasRef && !yield(in.ref) {
			return
		}
	}
}
