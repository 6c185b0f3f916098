package slicer

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// slot is the part of an output that every slice needs. The slots of a series state are in one array. A closing slice
// reads them in order, and accesses inputs and outputs only in special cases.
//
// The owner of the output decides where the slot is: in the array of the owner's series state (seated), or allocated by
// itself. Fields that belong to the input are copies, which tune updates.
type slot struct {
	lastEnd int64 // end of its newest slice; no slice at or before it is written again
	lastMs  int64 // the slicer's clock when that slice was written
	heardMs int64 // event time of its newest sample in a slice; 0 before the first
	missed  int64 // samples that are missing since then and already counted

	flow    *flow // the input's; nil if its collection health is not recorded
	sinceMs int64 // the input's

	ref       slice.Ref // the first of its refs, which are consecutive
	limitMs   uint32    // if two samples are less than this apart, none is missing between them
	hasRef    bool
	announced bool // its definitions were written since the slicer was made or restored
	live      bool // no marker follows its last slice
	spread    bool // least and greatest are stored in addition to the mean
	seated    bool // it is in the array of its owner's series state
	plain     bool // the input is a gauge in canonical units
}

// tune copies the fields of the owner into a slot.
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

// seat moves the slot of an input's output to the input's index in the array, if the input owns the output.
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

// growSlots extends the array to one slot per input. If the array is reallocated, it updates the pointers of the
// outputs.
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

// inOrder reports whether a slice directly continues an output: the output is a plain gauge, no sample is missing
// before or within the slice, and nothing but its values has to be written.
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

// follow records the samples of a slice for which inOrder holds. It replaces begin and cameTogether.
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
