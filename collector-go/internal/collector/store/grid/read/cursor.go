package read

import (
	"math/bits"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// cursor points to a place of a run that holds a slice. It only moves forward. A step computes the time from the place
// and costs one addition.
type cursor struct {
	*run.Run
	first int   // first place that is wanted
	last  int   // last place that is wanted
	place int   // the current place
	atMs  int64 // the end of the current place
	rank  int   // of two slices at one time, the one with the lower rank counts
}

// msOf returns the end of a place.
func (c *cursor) msOf(place int) int64 { return c.FirstMs + int64(place)*c.StepMs }

// to moves to the first slice at place or after it. It returns false if there is none.
func (c *cursor) to(place int) bool {
	place = max(place, c.first)
	if c.Present != nil {
		place = c.presentFrom(place)
	}
	if place > c.last {
		return false
	}
	c.place, c.atMs = place, c.msOf(place)
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
	place := c.last
	if away := (ms - c.FirstMs) / c.StepMs; away < int64(place) {
		place = int(away)
	}
	if c.Present != nil {
		place = c.presentUpTo(place)
	}
	c.place, c.atMs = place, c.msOf(place)
}

// presentFrom returns the first place from place on that holds a slice, or a place after last if there is none.
func (c *cursor) presentFrom(place int) int {
	for word := place >> 6; word < len(c.Present) && place <= c.last; word++ {
		if found := c.Present[word] >> (place & 63); found != 0 {
			return place + bits.TrailingZeros64(found)
		}
		place = (word + 1) << 6
	}
	return c.last + 1
}

// presentUpTo returns the last place up to place that holds a slice. There must be one, which holds because the cursor
// is at one.
func (c *cursor) presentUpTo(place int) int {
	for word := place >> 6; ; word-- {
		if found := c.Present[word] << (63 - place&63); found != 0 {
			return place - bits.LeadingZeros64(found)
		}
		place = word<<6 - 1
	}
}
