package slicer

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// slot is the part of an output that every slice needs. The slots of a series state lie next to each other in one
// array. A closing slice reads them in order, and looks at inputs and outputs only for series that are out of the
// ordinary.
//
// The output's owner decides where the slot lies: in the place of the owner (seated), or by itself. Values that belong
// to the input are copies, which tune keeps up to date.
type slot struct {
	lastEnd int64 // its newest slice; nothing at or before it is written again
	lastMs  int64 // the slicer's clock when that was written
	heardMs int64 // event time of its newest sample in a slice; 0 before the first
	missed  int64 // what it has missed since, as far as that is counted

	flow    *flow // the input's; nil where its collection health is not reported
	sinceMs int64 // the input's

	ref       slice.Ref // the first of its refs, which are adjacent
	limitMs   uint32    // two samples that are less apart miss none between them
	hasRef    bool
	announced bool // its definitions were written since the slicer was made or restored
	live      bool // no marker was written behind it
	spread    bool // least and greatest are stored beside the mean
	seated    bool // it lies in the slot of its owner
	plain     bool // the input is a gauge in canonical units
}

// tune copies what a slot has of its owner.
func (x *slot) tune(in *input) {
	x.sinceMs, x.limitMs, x.flow = in.sinceMs, math.MaxUint32, nil
	if in.health != nil {
		x.flow = in.health.flow
	}
	if in.steady {
		x.limitMs = uint32(min((3*in.everyMs+1)/2, math.MaxUint32))
	}
	x.plain = in.folding == foldGauge && in.perUnit == 1
}

// seat gives an input that is in its slot the slot there, and brings what its output has had elsewhere, if it owns
// that.
func (t *seriesState) seat(in *input) {
	t.growSlots()
	if in.out.owner != in {
		t.slots[in.slot].seated = false
		return
	}
	here := &t.slots[in.slot]
	in.out.slot.seated = false
	*here = *in.out.slot
	here.seated = true
	here.tune(in)
	in.out.slot = here
}

// growSlots makes a slot for each slot. Where they have to move, the outputs are to know.
func (t *seriesState) growSlots() {
	if len(t.inputs) <= cap(t.slots) {
		t.slots = t.slots[:max(len(t.slots), len(t.inputs))]
		return
	}
	before := t.slots
	t.slots = make([]slot, len(t.inputs), max(len(t.inputs), 2*len(before)))
	copy(t.slots, before)
	for slot := range before {
		if in := t.inputs[slot]; in != nil && in.out.slot == &before[slot] {
			in.out.slot = &t.slots[slot]
		}
	}
}

// inOrder reports whether a slice with such samples is one that follows the one before, and nothing is missing between
// the two, for a gauge of which nothing is to be said but its values.
func (x *slot) inOrder(t *seriesState, endMs int64, c *column) bool {
	if !x.plain || !x.seated || !x.announced || endMs <= x.lastEnd || x.live && x.lastEnd+t.missMs <= endMs-t.widthMs {
		return false
	}
	if x.flow == nil {
		return true
	}
	longestMs := c.longestMs
	if x.heardMs > x.sinceMs && x.heardMs > 0 {
		longestMs = max(longestMs, c.firstMs()-x.heardMs)
	}
	return c.firstMs() > x.sinceMs && longestMs < int64(x.limitMs)
}

// follow notes the samples of a slice that is in order: what begin and cameTogether do.
func (x *slot) follow(clockMs, endMs int64, c *column) {
	x.lastEnd, x.lastMs, x.live = endMs, clockMs, true
	f := x.flow
	if f == nil {
		return
	}
	longestMs := c.longestMs
	if x.heardMs > x.sinceMs && x.heardMs > 0 {
		longestMs = max(longestMs, c.firstMs()-x.heardMs)
	}
	x.heardMs, x.missed = c.lastMs(), 0
	f.longestMs = max(f.longestMs, longestMs)
	f.lastEnd = max(f.lastEnd, endMs)
	f.samples += uint64(len(c.timesMs))
}
