package slicer

import (
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// quietMs is for how long what is written of a worker as a whole goes on without a sample of it.
const quietMs = 150_000

// periodEnd is the newest end of a period at or before a time.
func (s *Slicer) periodEnd(timeMs int64) int64 {
	period := s.options.Health.PeriodMs
	if period == 0 || timeMs <= 0 {
		return 0
	}
	return timeMs / period * period
}

// writeHealth writes a worker's periods up to an end. The worker's narrowest slices are its clock: what wider ones hold
// is in the period in which they close.
func (s *Slicer) writeHealth(src *source, endMs int64) {
	h := &src.health
	switch {
	case endMs <= h.writtenTo || s.options.Health.PeriodMs == 0:
		return
	case h.writtenTo == 0: // the first slice is about to close: what is before it was never there
		h.writtenTo = endMs
		return
	}
	h.writtenTo = endMs
	var ratio float64
	stirred := false
	for i, m := range h.metrics {
		f, c := &h.flows[i/metricsTogether][i%metricsTogether], &h.calms[i/metricsTogether][i%metricsTogether]
		longestMs := f.longestMs
		if c.goesOn(f, endMs) {
			if c.intervalMs > 0 {
				ratio = max(ratio, float64(longestMs)/float64(c.intervalMs))
			}
			continue
		}
		stirred = true
		if m.longestMs > 0 {
			m.seenMs = m.longestMs
			if m.intervalMs > 0 && m.steady {
				ratio = max(ratio, float64(m.longestMs)/float64(m.intervalMs))
			}
			m.longestMs = 0
		}
		s.writeMetric(src, m, i, endMs)
		s.settle(m, i)
	}
	s.writeSums(src, ratio, stirred, endMs)
	s.writeAheadAndDropped(src, endMs)
}

// writeSums writes the sums over a worker's metrics, each period for as long as samples come. Where none of them is
// stirred, no sum of what was refused is another than in the period before.
func (s *Slicer) writeSums(src *source, ratio float64, stirred bool, endMs int64) {
	h, names := &src.health, &s.options.Health.Names
	var samples, missing, late uint64
	comes := false
	for i := range h.metrics {
		f, c := &h.flows[i/metricsTogether][i%metricsTogether], &h.calms[i/metricsTogether][i%metricsTogether]
		samples, missing, late = samples+f.samples, missing+c.missing, late+c.late
		comes = comes || f.lastEnd > 0 && f.lastEnd+max(quietMs, c.silentMs) >= endMs
	}
	if stirred {
		h.sumRefused()
	}
	value := func(t *healthSeries, name, reason string, kind metric.Kind, v float64) {
		what := about{src: src, name: name, reason: reason, kind: kind}
		switch {
		case !comes:
			s.endSeries(t, what, endMs)
		case kind == metric.KindGauge || t.live: // periods may be left out, where none of its slices closed in time
			s.writeValue(t, what, endMs, v)
		default:
			s.writeRise(t, what, endMs, v)
		}
	}
	value(&h.samples, names.WorkerSamples, "", metric.KindCounter, float64(samples))
	value(&h.missing, names.WorkerMissing, "", metric.KindCounter, float64(missing))
	value(&h.late, names.WorkerLate, "", metric.KindCounter, float64(late))
	for i := range h.refused {
		value(&h.refused[i].series, names.WorkerRefused, h.refused[i].reason, metric.KindCounter,
			float64(h.refused[i].n))
	}
	if ratio > 0 || !comes { // 60 s apart, nothing lies between two samples in every other period
		value(&h.ratio, names.WorkerRatio, "", metric.KindGauge, ratio)
	}
}

func (h *health) sumRefused() {
	for i := range h.refused {
		h.refused[i].n = 0
	}
	for _, m := range h.metrics {
		for i := range m.refused {
			add(&h.refused, m.refused[i].reason, m.refused[i].n)
		}
	}
}

func (s *Slicer) writeAheadAndDropped(src *source, endMs int64) {
	h, names := &src.health, &s.options.Health.Names
	ahead, least, most := about{src: src, name: names.Ahead, kind: metric.KindGauge},
		about{src: src, name: names.AheadLeast, kind: metric.KindGauge},
		about{src: src, name: names.AheadMost, kind: metric.KindGauge}
	if h.aheadMs != never {
		clock := s.clockOf(src)
		h.aheadMs = never
		s.writeValue(&h.ahead, ahead, endMs, float64(clock.sure())/1000)
		s.writeValue(&h.least, least, endMs, float64(clock.leastMs)/1000)
		if clock.mostMs != forever {
			s.writeValue(&h.most, most, endMs, float64(clock.mostMs)/1000)
		}
	}
	heard := h.ahead.live && h.ahead.lastEnd+quietMs >= endMs
	if !heard {
		s.endSeries(&h.ahead, ahead, endMs)
		s.endSeries(&h.least, least, endMs)
	}
	if h.most.live && h.most.lastEnd+quietMs < endMs {
		s.endSeries(&h.most, most, endMs)
	}
	for i := range h.drops { // there from the first, so that what it counts shows as a rise
		d := &h.drops[i]
		what := about{src: src, name: names.Dropped, reason: d.reason, kind: metric.KindCounter}
		if heard {
			s.writeValue(&d.series, what, endMs, float64(d.n))
		} else {
			s.endSeries(&d.series, what, endMs)
		}
	}
}

// What is stored of a metric describes all periods, though few have a value: each value holds up to the next one, or to
// the series' marker; the samples go on at their rate meanwhile.
const (
	// refreshMs is how old a value gets before it is written again, so that whoever looks back finds it. The metrics of
	// a worker take turns.
	refreshMs = 3_600_000
	// tailMs is for how long a count is written on, each period, when it has ceased to rise, so that a rate is seen to
	// fall to zero.
	tailMs = 300_000
)

// writeMetric writes what changed of a worker's metric, which is the one at a place.
func (s *Slicer) writeMetric(src *source, m *metricHealth, place int, endMs int64) {
	names := &s.options.Health.Names
	gauge := func(name string) about { return about{src, name, m.name, "", metric.KindGauge} }
	count := func(name, reason string) about { return about{src, name, m.name, reason, metric.KindCounter} }
	if m.lastEnd > 0 {
		if m.lastEnd+s.silentMs(m) < endMs {
			s.endMetric(src, m, endMs)
		} else {
			s.writeSamples(m, count(names.Samples, ""), gauge(names.Rate), place, endMs)
			if v := float64(m.intervalMs) / 1000; v > 0 &&
				(v != m.intervalSeries.value || s.due(&m.intervalSeries, place, endMs)) {
				s.writeValue(&m.intervalSeries, gauge(names.Interval), endMs, v)
			}
			if m.seenMs > 0 && (m.seenChanged() || !m.seenGoesUnsaid() && s.due(&m.seenSeries, place, endMs)) {
				s.writeValue(&m.seenSeries, gauge(names.Seen), endMs, float64(m.seenMs)/1000)
			}
		}
	}
	s.writeCount(&m.missingSeries, count(names.Missing, ""), endMs, m.missing)
	s.writeCount(&m.lateSeries, count(names.Late, ""), endMs, m.late)
	for i := range m.refused {
		s.writeCount(&m.refused[i].series, count(names.Refused, m.refused[i].reason), endMs, m.refused[i].n)
	}
}

// silentMs is how long a metric may be without a sample before its series end.
func (s *Slicer) silentMs(m *metricHealth) int64 {
	return s.options.Health.PeriodMs + 3*max(m.intervalMs, s.options.WidthMs)
}

// due reports whether a series has no value yet since its turn came, or none that holds.
func (s *Slicer) due(t *healthSeries, place int, endMs int64) bool {
	turn := int64(place) * s.options.Health.PeriodMs
	return !t.live || (endMs+turn)/refreshMs > (t.lastEnd+turn)/refreshMs
}

// writeSamples compares the samples with what the stored values imply by now, and writes them where that is wrong by
// more than one sample a series, or by less at two comparisons one after the other: at the edge of a slice one may come
// to and fro.
func (s *Slicer) writeSamples(m *metricHealth, total, rate about, place int, endMs int64) {
	period := s.options.Health.PeriodMs
	round := s.round(m)
	passed := endMs - m.checkedTo
	t := &m.samplesSeries
	if t.live && passed < round {
		return
	}
	now, pace := float64(m.samples), m.rateSeries.value
	came := now - float64(m.checked)
	m.checkedTo, m.checked = endMs, m.samples
	if !t.live {
		if s.writeRise(t, total, endMs, now) {
			s.writeValue(&m.rateSeries, rate, endMs-period, 0)
		}
		s.writeValue(&m.rateSeries, rate, endMs, perSecond(came, round))
		return
	}
	wrong := math.Abs(now - t.value - pace*float64(endMs-t.lastEnd)/1000)
	allowed := s.allowed(m, pace)
	doubtful := !(wrong <= max(0.5, allowed/10)) // so too where that is not known what is stored
	switch {
	case doubtful && (m.doubted || !(wrong <= allowed)):
		drifts := math.Abs(came-pace*float64(passed)/1000) <= allowed
		if age := endMs - t.lastEnd; drifts && age > 4*round && !math.IsNaN(t.value) {
			pace = perSecond(now-t.value, age)
		} else {
			pace = perSecond(came, passed)
		}
		doubtful = false
	case !s.due(t, place, endMs):
		m.doubted = doubtful
		return
	}
	m.doubted = doubtful
	s.writeValue(t, total, endMs, now)
	if pace != m.rateSeries.value || s.due(&m.rateSeries, place, endMs) {
		s.writeValue(&m.rateSeries, rate, endMs, pace)
	}
}

// round is how long it takes, in periods, until each of a metric's series has had its share of slices.
func (s *Slicer) round(m *metricHealth) int64 {
	period := s.options.Health.PeriodMs
	return (max(m.widthMs, 1) + period - 1) / period * period
}

// allowed is by how much the samples may differ from what the stored values say.
func (s *Slicer) allowed(m *metricHealth, pace float64) float64 {
	return max(1, pace*float64(max(m.intervalMs, s.options.WidthMs))/1000)
}

func perSecond(n float64, ms int64) float64 { return n / float64(ms) * 1000 }

// seenChanged reports whether what was seen is not as it was written: by more than half an interval, or where it is
// wrong by so much, by more than a twentieth.
func (m *metricHealth) seenChanged() bool {
	interval, seen, written := float64(m.intervalMs), float64(m.seenMs), m.seenSeries.value*1000
	switch {
	case interval == 0:
		interval = written
	case m.seenGoesUnsaid():
		written = interval
	}
	wrong := func(ms float64) bool { return ms > 1.5*interval || ms < 0.5*interval }
	allowed := interval / 2
	if wrong(seen) {
		allowed = interval / 20
	}
	return wrong(seen) != wrong(written) || !(math.Abs(seen-written) <= allowed)
}

// seenGoesUnsaid reports whether a metric has no series of what is seen: a reader takes its interval for that. So it is
// of a metric that is well from the first, as nearly all are; one that was not once has the series from then on.
func (m *metricHealth) seenGoesUnsaid() bool { return m.intervalMs > 0 && !m.seenSeries.hasRef }

// endMetric marks a metric as ended whose samples do not come any more. Its last total is exact, and goes on at no
// rate.
func (s *Slicer) endMetric(src *source, m *metricHealth, endMs int64) {
	names := &s.options.Health.Names
	total, rate := about{src, names.Samples, m.name, "", metric.KindCounter},
		about{src, names.Rate, m.name, "", metric.KindGauge}
	before := endMs - s.options.Health.PeriodMs
	if t := &m.samplesSeries; t.live && t.lastEnd < before &&
		(t.value != float64(m.samples) || m.rateSeries.value != 0) {
		s.writeValue(t, total, before, float64(m.samples))
		s.writeValue(&m.rateSeries, rate, before, 0)
	}
	s.endSeries(&m.samplesSeries, total, endMs)
	s.endSeries(&m.rateSeries, rate, endMs)
	s.endSeries(&m.intervalSeries, about{src, names.Interval, m.name, "", metric.KindGauge}, endMs)
	s.endSeries(&m.seenSeries, about{src, names.Seen, m.name, "", metric.KindGauge}, endMs)
	m.checkedTo, m.checked, m.doubted = endMs, m.samples, false
}

// writeCount writes a count from its first rise on, each period while it rises and a little longer.
func (s *Slicer) writeCount(t *healthSeries, what about, endMs int64, n uint64) {
	switch v := float64(n); {
	case v != t.value:
		s.writeRise(t, what, endMs, v)
		t.changed = endMs
	case t.live && endMs-t.changed <= tailMs:
		s.writeValue(t, what, endMs, v)
	default:
		s.endSeries(t, what, endMs)
	}
}

// writeRise writes a count; where it has no value in the period before, it writes the previous count there, so that the
// rise is visible. It reports whether it did.
func (s *Slicer) writeRise(t *healthSeries, what about, endMs int64, v float64) bool {
	before := endMs - s.options.Health.PeriodMs
	begins := v != t.value && t.lastEnd < before && before > 0 && !math.IsNaN(t.value)
	if begins {
		s.writeValue(t, what, before, t.value)
	}
	s.writeValue(t, what, endMs, v)
	return begins
}

// about names what a health series describes; metric and reason are "" where they do not apply.
type about struct {
	src    *source
	name   string
	metric string
	reason string
	kind   metric.Kind
}

func (s *Slicer) writeValue(t *healthSeries, what about, endMs int64, v float64) {
	if !t.hasRef {
		t.hasRef, t.ref = true, s.nextRef
		s.nextRef++
	}
	if !t.announced {
		t.announced = true
		s.closed.Definitions = append(s.closed.Definitions,
			slice.Definition{Ref: t.ref, IntervalMs: s.options.Health.PeriodMs,
				Series: metric.Series{Kind: what.kind, Labels: what.labels()}})
	}
	s.write(t.ref, endMs, v)
	t.live, t.lastEnd, t.value = true, endMs, v
}

// endSeries marks a series as ended.
func (s *Slicer) endSeries(t *healthSeries, what about, endMs int64) {
	if !t.live {
		return
	}
	last := t.value
	s.writeValue(t, what, endMs, staleNaN)
	s.counts.Slices--
	s.counts.Markers++
	t.live, t.value = false, last
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
