package slicer

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// quietMs is for how long what is told of a worker as a whole goes on without a sample of it.
const quietMs = 150_000

// periodEnd is the newest end of a period at or before a time.
func (s *Slicer) periodEnd(timeMs int64) int64 {
	period := s.options.Health.PeriodMs
	if period == 0 || timeMs <= 0 {
		return 0
	}
	return timeMs / period * period
}

// tellHealth tells a worker's periods up to an end. The worker's narrowest slices are its clock: what wider ones hold is told in the
// period in which they close.
func (s *Slicer) tellHealth(src *source, endMs int64) {
	h := &src.health
	switch {
	case endMs <= h.writtenTo:
		return
	case h.writtenTo == 0: // the first slice is about to close: what is before it was never there
		h.writtenTo = endMs
		return
	}
	h.writtenTo = endMs
	for _, m := range h.metrics {
		s.tellMetric(src, m, endMs)
	}
	names := &s.options.Health.Names
	ahead := about{src: src, name: names.Ahead, kind: metric.KindGauge}
	if h.aheadMs != never {
		s.tell(&h.ahead, ahead, endMs, float64(h.aheadMs)/1000)
		h.aheadMs = never
	}
	heard := h.ahead.lastEnd+quietMs >= endMs
	if !heard {
		s.endTold(&h.ahead, ahead, endMs)
	}
	for i := range h.drops { // there from the first, so that what it counts shows as a rise
		d := &h.drops[i]
		what := about{src: src, name: names.Dropped, reason: d.reason, kind: metric.KindCounter}
		if heard {
			s.tell(&d.told, what, endMs, float64(d.n))
		} else {
			s.endTold(&d.told, what, endMs)
		}
	}
}

// tellMetric tells what happened to one metric, for as long as its samples come.
func (s *Slicer) tellMetric(src *source, m *metricHealth, endMs int64) {
	if m.longestMs > 0 {
		m.seenMs, m.longestMs = m.longestMs, 0
	}
	names := &s.options.Health.Names
	gauge := func(name string) about { return about{src, name, m.name, "", metric.KindGauge} }
	count := func(name, reason string) about { return about{src, name, m.name, reason, metric.KindCounter} }
	silent := m.lastEnd > 0 && m.lastEnd+s.options.Health.PeriodMs+3*max(m.intervalMs, s.options.WidthMs) < endMs
	value := func(t *telling, what about, there bool, v float64) {
		switch {
		case silent:
			s.endTold(t, what, endMs)
		case there:
			s.tell(t, what, endMs, v)
		}
	}
	rare := func(t *telling, what about, n uint64) {
		if n > 0 && !t.hasRef && !silent {
			s.tell(t, what, endMs-s.options.Health.PeriodMs, 0) // so that its first value is a rise
		}
		value(t, what, n > 0, float64(n))
	}
	value(&m.toldInterval, gauge(names.Interval), m.lastEnd > 0 && m.intervalMs > 0, float64(m.intervalMs)/1000)
	value(&m.toldSeen, gauge(names.Seen), m.seenMs > 0, float64(m.seenMs)/1000)
	value(&m.toldSamples, count(names.Samples, ""), m.lastEnd > 0, float64(m.samples))
	rare(&m.toldMissing, count(names.Missing, ""), m.missing)
	rare(&m.toldLate, count(names.Late, ""), m.late)
	for i := range m.refused {
		rare(&m.refused[i].told, count(names.Refused, m.refused[i].reason), m.refused[i].n)
	}
}

// about is what a telling is about; metric and reason are "" where it has none.
type about struct {
	src    *source
	name   string
	metric string
	reason string
	kind   metric.Kind
}

func (s *Slicer) tell(t *telling, what about, endMs int64, v float64) {
	if !t.hasRef {
		t.hasRef, t.ref = true, s.nextRef
		s.nextRef++
	}
	if !t.announced {
		t.announced = true
		s.closed.Definitions = append(s.closed.Definitions, slice.Definition{Ref: t.ref, IntervalMs: s.options.Health.PeriodMs,
			Series: metric.Series{Kind: what.kind, Labels: what.labels()}})
	}
	s.write(t.ref, endMs, v)
	t.live, t.lastEnd = true, endMs
}

// endTold marks a series as ended.
func (s *Slicer) endTold(t *telling, what about, endMs int64) {
	if !t.live {
		return
	}
	last := t.lastEnd
	s.tell(t, what, endMs, staleNaN)
	s.counts.Slices--
	s.counts.Markers++
	t.live, t.lastEnd = false, last
}

func (a about) labels() labels.Labels {
	builder := labels.NewScratchBuilder(5)
	builder.Add(model.MetricNameLabel, a.name)
	builder.Add("topology", a.src.worker.Topology)
	builder.Add(workerLabel, a.src.worker.String())
	if a.metric != "" {
		builder.Add("metric", a.metric)
	}
	if a.reason != "" {
		builder.Add("reason", a.reason)
	}
	builder.Sort()
	return builder.Labels()
}
