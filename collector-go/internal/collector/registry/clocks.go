package registry

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// The slicer bounds workers' clocks too, but it stores the bounds at the worker's own time. If a worker's clock is
// minutes behind, a rule that looks at the collector's time does not find them. The registry therefore reads the same
// journal and answers at the collector's time. Checkpoints do not contain these clocks, because the next batches bound
// them again.

// maxClocks limits the number of hosts whose clocks are tracked. Clocks of further hosts stay unknown.
const maxClocks = 65_536

// clockKnownMs is how long a host's clock counts as known after the host's newest batch, in ms.
const clockKnownMs = 2 * slice.ClockWindowMs

// clock holds the bounds on a host's clock. All workers of a host share it.
type clock struct {
	slice.Clock
	heardMs int64 // when it was last bounded, by the collector's clock
}

// clocksOf updates the clocks' bounds from a batch. The time of sending bounds the sender's own clock. The time at
// which a worker handed over its samples bounds that worker's clock.
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

// observeClock adds bounds to those of a host's clock. If they contradict each other, the clock was set, and all
// earlier bounds are forgotten.
func (s *state) observeClock(host string, b slice.ClockBounds, atMs int64) {
	c := s.clocks[host]
	if c == nil {
		if len(s.clocks) >= maxClocks {
			return
		}
		c = &clock{Clock: *slice.NewClock(atMs)}
		s.clocks[host] = c
	}
	if c.Known().And(b).Contradict() { // the clock was set, so earlier bounds no longer hold
		c.Clock = *slice.NewClock(atMs)
	}
	c.Observe(b, atMs)
	c.heardMs = atMs
}

// clockOf returns the bounds of a host's clock. They are unbounded if the host was not heard for clockKnownMs.
func (s *state) clockOf(host string) slice.ClockBounds {
	c := s.clocks[host]
	if c == nil || s.clockMs-c.heardMs > clockKnownMs {
		return slice.Unbounded
	}
	return c.Known()
}

// ClockBounds says by how many seconds a worker's clock is ahead of the collector's.
type ClockBounds struct {
	// Ahead is the error that is certain, in seconds. It is below 0 if the clock is behind, and 0 if the clock may be
	// right.
	Ahead float64 `json:"ahead_seconds"`
	// Least and Most bound the error from below and above. Most is nil if there is no upper bound.
	Least float64  `json:"least_seconds"`
	Most  *float64 `json:"most_seconds,omitempty"`
}

// clockShown returns the bounds of a host's clock in seconds, or nil if there is no lower bound.
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

// clockAhead returns the certain error of the topology's worst clock, in seconds. A clock that is behind takes
// precedence over one that is ahead, because alert rules do not see samples of a clock that is behind. It returns 0 if
// all clocks may be right or are unknown.
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

// collectClocks emits the clock error of each worker of a topology. The caller holds the registry's mutex.
func (f *figures) collectClocks(out chan<- prometheus.Metric, t *topology) {
	for _, w := range t.current().workers {
		if c := f.registry.state.clockShown(w.host); c != nil && w.present {
			out <- prometheus.MustNewConstMetric(clockDesc, prometheus.GaugeValue, c.Ahead, t.name, w.place.String())
		}
	}
}
