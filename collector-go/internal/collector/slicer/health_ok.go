package slicer

import "slices"

// flow is the part of a metric's health that every slice changes.
type flow struct {
	longestMs int64 // between two samples, in the period that is not written yet
	lastEnd   int64 // end of the newest slice with a sample
	samples   uint64
	stirred   bool // something changed that healthy does not cover, or may have
}

// healthy is the part of a metric's health that a period reads if nothing is wrong with the metric. That is the case
// for nearly all metrics in nearly all periods. The flow and healthy values of a worker's metrics are stored
// contiguously.
type healthy struct {
	seenMs  int64 // longestMs in the newest period that has it
	wrongMs int64 // end of the newest period in which something was wrong; never if nothing was
	missing uint64
	late    uint64
	silent  bool // samples arrived earlier but no longer do, while other metrics of the worker still arrive

	everyMs  int64 // the interval of a steady metric; 0 for other metrics and if it is unknown
	silentMs int64 // how long the metric may be without a sample
}

// metricsTogether is the number of metrics of a worker whose flow and healthy values share an array. They are then on
// adjacent cache lines.
const metricsTogether = 8

type (
	flows          [metricsTogether]flow
	healthyMetrics [metricsTogether]healthy
)

// enter adds a metric and assigns it a flow and a healthy value in the arrays.
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

// goesOn handles a period in which nothing has to be written for a metric. newestMs is the end of the worker's newest
// slice with a sample. It returns false and changes nothing if something may have to be written.
func (c *healthy) goesOn(f *flow, newestMs int64) bool {
	if f.stirred || c.silent != c.fellSilent(f, newestMs) || c.off(f.longestMs) {
		return false
	}
	c.note(f)
	return true
}

// note stores the longest time between samples of the period and resets it.
func (c *healthy) note(f *flow) {
	if f.longestMs > 0 {
		c.seenMs = f.longestMs
	}
	f.longestMs = 0
}

// fellSilent reports whether a metric's samples no longer arrive while other samples of its worker do.
func (c *healthy) fellSilent(f *flow, newestMs int64) bool {
	return c.everyMs > 0 && f.lastEnd > 0 && f.lastEnd+c.silentMs < newestMs
}

// off reports whether the time between two samples differs from the interval by more than half of it. longestMs is 0 if
// there were no two samples.
func (c *healthy) off(longestMs int64) bool {
	return longestMs > 0 && c.everyMs > 0 && (2*longestMs > 3*c.everyMs || 2*longestMs < c.everyMs)
}

// learn derives everyMs and silentMs from the metric's interval and slice widths.
func (m *metricHealth) learn(o *Options) {
	m.stirred = true
	m.everyMs = 0
	if m.steady {
		m.everyMs = m.intervalMs
	}
	m.silentMs = o.Health.PeriodMs + 3*max(m.intervalMs, m.widthMs, o.WidthMs)
}

// settle decides whether the next period must examine the metric even if no sample changes it.
func (m *metricHealth) settle(endMs int64) {
	m.stirred = m.described(endMs) || slices.ContainsFunc(m.series(), func(t *healthSeries) bool { return t.live }) ||
		slices.ContainsFunc(m.refused, func(t tally) bool { return t.series.live })
}

// described reports whether something is wrong with a metric, or was within the last tailMs.
func (m *metricHealth) described(endMs int64) bool {
	return m.wrongMs != never && endMs-m.wrongMs <= tailMs
}
