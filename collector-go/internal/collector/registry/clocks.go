package registry

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// The slicer bounds workers' clocks too, and what it writes lies at the workers' own time: where a clock is minutes
// behind, no rule that looks at the collector's time finds it. The registry reads the same journal and answers at the
// collector's time. No checkpoint has these clocks: they are learnt again from the next batches.

// maxClocks bounds the hosts whose clocks are known; further ones are not.
const maxClocks = 65_536

// clockKnownMs is how long after its newest batch a host's clock counts as known.
const clockKnownMs = 2 * slice.ClockWindowMs

// clock is what is known of a host's clock. All workers of a host share it.
type clock struct {
	slice.Clock
	heardMs int64 // when it was bounded last, by the collector's clock
}

// clocksOf learns about clocks from a batch. The time of sending bounds the sender's own clock, and the time at which a
// worker handed over its samples bounds that worker's.
func (s *state) clocksOf(b *journal.Batch, sender string) {
	read := b.Notes.GetClocks()
	if b.SentMs > 0 {
		learnt := slice.BoundsOfSending(b.SentMs, b.ReceivedMs)
		came, sent := read.GetAcknowledgedTimeMs(), read.GetAcknowledgementSentTimeMs()
		if came > 0 && sent > 0 && sent <= b.ReceivedMs {
			if both := learnt.And(slice.BoundsOfAnswer(came, sent)); !both.Contradict() { // not set since the answer
				learnt = both
			}
		}
		s.observeClock(sender, learnt, b.ReceivedMs)
	}
	for _, w := range read.GetWorkers() {
		if handedOver := w.GetHandOverTimeMs(); handedOver > 0 {
			s.observeClock(clip(w.GetHost(), s.limits.TextBytes), slice.BoundsOfDelivery(handedOver, w.GetTakenTimeMs(),
				b.ReceivedMs, s.clockOf(sender)), b.ReceivedMs)
		}
	}
}

// observeClock adds bounds to what is known of a host's clock. Bounds that contradict it mean that the clock was set,
// and everything before is forgotten.
func (s *state) observeClock(host string, b slice.ClockBounds, atMs int64) {
	c := s.clocks[host]
	if c == nil {
		if len(s.clocks) >= maxClocks {
			return
		}
		c = &clock{Clock: *slice.NewClock(atMs)}
		s.clocks[host] = c
	}
	if c.Known().And(b).Contradict() { // it was set: what was learnt before is no longer so
		c.Clock = *slice.NewClock(atMs)
	}
	c.Observe(b, atMs)
	c.heardMs = atMs
}

// clockOf are the bounds of a host's clock; unbounded where nothing was learnt of it lately.
func (s *state) clockOf(host string) slice.ClockBounds {
	c := s.clocks[host]
	if c == nil || s.clockMs-c.heardMs > clockKnownMs {
		return slice.Unbounded
	}
	return c.Known()
}

// forgetClocks drops the clocks of hosts that are not heard any more.
func (s *state) forgetClocks() {
	for host, c := range s.clocks {
		if s.clockMs-c.heardMs > clockKnownMs {
			delete(s.clocks, host)
		}
	}
}

// ClockBounds are by how many seconds a worker's clock is ahead of the collector's.
type ClockBounds struct {
	// Ahead is beyond doubt: below 0 where the clock is behind, 0 where it may be right.
	Ahead float64 `json:"ahead_seconds"`
	// Least is by how much at least, Most at most; nil where nothing bounds it from above.
	Least float64  `json:"least_seconds"`
	Most  *float64 `json:"most_seconds,omitempty"`
}

// clockShown is nil where nothing is known.
func (s *state) clockShown(host string) *ClockBounds {
	known := s.clockOf(host)
	if known.LeastMs == slice.Never {
		return nil
	}
	shown := &ClockBounds{Ahead: toSeconds(known.SureMs()), Least: toSeconds(known.LeastMs)}
	if known.MostMs != slice.Forever {
		most := toSeconds(known.MostMs)
		shown.Most = &most
	}
	return shown
}

func toSeconds(ms int64) float64 { return float64(ms) / 1000 }

// clockAhead is the clock of a topology that is off the most: the one furthest behind, if any is, since what is behind
// is what rules do not see; 0 where all may be right or nothing is known.
func (v view) clockAhead() float64 {
	least, most := 0.0, 0.0
	for _, w := range v.workers {
		if !w.present {
			continue
		}
		if c := v.state.clockShown(w.host); c != nil {
			least, most = math.Min(least, c.Ahead), math.Max(most, c.Ahead)
		}
	}
	if least < 0 {
		return least
	}
	return most
}

var clockDesc = prometheus.NewDesc("bullet_metrics_worker_clock_ahead_seconds",
	"Certain clock skew of a worker, from messages of the last two minutes, in seconds. It is positive if the worker's clock is ahead of the collector's, negative if it is behind, and 0 if it may be right. Samples of this metric carry the collector's time.",
	[]string{"topology", "worker"}, nil)

// collectClocks shows the clocks of a topology's workers. The registry's mutex is held.
func (f *figures) collectClocks(out chan<- prometheus.Metric, t *topology) {
	for _, w := range t.current().workers {
		if c := f.registry.state.clockShown(w.host); c != nil && w.present {
			out <- prometheus.MustNewConstMetric(clockDesc, prometheus.GaugeValue, c.Ahead, t.name, w.place.String())
		}
	}
}
