package slicer

import (
	"maps"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

func (c *coder) health(h *health) {
	c.Int(&h.writtenTo, &h.aheadMs)
	if c.Version == oldest {
		c.oldHealth(h)
		return
	}
	for _, t := range h.own() {
		c.healthSeries(t)
	}
	c.tallies(&h.refused)
	for i := range c.Each(len(h.metrics)) {
		if c.Reads() {
			m := &metricHealth{flow: new(flow), healthy: new(healthy)}
			c.metricHealth(m)
			c.enter(h, m)
		} else {
			c.metricHealth(h.metrics[i])
		}
	}
	c.tallies(&h.drops)
}

func (c *coder) metricHealth(m *metricHealth) {
	c.String(&m.name)
	c.Int(&m.intervalMs, &m.widthMs, &m.longestMs, &m.seenMs, &m.lastEnd, &m.wrongMs)
	c.Uint(&m.samples, &m.missing, &m.late)
	c.Bool(&m.silent)
	for _, t := range m.series() {
		c.healthSeries(t)
	}
	c.tallies(&m.refused)
}

// enter adds a metric that was read from the snapshot.
func (c *coder) enter(h *health, m *metricHealth) {
	m.steady = c.s.options.Health.Steady[m.name]
	h.enter(m)
	m.learn(&c.s.options)
}

// tallies codes counts by reason, each with the series that reports it.
func (c *coder) tallies(all *[]tally) {
	previous := ""
	metric.List(c.Coder, all, func(t *tally) {
		c.String(&t.reason)
		c.Uint(&t.n)
		c.healthSeries(&t.series)
		c.Demand(len(*all) == 1 || previous < t.reason, "reasons are out of order")
		previous = t.reason
	})
}

func (c *coder) healthSeries(t *healthSeries) {
	c.ref(&t.hasRef, &t.ref)
	c.Bool(&t.live)
	c.Int(&t.lastEnd)
	if c.Version > oldest {
		c.Float(&t.value)
	}
}

// intervals codes the report intervals of the metrics of each topology, and whether it has a sole sender.
func (c *coder) intervals(all map[string]*topologyState) {
	names := slices.Sorted(maps.Keys(all))
	for name := range metric.Elements(c.Coder, names) {
		c.String(&name)
		state := c.s.topologyState(name)
		c.sole(&state.sole)
		c.Int(&state.writtenMs)
		previous := ""
		metric.List(c.Coder, &state.intervals, func(known **interval) {
			i := metric.New(c.Coder, known)
			c.String(&i.metric)
			c.Int(&i.intervalMs)
			c.healthSeries(&i.healthSeries)
			c.Demand(len(state.intervals) == 1 || previous < i.metric, "metrics are out of order")
			previous = i.metric
		})
	}
}

// sole codes the producer that is the only sender of a topology, and whether there is one.
func (c *coder) sole(p **producer) {
	is, id := *p != nil, uint32(0)
	if c.Bool(&is); !is {
		return
	}
	if *p != nil {
		id = (*p).id
	}
	c.by(&id)
	*p = c.s.producer(id)
}

// oldHealth reads the rest of the format of the oldest version, in which each series had a value in each period.
func (c *coder) oldHealth(h *health) {
	c.healthSeries(&h.ahead)
	for range c.Each(0) {
		m := &metricHealth{flow: new(flow), healthy: new(healthy)}
		c.String(&m.name)
		c.Int(&m.intervalMs, &m.longestMs, &m.seenMs, &m.lastEnd)
		c.Uint(&m.samples, &m.missing, &m.late)
		m.wrongMs = never
		var interval healthSeries
		for _, t := range append([]*healthSeries{&interval}, m.series()...) {
			c.healthSeries(t)
			outdate(h, t)
		}
		m.missingSeries.value, m.lateSeries.value = float64(m.missing), float64(m.late)
		c.tallies(&m.refused)
		for i := range m.refused {
			t := &m.refused[i]
			outdate(h, &t.series)
			t.series.value = float64(t.n)
		}
		c.enter(h, m)
	}
	c.tallies(&h.drops)
	c.sumsFromOld(h)
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
func (c *coder) sumsFromOld(h *health) {
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
