package slice

import "math"

// Never and Forever are the bounds of a clock that nothing bounds.
const (
	Never   = math.MinInt64
	Forever = math.MaxInt64
)

// ClockBounds say by how many milliseconds a host's clock is ahead of the collector's: at least LeastMs and at most
// MostMs.
//
// They follow from two facts that hold on every network, however slow it is: nothing arrives before it was sent, and an
// answer is not sent before the message that it answers. Each message gives one side of the interval; the clock is off
// beyond doubt only if the interval leaves out 0. A simple difference of two timestamps would blame the clock for
// delays of the network.
type ClockBounds struct{ LeastMs, MostMs int64 }

// Unbounded are the bounds of a clock about which nothing is known yet.
var Unbounded = ClockBounds{Never, Forever}

// And are the bounds that hold where both do.
func (b ClockBounds) And(other ClockBounds) ClockBounds {
	return ClockBounds{max(b.LeastMs, other.LeastMs), min(b.MostMs, other.MostMs)}
}

// Contradict reports that no clock keeps these bounds.
func (b ClockBounds) Contradict() bool { return b.LeastMs > b.MostMs }

// SureMs is how far the clock is off beyond doubt: 0 where the bounds allow that it is right.
func (b ClockBounds) SureMs() int64 { return max(b.LeastMs, 0) + min(b.MostMs, 0) } // one of the two is 0

// BoundsOfSending bounds the clock by which something was sent that the collector received.
func BoundsOfSending(sentMs, receivedMs int64) ClockBounds {
	return ClockBounds{sentMs - receivedMs, Forever}
}

// BoundsOfAnswer bounds the clock by which an answer came that the collector sent.
func BoundsOfAnswer(cameMs, sentMs int64) ClockBounds { return ClockBounds{Never, cameMs - sentMs} }

// BoundsOfDelivery bounds the clock by which a worker handed over a report that the collector received at receivedMs.
// The sender took it at takenMs by its own clock, of which the bounds are known; 0 where it does not say when.
func BoundsOfDelivery(handedOverMs, takenMs, receivedMs int64, sender ClockBounds) ClockBounds {
	least := handedOverMs - receivedMs
	if takenMs > 0 && sender.LeastMs != Never {
		least = max(least, handedOverMs-takenMs+sender.LeastMs)
	}
	return ClockBounds{least, Forever}
}

// Clock holds the bounds on the clock of one host. A bound counts for one to two windows of ClockWindowMs and is then
// forgotten, because clocks drift and are set: bounds that were kept indefinitely would soon contradict each other.
type Clock struct {
	SinceMs     int64 // the collector's time at which the newer window began
	Now, Before ClockBounds
}

// ClockWindowMs is how long a window is.
const ClockWindowMs = 60_000

// NewClock is the clock of which something is first learnt at a time of the collector's.
func NewClock(atMs int64) *Clock { return &Clock{atMs, Unbounded, Unbounded} }

// Observe takes a bound that was learnt at a time of the collector's.
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

// Known are the bounds of both windows; where the clock was set between them, of the newer.
func (c *Clock) Known() ClockBounds {
	if c == nil {
		return Unbounded
	}
	if both := c.Now.And(c.Before); !both.Contradict() {
		return both
	}
	return c.Now
}
