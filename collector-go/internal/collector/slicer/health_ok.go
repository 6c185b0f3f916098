package slicer

import "slices"

// flow is how much of a worker's metric came; what every slice needs of it.
type flow struct {
	longestMs int64 // between two samples, in the period that is not written yet
	lastEnd   int64 // the newest slice with a sample
	samples   uint64
	stirred   bool // something has changed that is not in healthy, or may have
}

// healthy is what a period needs of a metric as long as nothing is wrong with it: in most periods that is nearly all of
// them. The flows of a worker's metrics lie together, and so does this.
type healthy struct {
	seenMs  int64 // longestMs in the newest period that has it
	wrongMs int64 // end of the newest period in which something was wrong; never before the first
	missing uint64
	late    uint64
	silent  bool // it came, and does not any more, while others of its worker do

	everyMs  int64 // the interval of a steady metric; 0 of others, and where it is unknown
	silentMs int64 // how long the metric may be without a sample
}

// metricsTogether is how many metrics of a worker have their flows in adjacent lines of the processor's cache, as their
// healthy states.
const metricsTogether = 8

type (
	flows          [metricsTogether]flow
	healthyMetrics [metricsTogether]healthy
)

// enter gives a metric its place.
func (h *health) enter(m *metricHealth) {
	at := len(h.metrics) % metricsTogether
	if at == 0 {
		h.flows, h.healthy = append(h.flows, new(flows)), append(h.healthy, new(healthyMetrics))
	}
	last := len(h.flows) - 1
	f, c := &h.flows[last][at], &h.healthy[last][at]
	if m.flow != nil {
		*f, *c = *m.flow, *m.healthy
	} else {
		c.wrongMs = never
	}
	f.stirred = true
	m.flow, m.healthy = f, c
	h.metrics = append(h.metrics, m)
}

// goesOn is writeMetric for a period in which nothing has to be written for a metric, of a worker whose newest slice
// with a sample is at newestMs. It returns false and changes nothing where something may have to be.
func (c *healthy) goesOn(f *flow, newestMs int64) bool {
	if f.stirred || c.silent != c.fellSilent(f, newestMs) || c.off(f.longestMs) {
		return false
	}
	c.note(f)
	return true
}

// note takes what was seen in a period.
func (c *healthy) note(f *flow) {
	if f.longestMs > 0 {
		c.seenMs = f.longestMs
	}
	f.longestMs = 0
}

// fellSilent reports whether a metric came, and does not any more, while others of its worker do.
func (c *healthy) fellSilent(f *flow, newestMs int64) bool {
	return c.everyMs > 0 && f.lastEnd > 0 && f.lastEnd+c.silentMs < newestMs
}

// off reports whether a time between two samples, 0 where there were no two, is not the interval: off by more than half
// of it.
func (c *healthy) off(longestMs int64) bool {
	return longestMs > 0 && c.everyMs > 0 && (2*longestMs > 3*c.everyMs || 2*longestMs < c.everyMs)
}

// learn notes what the metric's interval and widths mean for its periods.
func (m *metricHealth) learn(o *Options) {
	m.stirred = true
	m.everyMs = 0
	if m.steady {
		m.everyMs = m.intervalMs
	}
	m.silentMs = o.Health.PeriodMs + 3*max(m.intervalMs, m.widthMs, o.WidthMs)
}

// settle notes whether the next period has to look at a metric, even if nothing happens to it.
func (m *metricHealth) settle(endMs int64) {
	m.stirred = m.described(endMs) || slices.ContainsFunc(m.series(), func(t *healthSeries) bool { return t.live }) ||
		slices.ContainsFunc(m.refused, func(t tally) bool { return t.series.live })
}

// described reports whether something is wrong with a metric, or was until a little while ago.
func (m *metricHealth) described(endMs int64) bool {
	return m.wrongMs != never && endMs-m.wrongMs <= tailMs
}
