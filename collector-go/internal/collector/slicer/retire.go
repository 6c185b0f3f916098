package slicer

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"

// A ref is retired when nothing more will be written under it. If its series continues later, it gets another ref.

// retire retires the refs of an output. A store may then forget them. A ref is never reused for another series.
func (s *Slicer) retire(o *output) {
	if !o.hasRef {
		return
	}
	for i := range o.parts() {
		s.closed.Retired = append(s.closed.Retired, o.ref+slice.Ref(i))
	}
}

// retireInfo retires the ref of an info, if the info was ever written.
func (s *Slicer) retireInfo(in *info) {
	if in.hasRef {
		s.closed.Retired = append(s.closed.Retired, in.ref)
	}
}

// retireSource retires the refs of the series that describe a worker: its infos and its health. The refs of its metrics
// are retired with their outputs.
func (s *Slicer) retireSource(src *source) {
	for _, in := range src.infos {
		s.retireInfo(in)
	}
	for _, in := range src.ended {
		s.retireInfo(in)
	}
	for t := range src.health.each {
		if t.hasRef {
			s.closed.Retired = append(s.closed.Retired, t.ref)
		}
	}
}

// each yields the health series of a worker in a fixed order. Retired refs are written in that order, so it must not
// depend on the iteration order of a map.
func (h *health) each(yield func(*healthSeries) bool) {
	for _, t := range h.own() {
		if !yield(t) {
			return
		}
	}
	tallies := [][]tally{h.refused, h.drops}
	for _, m := range h.metrics {
		tallies = append(tallies, m.refused)
	}
	for _, some := range tallies {
		for i := range some {
			if !yield(&some[i].series) {
				return
			}
		}
	}
	for _, m := range h.metrics {
		for _, t := range m.series() {
			if !yield(t) {
				return
			}
		}
	}
}
