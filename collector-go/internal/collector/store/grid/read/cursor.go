package read

import (
	"math/bits"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// cursor points to a slot of a run that holds a slice. It only moves forward. A step computes the time from the slot
// and costs one addition.
type cursor struct {
	*run.Run
	first int   // first slot that is wanted
	last  int   // last slot that is wanted
	slot  int   // the current slot
	atMs  int64 // the end of the current slot
	rank  int   // of two slices at one time, the one with the lower rank counts
}

// msOf returns the end of a slot.
func (c *cursor) msOf(slot int) int64 { return c.FirstMs + int64(slot)*c.StepMs }

// to moves to the first slice at slot or after it. It returns false if there is none.
func (c *cursor) to(slot int) bool {
	slot = max(slot, c.first)
	if c.Present != nil {
		slot = c.presentFrom(slot)
	}
	if slot > c.last {
		return false
	}
	c.slot, c.atMs = slot, c.msOf(slot)
	return true
}

// seek moves to the first slice that is not before ms. It returns false if there is none.
func (c *cursor) seek(ms int64) bool {
	if ms <= c.FirstMs {
		return c.to(0)
	}
	if ms > c.LastMs() {
		return false
	}
	return c.to(int((ms - c.FirstMs + c.StepMs - 1) / c.StepMs))
}

// newest moves forward to the newest slice that is not after ms. The current slice must not be after ms either.
func (c *cursor) newest(ms int64) {
	slot := c.last
	if away := (ms - c.FirstMs) / c.StepMs; away < int64(slot) {
		slot = int(away)
	}
	if c.Present != nil {
		slot = c.presentUpTo(slot)
	}
	c.slot, c.atMs = slot, c.msOf(slot)
}

// presentFrom returns the first slot from slot on that holds a slice, or a slot after last if there is none.
func (c *cursor) presentFrom(slot int) int {
	for word := slot >> 6; word < len(c.Present) && slot <= c.last; word++ {
		if found := c.Present[word] >> (slot & 63); found != 0 {
			return slot + bits.TrailingZeros64(found)
		}
		slot = (word + 1) << 6
	}
	return c.last + 1
}

// presentUpTo returns the last slot up to slot that holds a slice. There must be one, which holds because the cursor
// is at one.
func (c *cursor) presentUpTo(slot int) int {
	for word := slot >> 6; ; word-- {
		if found := c.Present[word] << (63 - slot&63); found != 0 {
			return slot - bits.LeadingZeros64(found)
		}
		slot = word<<6 - 1
	}
}
