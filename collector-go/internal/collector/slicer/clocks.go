package slicer

import (
	"maps"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// maxClocks bounds the number of hosts whose clocks are tracked. For hosts beyond it, the clock skew is estimated from
// the workers' samples alone.
const maxClocks = 65_536

// observe records bounds of a host's clock offset that follow from the current batch.
func (s *Slicer) observe(host string, b slice.ClockBounds) {
	if s.batch.receivedMs == 0 || s.options.Health.PeriodMs == 0 {
		return
	}
	c := s.clocks[host]
	if c == nil {
		if len(s.clocks) >= maxClocks {
			return
		}
		c = slice.NewClock(s.batch.receivedMs)
		s.clocks[host] = c
	}
	c.Observe(b, s.batch.receivedMs)
}

// sent records when the current batch was sent, by the clock of the worker that sent it. Call it after received.
func (s *Slicer) sent(sender metric.Worker, sentMs int64) {
	if sentMs > 0 {
		s.observe(sender.Host, slice.BoundsOfSending(sentMs, s.batch.receivedMs))
	}
}

// answered records when the collector sent an answer, by its own clock, and when the answer reached a sender, by the
// sender's clock. Unknown times are 0 and are ignored.
func (s *Slicer) answered(sender metric.Worker, cameMs, sentMs int64) {
	if cameMs > 0 && sentMs > 0 && sentMs <= s.batch.receivedMs {
		s.observe(sender.Host, slice.BoundsOfAnswer(cameMs, sentMs))
	}
}

// handedOver records when a worker handed over a report, by its own clock, and when the sender received it, by the
// sender's.
func (s *Slicer) handedOver(w, sender metric.Worker, handOverMs, takenMs int64) {
	if handOverMs > 0 {
		known := s.clocks[sender.Host].Known()
		s.observe(w.Host, slice.BoundsOfDelivery(handOverMs, takenMs, s.batch.receivedMs, known))
	}
}

// clockOf returns the bounds of a worker's clock offset. They combine the bounds of its host with the bound from its
// freshest sample. If the two contradict each other, the worker's clock is not the one that others report under this
// host name. Then only its own samples count.
func (s *Slicer) clockOf(src *source) slice.ClockBounds {
	own := slice.ClockBounds{LeastMs: src.health.aheadMs, MostMs: slice.Forever}
	if all := own.And(s.clocks[src.worker.Host].Known()); !all.Contradict() {
		return all
	}
	return own
}

// sweepClocks forgets the clocks of hosts on which no source runs.
func (s *Slicer) sweepClocks() {
	hosts := make(map[string]bool, len(s.clocks))
	for _, src := range s.sources {
		hosts[src.worker.Host] = true
	}
	maps.DeleteFunc(s.clocks, func(host string, _ *slice.Clock) bool { return !hosts[host] })
}

func (c *coder) clocks(all map[string]*slice.Clock) {
	metric.Map(c.Coder, all, strings.Compare, func(host *string) { c.String(host) },
		func(_ *string, known **slice.Clock) {
			x := metric.New(c.Coder, known)
			c.Int(&x.SinceMs, &x.Now.LeastMs, &x.Now.MostMs, &x.Before.LeastMs, &x.Before.MostMs)
		})
}
