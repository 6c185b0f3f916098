package slicer

import (
	"math"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// quietMs is how long the sums of a worker are still written after its last sample. It is longer than two intervals of
// a metric that is reported once a minute.
const quietMs = 150_000

// periodEnd returns the newest end of a period at or before a time, or 0 if there is none.
func (s *Slicer) periodEnd(timeMs int64) int64 {
	period := s.options.Health.PeriodMs
	if period == 0 || timeMs <= 0 {
		return 0
	}
	return timeMs / period * period
}

// writeHealth writes a worker's health for the periods up to endMs. The worker's narrowest slices set the pace. Samples
// in wider slices are counted in the period in which those slices close.
//
// Metrics that are healthy cost almost nothing here, because goesOn only reads their flow and their healthy state. That
// matters since nearly all metrics are healthy in nearly all periods.
func (s *Slicer) writeHealth(src *source, endMs int64) {
	h := &src.health
	switch {
	case endMs <= h.writtenTo || s.options.Health.PeriodMs == 0:
		return
	case h.writtenTo == 0: // the first slice is about to close: earlier periods never existed
		h.writtenTo = endMs
		return
	}
	h.writtenTo = endMs
	src.topology.writtenMs = max(src.topology.writtenMs, endMs)
	var ratio float64
	newestMs, comes := h.coming(endMs)
	stirred := false
	for i, m := range h.metrics {
		f, c := &h.flows[i/metricsTogether][i%metricsTogether], &h.healthy[i/metricsTogether][i%metricsTogether]
		if f.longestMs > 0 && c.everyMs > 0 {
			ratio = max(ratio, float64(f.longestMs)/float64(c.everyMs))
		}
		if c.goesOn(f, newestMs) {
			continue
		}
		stirred = true
		s.writeMetric(src, m, comes, newestMs, endMs)
		m.settle(endMs)
	}
	s.writeSums(src, comes, ratio, stirred, endMs)
	s.writeAheadAndDropped(src, endMs)
}

// coming returns the end of the worker's newest slice with a sample, and whether samples still arrive at endMs.
func (h *health) coming(endMs int64) (newest int64, comes bool) {
	for i := range h.metrics {
		f, c := &h.flows[i/metricsTogether][i%metricsTogether], &h.healthy[i/metricsTogether][i%metricsTogether]
		newest = max(newest, f.lastEnd)
		comes = comes || f.lastEnd > 0 && f.lastEnd+max(quietMs, c.silentMs) >= endMs
	}
	return newest, comes
}

// writeSums writes the sums over a worker's metrics, in each period while samples arrive. If no metric was stirred, the
// sums of refused samples cannot have changed since the period before.
func (s *Slicer) writeSums(src *source, comes bool, ratio float64, stirred bool, endMs int64) {
	h, names := &src.health, &s.options.Health.Names
	var samples, missing, late uint64
	for i := range h.metrics {
		f, c := &h.flows[i/metricsTogether][i%metricsTogether], &h.healthy[i/metricsTogether][i%metricsTogether]
		samples, missing, late = samples+f.samples, missing+c.missing, late+c.late
	}
	if stirred {
		h.sumRefused()
	}
	value := func(t *healthSeries, name, reason string, kind metric.Kind, v float64) {
		what := about{worker: &src.worker, name: name, reason: reason, kind: kind}
		switch {
		case !comes:
			s.endSeries(t, what, endMs)
		case kind == metric.KindGauge || t.live: // a period is left out if none of the worker's slices closed in time
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
	if ratio > 0 || !comes { // with an interval of 60 s, every other period has no two samples
		value(&h.ratio, names.WorkerRatio, "", metric.KindGauge, ratio)
	}
}

// sumRefused sums the refused samples over all metrics. Only periods in which a metric was stirred need it.
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

// writeAheadAndDropped writes the clock skew of a worker and the samples that its consumer dropped. Both end when the
// worker has not been heard for quietMs. After a state transfer the skew is left out for a while: batches were sent
// again, so their time of arrival says nothing about the clock.
func (s *Slicer) writeAheadAndDropped(src *source, endMs int64) {
	h, names := &src.health, &s.options.Health.Names
	ahead, least, most := about{worker: &src.worker, name: names.Ahead, kind: metric.KindGauge},
		about{worker: &src.worker, name: names.AheadLeast, kind: metric.KindGauge},
		about{worker: &src.worker, name: names.AheadMost, kind: metric.KindGauge}
	quiet := endMs-s.options.Health.PeriodMs < src.topology.transfer.quietMs
	if quiet {
		h.aheadMs = never
	}
	if h.aheadMs != never {
		clock := s.clockOf(src)
		h.aheadMs = never
		s.writeValue(&h.ahead, ahead, endMs, float64(src.again.skewMs(clock.SureMs(), endMs))/1000)
		s.writeValue(&h.least, least, endMs, float64(clock.LeastMs)/1000)
		if clock.MostMs != slice.Forever {
			s.writeValue(&h.most, most, endMs, float64(clock.MostMs)/1000)
		}
	}
	heard := h.ahead.live && (quiet || h.ahead.lastEnd+quietMs >= endMs)
	if !heard {
		s.endSeries(&h.ahead, ahead, endMs)
		s.endSeries(&h.least, least, endMs)
	}
	if h.most.live && !quiet && h.most.lastEnd+quietMs < endMs {
		s.endSeries(&h.most, most, endMs)
	}
	for i := range h.drops { // written from the beginning, so that the first drop shows as an increase
		d := &h.drops[i]
		what := about{worker: &src.worker, name: names.Dropped, reason: d.reason, kind: metric.KindCounter}
		if heard {
			s.writeValue(&d.series, what, endMs, float64(d.n))
		} else {
			s.endSeries(&d.series, what, endMs)
		}
	}
}

const (
	// refreshMs is the age at which an interval is written again, so that queries of older data find it. The metrics of
	// a topology are written in turn.
	refreshMs = 3_600_000
	// tailMs is how long a metric is still described in each period after its last problem. A rate is then seen to fall
	// to zero.
	tailMs = 300_000
)

// writeMetric writes the health of one metric while something is wrong with it, and for tailMs after that. Wrong means
// that samples are missing, late or refused, that their interval is off, or that the metric fell silent. Decision 0010
// explains why healthy metrics have no series.
func (s *Slicer) writeMetric(src *source, m *metricHealth, comes bool, newestMs, endMs int64) {
	silent := m.fellSilent(m.flow, newestMs)
	if m.off(m.longestMs) || m.counts() || silent && !m.silent {
		m.wrongMs = endMs
	}
	m.note(m.flow)
	m.silent = silent
	seen := m.seenMs
	if silent {
		seen = endMs - m.lastEnd
	}
	names := &s.options.Health.Names
	wrong := comes && m.described(endMs)
	value := func(t *healthSeries, name, reason string, kind metric.Kind, there bool, v float64) {
		what := about{worker: &src.worker, name: name, metric: m.name, reason: reason, kind: kind}
		switch {
		case !wrong || !there:
			s.endSeries(t, what, endMs)
		case name == names.Samples || kind == metric.KindGauge:
			s.writeValue(t, what, endMs, v)
		default:
			s.writeRise(t, what, endMs, v)
		}
	}
	value(&m.samplesSeries, names.Samples, "", metric.KindCounter, !silent && m.samples > 0, float64(m.samples))
	value(&m.seenSeries, names.Seen, "", metric.KindGauge, seen > 0, float64(seen)/1000)
	value(&m.missingSeries, names.Missing, "", metric.KindCounter, m.missing > 0, float64(m.missing))
	value(&m.lateSeries, names.Late, "", metric.KindCounter, m.late > 0, float64(m.late))
	for i := range m.refused {
		r := &m.refused[i]
		value(&r.series, names.Refused, r.reason, metric.KindCounter, r.n > 0, float64(r.n))
	}
}

// counts reports whether a count has changed since it was last written.
func (m *metricHealth) counts() bool {
	return m.missingSeries.value != float64(m.missing) || m.lateSeries.value != float64(m.late) ||
		slices.ContainsFunc(m.refused, func(t tally) bool { return t.series.value != float64(t.n) })
}

// writeRise writes a count. If the series has no value in the period before, writeRise first writes the previous count
// there, so that the increase is visible.
func (s *Slicer) writeRise(t *healthSeries, what about, endMs int64, v float64) {
	before := endMs - s.options.Health.PeriodMs
	if v != t.value && t.lastEnd < before && before > 0 && !math.IsNaN(t.value) {
		s.writeValue(t, what, before, t.value)
	}
	s.writeValue(t, what, endMs, v)
}

// about identifies a health series. metric and reason are "" if they do not apply.
type about struct {
	worker   *metric.Worker // nil if the series describes a topology
	topology string         // only set if worker is nil
	name     string
	metric   string
	reason   string
	kind     metric.Kind
}

// writeValue writes one value of a health series.
func (s *Slicer) writeValue(t *healthSeries, what about, endMs int64, v float64) {
	s.writeOwn(&t.ownSeries, endMs, v, s.options.Health.PeriodMs,
		func() metric.Series { return metric.Series{Kind: what.kind, Labels: what.labels()} })
	t.value = v
}

// endSeries writes a marker if the series is live. It keeps the last value, so that writeRise can show the step when
// the series goes on.
func (s *Slicer) endSeries(t *healthSeries, what about, endMs int64) {
	if last := t.value; t.live {
		s.writeValue(t, what, endMs, staleNaN)
		t.value = last
	}
}

func (a about) labels() labels.Labels {
	builder := labels.NewScratchBuilder(5)
	builder.Add(model.MetricNameLabel, a.name)
	if a.worker != nil {
		builder.Add("topology", a.worker.Topology)
		builder.Add(workerLabel, a.worker.String())
	} else {
		builder.Add("topology", a.topology)
	}
	if a.metric != "" {
		builder.Add("metric", a.metric)
	}
	if a.reason != "" {
		builder.Add("reason", a.reason)
	}
	builder.Sort()
	return builder.Labels()
}
