package slicer

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

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

// retireOwn retires the ref of a series of the slicer's own, if the series was ever written.
func (s *Slicer) retireOwn(t *ownSeries) {
	if t.hasRef {
		s.closed.Retired = append(s.closed.Retired, t.ref)
	}
}

// retireSource retires the refs of the series that describe a worker: its infos and its health, in a fixed order. The
// refs of its metrics are retired with their outputs.
func (s *Slicer) retireSource(src *source) {
	for _, in := range slices.Concat(src.infos, src.ended) {
		s.retireOwn(&in.ownSeries)
	}
	h := &src.health
	series, tallies := h.own(), [][]tally{h.refused, h.drops}
	for _, m := range h.metrics {
		tallies = append(tallies, m.refused)
	}
	for _, some := range tallies {
		for i := range some {
			series = append(series, &some[i].series)
		}
	}
	for _, m := range h.metrics {
		series = append(series, m.series()...)
	}
	for _, t := range series {
		s.retireOwn(&t.ownSeries)
	}
}
