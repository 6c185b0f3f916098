package slicer

import "math"

// flow is how much of a worker's metric came; what every slice needs of it.
type flow struct {
	longestMs int64 // between two samples, in the period that is not written yet
	lastEnd   int64 // the newest slice with a sample
	samples   uint64
	stirred   bool // something has changed that is not in calm, or may have
}

// calm is what a period needs of a metric as long as nothing is to be written of it: in most periods that is nearly all
// of them. The flows of a worker's metrics lie together, and so does this.
type calm struct {
	seenMs    int64 // longestMs in the newest period that has it
	checkedTo int64 // end of the newest period in which samples was compared with what the stored values say
	checked   uint64
	missing   uint64
	late      uint64

	// What follows from what is written, set by settle.
	value    float64 // the total that was written last
	pace     float64 // how it goes on, a second
	valueMs  int64   // when it was written
	allowed  float64 // how wrong it may be by then
	roundMs  int64   // how often that is looked at
	dueMs    int64   // when the first of the values is to be written again
	silentMs int64   // how long the metric may be without a sample

	intervalMs int64 // 0 where it is not steady
	doubted    bool  // the stored values were wrong by a little in checkedTo
}

// metricsTogether is how many metrics of a worker have their flows in adjacent lines of the processor's cache, as their
// calms.
const metricsTogether = 8

type (
	flows [metricsTogether]flow
	calms [metricsTogether]calm
)

// enter gives a metric its place.
func (h *health) enter(m *metricHealth) {
	at := len(h.metrics) % metricsTogether
	if at == 0 {
		h.flows, h.calms = append(h.flows, new(flows)), append(h.calms, new(calms))
	}
	last := len(h.flows) - 1
	f, c := &h.flows[last][at], &h.calms[last][at]
	if m.flow != nil {
		*f, *c = *m.flow, *m.calm
	}
	f.stirred = true
	m.flow, m.calm = f, c
	h.metrics = append(h.metrics, m)
}

// goesOn is writeMetric for a period in which nothing has to be written for a metric. It returns false and changes
// nothing where something may have to be.
func (c *calm) goesOn(f *flow, endMs int64) bool {
	if f.stirred || endMs >= c.dueMs || f.lastEnd+c.silentMs < endMs || f.longestMs != 0 && f.longestMs != c.seenMs {
		return false
	}
	if endMs-c.checkedTo >= c.roundMs {
		wrong := math.Abs(float64(f.samples) - c.value - c.pace*float64(endMs-c.valueMs)/1000)
		if !(wrong <= max(0.5, c.allowed/10)) {
			return false
		}
		c.checkedTo, c.checked, c.doubted = endMs, f.samples, false
	}
	f.longestMs = 0
	return true
}

// settle notes what is written of a metric, which is the one at a place, so that the next periods need not look.
func (s *Slicer) settle(m *metricHealth, place int) {
	written := []*healthSeries{&m.samplesSeries, &m.intervalSeries, &m.seenSeries}
	m.stirred = m.lastEnd == 0 || m.missingSeries.live || m.missingSeries.value != float64(m.missing) ||
		m.lateSeries.live || m.lateSeries.value != float64(m.late) ||
		m.intervalMs > 0 && float64(m.intervalMs)/1000 != m.intervalSeries.value || m.seenMs > 0 && m.seenChanged()
	for i := range m.refused {
		r := &m.refused[i]
		m.stirred = m.stirred || r.series.live || r.series.value != float64(r.n)
	}
	c := m.calm
	turn := int64(place) * s.options.Health.PeriodMs
	c.dueMs = math.MaxInt64
	for i, t := range written {
		if i == 1 && m.intervalMs <= 0 || i == 2 && (m.seenMs <= 0 || m.seenGoesUnsaid()) {
			continue // nothing to be said
		}
		m.stirred = m.stirred || !t.live
		c.dueMs = min(c.dueMs, ((t.lastEnd+turn)/refreshMs+1)*refreshMs-turn)
	}
	c.value, c.valueMs, c.pace = m.samplesSeries.value, m.samplesSeries.lastEnd, m.rateSeries.value
	c.allowed = s.allowed(m, c.pace)
	c.roundMs, c.silentMs = s.round(m), s.silentMs(m)
	c.intervalMs = 0
	if m.steady && m.intervalMs > 0 {
		c.intervalMs = m.intervalMs
	}
}
