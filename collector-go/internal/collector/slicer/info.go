package slicer

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// info is a constant series whose labels carry information, such as bullet_worker_info. It has the value 1 in every
// slice of the worker's narrowest width in which the worker was heard.
//
// The info of a topology has one writer at a time, which is one of the topology's workers. If that worker falls silent,
// another one becomes the writer, so that the series has one value per slice.
type info struct {
	ownSeries
	series  metric.Series
	writer  *source // nil before the first slice, and after the last writer fell silent
	widthMs int64
}

// workerLabel distinguishes a worker's infos, which have this label, from a topology's.
const workerLabel = "worker"

// Describe sets an info, which is written while the worker is heard. If the series has no label "worker", it describes
// the topology and is written while any of its workers is heard. It replaces the info of the same name that the worker,
// or the topology, had.
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

// writeInfos writes 1 for each info into a slice in which the source was heard. Replaced infos get their markers.
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

// described returns the worker's own infos and those of its topology.
func (src *source) described() [2][]*info { return [2][]*info{src.infos, src.topology.infos} }

// markInfoGaps ends the infos of a source that fell silent. Another source may continue those of the topology.
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

// writeInfo writes 1 or a marker for an info.
func (s *Slicer) writeInfo(in *info, endMs int64, v float64) {
	s.writeOwn(&in.ownSeries, endMs, v, in.widthMs, func() metric.Series { return in.series })
}

// ownSeries is a series about the topology or the collection, which the slicer writes itself. Such series are ordinary
// series for the store: they have definitions and markers like the series of a topology, but one ref each.
type ownSeries struct {
	ref       slice.Ref
	hasRef    bool
	announced bool
	live      bool  // no marker follows its last value
	lastEnd   int64 // its newest value or marker
}

// writeOwn writes a value or a marker, with the definition before the first one.
func (s *Slicer) writeOwn(t *ownSeries, endMs int64, v float64, intervalMs int64, series func() metric.Series) {
	if !t.hasRef {
		t.hasRef, t.ref = true, s.nextRef
		s.nextRef++
	}
	if !t.announced {
		t.announced = true
		s.closed.Definitions = append(s.closed.Definitions, slice.Definition{Ref: t.ref, Series: series(),
			IntervalMs: intervalMs})
	}
	s.write(t.ref, endMs, v)
	if t.live, t.lastEnd = !value.IsStaleNaN(v), endMs; !t.live {
		s.counts.Slices--
		s.counts.Markers++
	}
}
