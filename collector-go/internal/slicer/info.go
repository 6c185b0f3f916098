package slicer

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// info is a constant series whose labels say something (bullet_worker_info). It holds 1 in every slice, of its source's
// narrowest width, in which the source was heard. Several sources may have the same info; one of them writes it.
type info struct {
	series    metric.Series
	key       string
	owner     *source // nil where its last owner fell silent
	widthMs   int64
	ref       slice.Ref
	hasRef    bool
	announced bool
	lastEnd   int64
	live      bool
}

// Describe sets a constant series for as long as the worker is heard. It takes the place of one of the same name that the
// worker had.
func (s *Slicer) Describe(w metric.Worker, series metric.Series) {
	src := s.source(w)
	key := outputKey(series)
	for i, old := range src.infos {
		switch {
		case old.key == key:
			return
		case old.series.Name() == series.Name():
			src.infos = slices.Delete(src.infos, i, i+1)
			s.retire(src, old)
			src.infos = append(src.infos, s.info(key, series))
			return
		}
	}
	src.infos = append(src.infos, s.info(key, series))
}

func (s *Slicer) info(key string, series metric.Series) *info {
	in := s.infos[key]
	if in == nil {
		in = &info{series: series, key: key}
		s.infos[key] = in
	}
	return in
}

// retire leaves an info to its other sources, or ends it.
func (s *Slicer) retire(src *source, old *info) {
	if old.owner == src {
		old.owner = nil
	}
	if s.shared(old) {
		return
	}
	delete(s.infos, old.key)
	if old.live {
		src.ended = append(src.ended, old)
	}
}

func (s *Slicer) shared(in *info) bool {
	for _, src := range s.sources {
		if slices.Contains(src.infos, in) {
			return true
		}
	}
	return false
}

// writeInfos writes 1 into a slice in which the source was heard.
func (s *Slicer) writeInfos(t *track, endMs int64) {
	src := t.source
	for _, in := range src.ended {
		if endMs > in.lastEnd {
			s.writeInfo(in, min(t.endAfter(in.lastEnd), endMs), staleNaN)
		}
	}
	src.ended = nil
	for _, in := range src.infos {
		if in.owner == nil {
			in.owner = src
		}
		if in.owner != src || endMs <= in.lastEnd {
			continue
		}
		if in.live && in.lastEnd+t.missMs() <= endMs-t.widthMs {
			s.writeInfo(in, t.endAfter(in.lastEnd), staleNaN)
		}
		in.widthMs = t.widthMs
		s.writeInfo(in, endMs, 1)
	}
}

// markInfoGaps ends the infos of a source that fell silent; another source that has one may go on with it.
func (s *Slicer) markInfoGaps(t *track) {
	for _, in := range t.source.infos {
		if in.owner == t.source && in.live && in.lastEnd+t.missMs() <= t.closedTo {
			s.writeInfo(in, t.endAfter(in.lastEnd), staleNaN)
			in.owner = nil
		}
	}
}

func (s *Slicer) writeInfo(in *info, endMs int64, v float64) {
	if !in.hasRef {
		in.hasRef, in.ref = true, s.nextRef
		s.nextRef++
	}
	if !in.announced {
		in.announced = true
		s.closed.Definitions = append(s.closed.Definitions, slice.Definition{Ref: in.ref, Series: in.series, IntervalMs: in.widthMs})
	}
	s.write(in.ref, endMs, v)
	if in.live = v == 1; !in.live {
		s.counts.Slices--
		s.counts.Markers++
	}
	in.lastEnd = endMs
}
