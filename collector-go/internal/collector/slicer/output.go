package slicer

import (
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// output is a series as the store knows it, together with its state from one slice to the next. It is separate from
// input because several raw series can follow each other as one stored series. That happens when a report interval
// changes, or when the sampler replaces Storm's own metric. The later input becomes the owner, and counters continue.
type output struct {
	*slot
	owner *input // the input that writes it, or that wrote it last if that is detached

	counter      counterState
	restarts     float64
	distribution *distributionState

	widthMs int64
}

// newOutput returns an output with a separate slot. seat moves the slot into a series state when the owner gets a slot
// there.
func newOutput() *output { return &output{slot: new(slot)} }

// parts returns the series as which an output is stored, in the order of its refs.
func (o *output) parts() []metric.Series {
	rule := &o.owner.rule
	parts := []metric.Series{rule.Series}
	add := func(name string, kind metric.Kind) {
		parts = append(parts, metric.Series{Labels: renamed(rule.Series.Labels, name), Kind: kind})
	}
	if o.spread {
		add(rule.MinName, metric.KindGauge)
		add(rule.MaxName, metric.KindGauge)
	}
	if rule.RestartsName != "" {
		add(rule.RestartsName, metric.KindCounter)
	}
	if rule.NegativeName != "" {
		add(rule.NegativeName, metric.KindCounter)
	}
	return parts
}

func renamed(ls labels.Labels, name string) labels.Labels {
	return labels.NewBuilder(ls).Set(model.MetricNameLabel, name).Labels()
}

// announce writes the definitions of an output before its first slice, and assigns adjacent refs to it. Definitions are
// not part of a snapshot, so a restored slicer writes them again with the next slice.
func (s *Slicer) announce(o *output) {
	if o.announced {
		return
	}
	o.announced = true
	parts := o.parts()
	if !o.hasRef {
		o.hasRef, o.ref = true, s.nextRef
		s.nextRef += slice.Ref(len(parts))
	}
	for i, part := range parts {
		s.closed.Definitions = append(s.closed.Definitions, slice.Definition{Ref: o.ref + slice.Ref(i), Series: part,
			IntervalMs: o.widthMs})
	}
}

// begin prepares an output for a slice. It writes a gap marker if intervals were missed, and the definitions if they
// are due. It returns false if a slice at that time or a newer one was already written. The caller then counts the
// samples as late.
func (s *Slicer) begin(o *output, t *seriesState, endMs int64) bool {
	if endMs <= o.lastEnd {
		return false
	}
	if o.live && o.lastEnd+t.missMs <= endMs-t.widthMs {
		s.writeMarker(o, t.endAfter(o.lastEnd))
	}
	s.announce(o)
	if !o.live { // its owner may be in another series state, or markGaps has already examined it
		owner := o.owner.state
		owner.dueMs = min(owner.dueMs, endMs+owner.missMs)
	}
	o.lastEnd, o.lastMs, o.live = endMs, s.clockMs, true
	return true
}

// write appends one value to the columns of closed slices and counts it.
func (s *Slicer) write(ref slice.Ref, endMs int64, v float64) {
	s.closed.Refs = append(s.closed.Refs, ref)
	s.closed.EndsMs = append(s.closed.EndsMs, endMs)
	s.closed.Values = append(s.closed.Values, v)
	s.counts.Slices++
}

func (s *Slicer) writeHistogram(ref slice.Ref, endMs int64, h *histogram.Histogram) {
	s.closed.HistogramRefs = append(s.closed.HistogramRefs, ref)
	s.closed.HistogramEndsMs = append(s.closed.HistogramEndsMs, endMs)
	s.closed.Histograms = append(s.closed.Histograms, h)
	s.counts.Slices++
}

var staleNaN = math.Float64frombits(value.StaleNaN)

// writeMarker ends an output in the first slice that has no sample. Without a marker, queries would carry the last
// value forward. It is counted in Counts.Markers and not in Counts.Slices.
func (s *Slicer) writeMarker(o *output, endMs int64) {
	s.announce(o)
	parts := len(o.parts())
	for i := range parts {
		ref := o.ref + slice.Ref(i)
		if i == 0 && o.owner.kind == metric.KindDistribution {
			s.writeHistogram(ref, endMs, nil)
		} else {
			s.write(ref, endMs, staleNaN)
		}
	}
	s.counts.Slices -= uint64(parts)
	s.counts.Markers += uint64(parts)
	o.lastEnd, o.live = endMs, false
}
