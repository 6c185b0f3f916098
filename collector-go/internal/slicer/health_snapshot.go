package slicer

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

func (w writer) health(h *health) {
	w.Int(h.writtenTo)
	w.Int(h.aheadMs)
	for _, t := range h.own() {
		w.healthSeries(t)
	}
	w.tallies(h.refused)
	w.Uint(uint64(len(h.metrics)))
	for _, m := range h.metrics {
		w.metricHealth(m)
	}
	w.tallies(h.drops)
}

func (w writer) metricHealth(m *metricHealth) {
	w.String(m.name)
	for _, ms := range []int64{m.intervalMs, m.widthMs, m.longestMs, m.seenMs, m.lastEnd, m.checkedTo} {
		w.Int(ms)
	}
	for _, n := range []uint64{m.samples, m.missing, m.late, m.checked} {
		w.Uint(n)
	}
	w.Bool(m.doubted)
	for _, t := range m.series() {
		w.healthSeries(t)
	}
	w.tallies(m.refused)
}

func (w writer) tallies(tallies []tally) {
	w.Uint(uint64(len(tallies)))
	for i := range tallies {
		w.String(tallies[i].reason)
		w.Uint(tallies[i].n)
		w.healthSeries(&tallies[i].series)
	}
}

func (w writer) healthSeries(t *healthSeries) {
	w.ref(t.hasRef, t.ref)
	w.Bool(t.live)
	w.Int(t.lastEnd)
	w.Int(t.changed)
	w.Float(t.value)
}

func (r *reader) health(h *health) {
	if r.version < 4 {
		r.oldHealth(h)
		return
	}
	h.writtenTo, h.aheadMs = r.Int(), r.Int()
	own := h.own()
	if r.version < 5 {
		own = own[:ownBefore5]
	}
	for _, t := range own {
		r.healthSeries(t)
	}
	h.refused = r.tallies()
	for range r.Count(1) {
		m := &metricHealth{flow: new(flow), calm: new(calm), name: r.String(), intervalMs: r.Int(), widthMs: r.Int()}
		m.longestMs, m.seenMs, m.lastEnd, m.checkedTo = r.Int(), r.Int(), r.Int(), r.Int()
		m.samples, m.missing, m.late, m.checked, m.doubted = r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Bool()
		for _, t := range m.series() {
			r.healthSeries(t)
		}
		m.steady = r.s.options.Health.Steady[m.name]
		m.refused = r.tallies()
		h.enter(m)
	}
	h.drops = r.tallies()
}

func (r *reader) tallies() (all []tally) {
	for range r.Count(1) {
		t := tally{reason: r.String(), n: r.Uint()}
		r.healthSeries(&t.series)
		if !r.demand(len(all) == 0 || all[len(all)-1].reason < t.reason, "reasons are out of order") {
			return nil
		}
		all = append(all, t)
	}
	return all
}

func (r *reader) healthSeries(t *healthSeries) {
	t.hasRef, t.ref = r.Bool(), slice.Ref(r.Uint32())
	t.live, t.lastEnd = r.Bool(), r.Int()
	if r.version >= 4 {
		t.changed, t.value = r.Int(), r.Float()
	}
}

// oldHealth reads what versions 2 and 3 have, where each series had a value each period.
func (r *reader) oldHealth(h *health) {
	h.writtenTo, h.aheadMs = r.Int(), r.Int()
	r.healthSeries(&h.ahead)
	for range r.Count(1) {
		m := &metricHealth{flow: new(flow), calm: new(calm), name: r.String(), intervalMs: r.Int()}
		m.longestMs, m.seenMs, m.lastEnd = r.Int(), r.Int(), r.Int()
		m.samples, m.missing, m.late = r.Uint(), r.Uint(), r.Uint()
		for _, t := range []*healthSeries{&m.intervalSeries, &m.seenSeries, &m.samplesSeries, &m.missingSeries,
			&m.lateSeries} {
			r.oldHealthSeries(h, t)
		}
		m.refused = r.tallies()
		for i := range m.refused {
			outdate(h, &m.refused[i].series)
		}
		m.checkedTo, m.checked, m.steady = h.writtenTo, m.samples, r.s.options.Health.Steady[m.name]
		h.enter(m)
	}
	h.drops = r.tallies()
	r.sumsFromOld(h)
}

func (r *reader) oldHealthSeries(h *health, t *healthSeries) {
	r.healthSeries(t)
	outdate(h, t)
}

// outdate lets a series that an old snapshot has be written as soon as it may: which value it had is not known, nor
// where its marker is.
func outdate(h *health, t *healthSeries) {
	if !t.hasRef {
		return
	}
	t.value = math.NaN()
	if !t.live {
		t.lastEnd = max(t.lastEnd, h.writtenTo)
	}
}

// sumsFromOld lets a worker's sums, which an old snapshot does not have, begin with what they are.
func (r *reader) sumsFromOld(h *health) {
	if len(h.metrics) > 0 {
		h.samples.value, h.missing.value, h.late.value = math.NaN(), math.NaN(), math.NaN()
	}
	for _, m := range h.metrics {
		for i := range m.refused {
			add(&h.refused, m.refused[i].reason, 0)
		}
	}
	for i := range h.refused {
		h.refused[i].series.value = math.NaN()
	}
}
