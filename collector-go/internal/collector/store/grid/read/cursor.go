package read

import (
	"math/bits"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// cursor points to a place of a run that holds a slice. It moves forward only. Times are computed from places, so that
// a step costs an addition.
type cursor struct {
	*run.Run
	first int   // place before which nothing is wanted
	last  int   // place after which nothing is wanted
	place int   // where it stands
	atMs  int64 // the place's time
	rank  int   // of two slices at one time the one of lower rank counts
}

// msOf is a place's time.
func (c *cursor) msOf(place int) int64 { return c.FirstMs + int64(place)*c.StepMs }

// to stands at the first slice that is not before place; false: there is none.
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

// seek stands at the first slice that is not before ms; false: there is none.
func (c *cursor) seek(ms int64) bool {
	if ms <= c.FirstMs {
		return c.to(0)
	}
	if ms > c.LastMs() {
		return false
	}
	return c.to(int((ms - c.FirstMs + c.StepMs - 1) / c.StepMs))
}

// newest goes on to the newest slice that is not after ms. It stands at one that is not after ms already.
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

// presentFrom is the first place from place on that holds a slice; a place after last where there is none.
func (c *cursor) presentFrom(place int) int {
	for word := place >> 6; word < len(c.Present) && place <= c.last; word++ {
		if found := c.Present[word] >> (place & 63); found != 0 {
			return place + bits.TrailingZeros64(found)
		}
		place = (word + 1) << 6
	}
	return c.last + 1
}

// presentUpTo is the last place up to place that holds a slice; there is one, which the caller knows from where the
// cursor stood.
func (c *cursor) presentUpTo(place int) int {
	for word := place >> 6; ; word-- {
		if found := c.Present[word] << (63 - place&63); found != 0 {
			return place - bits.LeadingZeros64(found)
		}
		place = word<<6 - 1
	}
}
