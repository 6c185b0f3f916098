package slicer

import (
	"maps"
	"math"
	"slices"
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
	for _, ms := range []int64{m.intervalMs, m.widthMs, m.longestMs, m.seenMs, m.lastEnd, m.wrongMs} {
		w.Int(ms)
	}
	for _, n := range []uint64{m.samples, m.missing, m.late} {
		w.Uint(n)
	}
	w.Bool(m.silent)
	for _, t := range m.series() {
		w.healthSeries(t)
	}
	w.tallies(m.refused)
}

// tallies writes counts by reason, each with the series that reports it.
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
	w.Float(t.value)
}

// intervals writes the report intervals of the metrics of each topology.
func (w writer) intervals(states map[string]*topologyState) {
	w.Uint(uint64(len(states)))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		w.String(name)
		w.Int(states[name].writtenMs)
		w.Uint(uint64(len(states[name].intervals)))
		for _, i := range states[name].intervals {
			w.String(i.metric)
			w.Int(i.intervalMs)
			w.healthSeries(&i.healthSeries)
		}
	}
}

func (r *reader) intervals() {
	for range r.Count(1) {
		state := r.s.topologyState(r.String())
		state.writtenMs = r.Int()
		for range r.Count(1) {
			i := &interval{metric: r.String(), intervalMs: r.Int()}
			r.healthSeries(&i.healthSeries)
			n := len(state.intervals)
			if !r.demand(n == 0 || state.intervals[n-1].metric < i.metric, "metrics are out of order") {
				return
			}
			state.intervals = append(state.intervals, i)
		}
	}
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
		r.metricHealth(h)
	}
	h.drops = r.tallies()
}

func (r *reader) metricHealth(h *health) {
	m := &metricHealth{flow: new(flow), healthy: new(healthy), name: r.String(), intervalMs: r.Int(), widthMs: r.Int()}
	m.longestMs, m.seenMs, m.lastEnd, m.wrongMs = r.Int(), r.Int(), r.Int(), r.Int()
	m.samples, m.missing, m.late = r.Uint(), r.Uint(), r.Uint()
	written := m.series()
	if r.version < 6 {
		// Older versions wrote the interval and the rate of every metric, and the value compared last.
		var interval, rate healthSeries
		written = []*healthSeries{&interval, &m.seenSeries, &m.samplesSeries, &rate, &m.missingSeries, &m.lateSeries}
		m.wrongMs = never
		r.Uint()
	}
	m.silent = r.Bool() && r.version >= 6
	for _, t := range written {
		r.healthSeries(t)
	}
	m.refused = r.tallies()
	r.enter(h, m)
}

// enter adds a metric that was read from the snapshot.
func (r *reader) enter(h *health, m *metricHealth) {
	m.steady = r.s.options.Health.Steady[m.name]
	h.enter(m)
	m.learn(&r.s.options)
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
	t.hasRef, t.ref = r.ref()
	t.live, t.lastEnd = r.Bool(), r.Int()
	if r.version == 4 || r.version == 5 {
		r.Int() // time of its last change
	}
	if r.version >= 4 {
		t.value = r.Float()
	}
}

// oldHealth reads the format of versions 2 and 3, in which each series had a value in each period.
func (r *reader) oldHealth(h *health) {
	h.writtenTo, h.aheadMs = r.Int(), r.Int()
	r.healthSeries(&h.ahead)
	for range r.Count(1) {
		m := &metricHealth{flow: new(flow), healthy: new(healthy), name: r.String(), intervalMs: r.Int()}
		m.longestMs, m.seenMs, m.lastEnd, m.wrongMs = r.Int(), r.Int(), r.Int(), never
		m.samples, m.missing, m.late = r.Uint(), r.Uint(), r.Uint()
		var interval healthSeries
		for _, t := range []*healthSeries{&interval, &m.seenSeries, &m.samplesSeries, &m.missingSeries,
			&m.lateSeries} {
			r.oldHealthSeries(h, t)
		}
		m.missingSeries.value, m.lateSeries.value = float64(m.missing), float64(m.late)
		m.refused = r.tallies()
		for i := range m.refused {
			t := &m.refused[i]
			outdate(h, &t.series)
			t.series.value = float64(t.n)
		}
		r.enter(h, m)
	}
	h.drops = r.tallies()
	r.sumsFromOld(h)
}

func (r *reader) oldHealthSeries(h *health, t *healthSeries) {
	r.healthSeries(t)
	outdate(h, t)
}

// outdate prepares a series from an old snapshot, so that it is written as soon as possible. The snapshot contains
// neither its last value nor the position of its marker.
func outdate(h *health, t *healthSeries) {
	if !t.hasRef {
		return
	}
	t.value = math.NaN()
	if !t.live {
		t.lastEnd = max(t.lastEnd, h.writtenTo)
	}
}

// sumsFromOld marks a worker's sums as unknown, because an old snapshot does not contain them. They start with their
// current values.
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
