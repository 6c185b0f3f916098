package slice

import "math"

// Never and Forever are the bounds of a clock without any known bound.
const (
	Never   = math.MinInt64
	Forever = math.MaxInt64
)

// ClockBounds say by how many milliseconds a host's clock is ahead of the collector's: at least LeastMs and at most
// MostMs.
//
// They follow from two facts that hold on every network, however slow it is. Nothing arrives before it was sent, and an
// answer is not sent before its message. Each message gives one side of the interval; the clock is off beyond doubt
// only if the interval leaves out 0. A simple difference of two timestamps would blame the clock for delays of the
// network.
type ClockBounds struct{ LeastMs, MostMs int64 }

// Unbounded are the bounds of a clock about which nothing is known.
var Unbounded = ClockBounds{Never, Forever}

// And returns the intersection of two intervals, which may be empty (see Contradict).
func (b ClockBounds) And(other ClockBounds) ClockBounds {
	return ClockBounds{max(b.LeastMs, other.LeastMs), min(b.MostMs, other.MostMs)}
}

// Contradict reports that no clock can satisfy the bounds, because LeastMs is above MostMs.
func (b ClockBounds) Contradict() bool { return b.LeastMs > b.MostMs }

// SureMs returns by how many ms the clock is certainly ahead, or, if negative, behind. It is 0 if the bounds allow that
// the clock is right.
func (b ClockBounds) SureMs() int64 { return max(b.LeastMs, 0) + min(b.MostMs, 0) } // one of the two is 0

// BoundsOfSending returns what a message from the host shows about its clock: sentMs is by that clock, and receivedMs
// is by the collector's. The network delay is unknown, so there is no upper bound.
func BoundsOfSending(sentMs, receivedMs int64) ClockBounds {
	return ClockBounds{sentMs - receivedMs, Forever}
}

// BoundsOfAnswer returns what the collector's answer shows about the host's clock: cameMs is its arrival by the host's
// clock, and sentMs is by the collector's. There is no lower bound.
func BoundsOfAnswer(cameMs, sentMs int64) ClockBounds { return ClockBounds{Never, cameMs - sentMs} }

// BoundsOfDelivery returns what a report shows about the clock of the worker that handed it over at handedOverMs. The
// sender took it at takenMs by its own clock, which has the bounds sender. takenMs is 0 if the sender does not report
// it. The collector received the report at receivedMs.
func BoundsOfDelivery(handedOverMs, takenMs, receivedMs int64, sender ClockBounds) ClockBounds {
	least := handedOverMs - receivedMs
	if takenMs > 0 && sender.LeastMs != Never {
		least = max(least, handedOverMs-takenMs+sender.LeastMs)
	}
	return ClockBounds{least, Forever}
}

// Clock holds the bounds on the clock of one host. A bound counts for one to two windows of ClockWindowMs and is then
// forgotten. Clocks drift and are set, so bounds that were kept indefinitely would soon contradict each other.
type Clock struct {
	SinceMs     int64 // start of the newer window, by the collector's clock
	Now, Before ClockBounds
}

// ClockWindowMs is the length of a window in ms.
const ClockWindowMs = 60_000

// NewClock returns a clock without bounds, whose first window begins at atMs by the collector's clock.
func NewClock(atMs int64) *Clock { return &Clock{atMs, Unbounded, Unbounded} }

// Observe adds bounds that were learned at atMs, by the collector's clock.
func (c *Clock) Observe(b ClockBounds, atMs int64) {
	if passed := atMs - c.SinceMs; passed >= ClockWindowMs || passed < -ClockWindowMs {
		c.Before = c.Now
		if passed >= 2*ClockWindowMs || passed < 0 {
			c.Before = Unbounded
		}
		c.SinceMs, c.Now = atMs, Unbounded
	}
	c.Now = c.Now.And(b)
}

// Known returns the bounds of both windows. If they contradict each other, the clock was set, and it returns the newer
// window's bounds. A nil Clock is unbounded.
func (c *Clock) Known() ClockBounds {
	if c == nil {
		return Unbounded
	}
	if both := c.Now.And(c.Before); !both.Contradict() {
		return both
	}
	return c.Now
}
