package slicer

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// info is a constant series whose labels carry the information, such as bullet_worker_info. It holds 1 in every slice
// of the worker's narrowest width in which the worker was heard.
//
// An info of a topology has one writer at a time among the topology's workers. When the writer falls silent, another
// worker goes on with it, so the series has one value per slice.
type info struct {
	series    metric.Series
	writer    *source // nil before the first slice, and where the last writer fell silent
	widthMs   int64
	ref       slice.Ref
	hasRef    bool
	announced bool
	lastEnd   int64
	live      bool
}

// workerLabel is what a worker's own info has, and a topology's has not.
const workerLabel = "worker"

// Describe sets a constant series for as long as the worker is heard, or any worker of its topology where the series
// has no label "worker". It takes the place of one of the same name that the worker, or the topology, had.
func (s *Slicer) Describe(w metric.Worker, series metric.Series) {
	src := s.source(w)
	if series.Labels.Has(workerLabel) {
		src.infos = describe(src.infos, series)
	} else {
		s.describeTopology(w.Topology, describe(s.topologies[w.Topology], series))
	}
}

// describeTopology sets the infos of a topology, nil for none. The topology's state keeps the same list, so that
// writeInfos needs no lookup by name.
func (s *Slicer) describeTopology(name string, infos []*info) {
	if s.topologies[name] = infos; infos == nil {
		delete(s.topologies, name)
	}
	if r := s.topologyStates[name]; r != nil {
		r.infos = infos
	}
}

// describe puts a series into a list in place of one with the same name. The writer of the replaced one ends it with
// its next slice.
func describe(infos []*info, series metric.Series) []*info {
	for i, old := range infos {
		if labels.Equal(old.series.Labels, series.Labels) {
			return infos
		}
		if old.series.Name() == series.Name() {
			if old.live {
				old.writer.ended = append(old.writer.ended, old)
			}
			infos[i] = &info{series: series}
			return infos
		}
	}
	return append(infos, &info{series: series})
}

// writeInfos writes 1 into a slice in which the source was heard.
func (s *Slicer) writeInfos(t *seriesState, endMs int64) {
	src := t.source
	for _, in := range src.ended {
		if endMs > in.lastEnd {
			s.writeInfo(in, min(t.endAfter(in.lastEnd), endMs), staleNaN)
		}
	}
	src.ended = nil
	for _, infos := range src.described() {
		for _, in := range infos {
			if in.writer != nil && in.writer != src || endMs <= in.lastEnd {
				continue
			}
			in.writer = src
			if in.live && in.lastEnd+t.missMs <= endMs-t.widthMs {
				s.writeInfo(in, t.endAfter(in.lastEnd), staleNaN)
			}
			in.widthMs = t.widthMs
			s.writeInfo(in, endMs, 1)
		}
	}
}

// described are a worker's own infos and its topology's.
func (src *source) described() [2][]*info { return [2][]*info{src.infos, src.topology.infos} }

// markInfoGaps ends the infos of a source that fell silent; another source may go on with its topology's.
func (s *Slicer) markInfoGaps(t *seriesState) {
	for _, infos := range t.source.described() {
		for _, in := range infos {
			if in.writer == t.source && in.live && in.lastEnd+t.missMs <= t.closedTo {
				s.writeInfo(in, t.endAfter(in.lastEnd), staleNaN)
				in.writer = nil
			}
		}
	}
}

// writeInfo writes 1 or a marker for an info, with its definition before the first value. Infos have one ref each,
// unlike outputs.
func (s *Slicer) writeInfo(in *info, endMs int64, v float64) {
	if !in.hasRef {
		in.hasRef, in.ref = true, s.nextRef
		s.nextRef++
	}
	if !in.announced {
		in.announced = true
		s.closed.Definitions = append(s.closed.Definitions, slice.Definition{Ref: in.ref, Series: in.series,
			IntervalMs: in.widthMs})
	}
	s.write(in.ref, endMs, v)
	if in.live = v == 1; !in.live {
		s.counts.Slices--
		s.counts.Markers++
	}
	in.lastEnd = endMs
}
