package slicer

import (
	"maps"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// A worker's clock is bounded from both sides by what cannot be otherwise: nothing arrives before it was sent, and
// nothing that answers was sent before what it answers. The workers of a host have one clock, so that each of them
// bounds it.

// bounds are by how much a clock is ahead of the collector's: at least and at most, ms; never and forever where nothing
// bounds it.
type bounds struct{ leastMs, mostMs int64 }

const forever = math.MaxInt64

var unbounded = bounds{never, forever}

func (b bounds) and(other bounds) bounds {
	return bounds{max(b.leastMs, other.leastMs), min(b.mostMs, other.mostMs)}
}

func (b bounds) contradict() bool { return b.leastMs > b.mostMs }

// sure is how far off the clock is beyond doubt: 0 where the bounds hold it.
func (b bounds) sure() int64 { return max(b.leastMs, 0) + min(b.mostMs, 0) } // one of the two is 0

// clock is a host's. What it was bounded by counts for one to two windows, since clocks drift and are set.
type clock struct {
	sinceMs     int64 // the collector's time at which the newer window began
	now, before bounds
}

const clockWindowMs = 60_000

// maxClocks bounds the hosts whose clocks are known; further ones are bounded by the workers' own samples alone.
const maxClocks = 65_536

// observe takes a bound that was learnt at a time of the collector's.
func (c *clock) observe(b bounds, atMs int64) {
	if passed := atMs - c.sinceMs; passed >= clockWindowMs || passed < -clockWindowMs {
		c.before = c.now
		if passed >= 2*clockWindowMs || passed < 0 {
			c.before = unbounded
		}
		c.sinceMs, c.now = atMs, unbounded
	}
	c.now = c.now.and(b)
}

// known are the bounds of both windows; where the clock was set between them, of the newer.
func (c *clock) known() bounds {
	if c == nil {
		return unbounded
	}
	if both := c.now.and(c.before); !both.contradict() {
		return both
	}
	return c.now
}

// observe notes a bound of a host's clock, learnt from the batch at hand.
func (s *Slicer) observe(host string, b bounds) {
	if s.batch.receivedMs == 0 || s.options.Health.PeriodMs == 0 {
		return
	}
	c := s.clocks[host]
	if c == nil {
		if len(s.clocks) >= maxClocks {
			return
		}
		s.aloneOn(host)
		c = &clock{sinceMs: s.batch.receivedMs, now: unbounded, before: unbounded}
		s.clocks[host] = c
	}
	c.observe(b, s.batch.receivedMs)
}

// Sent records when the current batch was sent, by the clock of the worker that sent it. Call it after Received.
func (s *Slicer) Sent(sender metric.Worker, sentMs int64) {
	if sentMs > 0 {
		s.observe(sender.Host, bounds{sentMs - s.batch.receivedMs, forever})
	}
}

// Answered records when an answer of the collector reached a sender, by the sender's clock, and when the collector sent
// it, by the collector's.
func (s *Slicer) Answered(sender metric.Worker, cameMs, sentMs int64) {
	if cameMs > 0 && sentMs > 0 && sentMs <= s.batch.receivedMs {
		s.observe(sender.Host, bounds{never, cameMs - sentMs})
	}
}

// HandedOver records when a worker handed over a report, by its own clock, and when the sender received it, by the
// sender's.
func (s *Slicer) HandedOver(w, sender metric.Worker, handOverMs, takenMs int64) {
	if handOverMs <= 0 {
		return
	}
	leastMs := handOverMs - s.batch.receivedMs
	if of := s.clocks[sender.Host].known(); takenMs > 0 && of.leastMs != never {
		leastMs = max(leastMs, handOverMs-takenMs+of.leastMs)
	}
	s.observe(w.Host, bounds{leastMs, forever})
}

// clockOf are the bounds of a worker's clock, by its host's and by its freshest sample. Where these contradict each
// other it has another clock than what else goes by the host's name, and only its own samples count.
func (s *Slicer) clockOf(src *source) bounds {
	own := bounds{src.health.aheadMs, forever}
	if all := own.and(s.clocks[src.worker.Host].known()); !all.contradict() {
		return all
	}
	return own
}

// sweepClocks forgets the clocks of hosts that no source is on.
func (s *Slicer) sweepClocks() {
	hosts := make(map[string]bool, len(s.clocks))
	for _, src := range s.sources {
		hosts[src.worker.Host] = true
	}
	maps.DeleteFunc(s.clocks, func(host string, _ *clock) bool { return !hosts[host] })
}

func (w writer) clocks(clocks map[string]*clock) {
	w.Uint(uint64(len(clocks)))
	for _, host := range slices.Sorted(maps.Keys(clocks)) {
		c := clocks[host]
		w.String(host)
		for _, ms := range []int64{c.sinceMs, c.now.leastMs, c.now.mostMs, c.before.leastMs, c.before.mostMs} {
			w.Int(ms)
		}
	}
}

func (r *reader) clocks() {
	for range r.Count(1) {
		host := r.String()
		if !r.demand(r.s.clocks[host] == nil, "a host has two clocks") {
			return
		}
		r.s.clocks[host] = &clock{r.Int(), bounds{r.Int(), r.Int()}, bounds{r.Int(), r.Int()}}
	}
}
