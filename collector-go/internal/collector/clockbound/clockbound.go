// Package clockbound bounds how far a host's clock is ahead of the collector's, from both sides, by what cannot be
// otherwise: nothing arrives before it was sent, and nothing that answers was sent before what it answers. It knows
// neither who sends nor what is done about a clock that is off.
package clockbound

import "math"

// Never and Forever are the bounds of a clock that nothing bounds.
const (
	Never   = math.MinInt64
	Forever = math.MaxInt64
)

// Bounds are by how much a clock is ahead of the collector's, in milliseconds: at least LeastMs and at most MostMs.
type Bounds struct{ LeastMs, MostMs int64 }

// Unbounded are the bounds of a clock about which nothing is known yet.
var Unbounded = Bounds{Never, Forever}

// And are the bounds that hold where both do.
func (b Bounds) And(other Bounds) Bounds {
	return Bounds{max(b.LeastMs, other.LeastMs), min(b.MostMs, other.MostMs)}
}

// Contradict reports that no clock keeps these bounds.
func (b Bounds) Contradict() bool { return b.LeastMs > b.MostMs }

// SureMs is how far the clock is off beyond doubt: 0 where the bounds allow that it is right.
func (b Bounds) SureMs() int64 { return max(b.LeastMs, 0) + min(b.MostMs, 0) } // one of the two is 0

// Sent bounds the clock by which something was sent that the collector received.
func Sent(sentMs, receivedMs int64) Bounds { return Bounds{sentMs - receivedMs, Forever} }

// Answered bounds the clock by which an answer came that the collector sent.
func Answered(cameMs, sentMs int64) Bounds { return Bounds{Never, cameMs - sentMs} }

// HandedOver bounds the clock by which a worker handed over a report that the collector received at receivedMs. The
// sender took it at takenMs by its own clock, of which the bounds are known; 0 where it does not say when.
func HandedOver(handedOverMs, takenMs, receivedMs int64, sender Bounds) Bounds {
	least := handedOverMs - receivedMs
	if takenMs > 0 && sender.LeastMs != Never {
		least = max(least, handedOverMs-takenMs+sender.LeastMs)
	}
	return Bounds{least, Forever}
}

// Clock is a host's. What it was bounded by counts for one to two windows, since clocks drift and are set.
type Clock struct {
	SinceMs     int64 // the collector's time at which the newer window began
	Now, Before Bounds
}

// WindowMs is how long a window is.
const WindowMs = 60_000

// New is the clock of which something is first learnt at a time of the collector's.
func New(atMs int64) *Clock { return &Clock{atMs, Unbounded, Unbounded} }

// Observe takes a bound that was learnt at a time of the collector's.
func (c *Clock) Observe(b Bounds, atMs int64) {
	if passed := atMs - c.SinceMs; passed >= WindowMs || passed < -WindowMs {
		c.Before = c.Now
		if passed >= 2*WindowMs || passed < 0 {
			c.Before = Unbounded
		}
		c.SinceMs, c.Now = atMs, Unbounded
	}
	c.Now = c.Now.And(b)
}

// Known are the bounds of both windows; where the clock was set between them, of the newer.
func (c *Clock) Known() Bounds {
	if c == nil {
		return Unbounded
	}
	if both := c.Now.And(c.Before); !both.Contradict() {
		return both
	}
	return c.Now
}
