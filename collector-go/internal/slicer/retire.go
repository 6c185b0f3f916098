package slicer

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"

// A ref is retired when nothing will be written under it any more; what writes its series after that has another.

// retire ends the refs of an output.
func (s *Slicer) retire(o *output) {
	if !o.hasRef {
		return
	}
	for i := range o.parts() {
		s.closed.Retired = append(s.closed.Retired, o.ref+slice.Ref(i))
	}
}

func (s *Slicer) retireInfo(in *info) {
	if in.hasRef {
		s.closed.Retired = append(s.closed.Retired, in.ref)
	}
}

// retireSource ends the refs of a worker's own series.
func (s *Slicer) retireSource(src *source) {
	for _, in := range src.infos {
		s.retireInfo(in)
	}
	for _, in := range src.ended {
		s.retireInfo(in)
	}
	for _, t := range src.health.all() {
		if t.hasRef {
			s.closed.Retired = append(s.closed.Retired, t.ref)
		}
	}
}

// all are the series in which a worker's collection is described.
func (h *health) all() []*telling {
	all := append([]*telling{&h.ahead}, h.own()...)
	for i := range h.refused {
		all = append(all, &h.refused[i].told)
	}
	for _, m := range h.metrics {
		all = append(all, m.tellings()...)
		for i := range m.refused {
			all = append(all, &m.refused[i].told)
		}
	}
	for i := range h.drops {
		all = append(all, &h.drops[i].told)
	}
	return all
}
