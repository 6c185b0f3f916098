package slicer

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// input is a raw series, as one sender names it, and the rule by which its samples are sliced. The id that the journal
// gave to the series identifies it. An input that is detached keeps its slot until its open samples are folded.
//
// An input with a reason in refused has neither an output nor a series state. It exists so that each of its samples is
// counted under that reason.
type input struct {
	// Fields that every slice needs come first, as in output.
	out     *output
	health  *metricHealth // nil if its collection health is not recorded
	sinceMs int64         // event time up to which samples belong to an earlier run; no interval spans it
	perUnit float64       // copy of rule.PerUnit
	everyMs int64         // copy of rule.IntervalMs
	state   *seriesState
	id      uint32
	slot    uint32
	kind    metric.Kind
	folding folding
	steady  bool // each interval must have a sample
	lazy    bool // steady, except after a restart

	rule    metric.Rule
	refused Reason // why its samples are refused; "" if they are accepted
}

// newInput returns an input without an output and a slot. enter assigns both.
func newInput(id uint32, rule metric.Rule) *input {
	return &input{id: id, rule: rule, kind: rule.Series.Kind, perUnit: rule.PerUnit, everyMs: rule.IntervalMs,
		folding: foldingOf(&rule)}
}

// inputs holds the inputs by id, in pages. Ids are dense at first, and become sparse as series come and go.
type inputs struct {
	pages   []*inputPage
	changes []uint64 // number of changes of each page, by which a layout notices that its lookups are outdated
}

// pageSize is the number of ids on a page of inputs. They share a count of changes.
const pageSize = 4096

type inputPage [pageSize]*input

func (x *inputs) get(id uint32) *input {
	if page := id / pageSize; int(page) < len(x.pages) && x.pages[page] != nil {
		return x.pages[page][id%pageSize]
	}
	return nil
}

func (x *inputs) set(id uint32, in *input) {
	page := int(id / pageSize)
	for len(x.pages) <= page {
		x.pages, x.changes = append(x.pages, nil), append(x.changes, 0)
	}
	x.changes[page]++
	if x.pages[page] == nil {
		x.pages[page] = new(inputPage)
	}
	x.pages[page][id%pageSize] = in
}

// takeAll adds the inputs of another set, whose ids must be free here.
func (x *inputs) takeAll(from *inputs) {
	for n, page := range from.pages {
		if page == nil {
			continue
		}
		for i, in := range page {
			if in != nil {
				x.set(uint32(n*pageSize+i), in)
			}
		}
	}
}

// prune removes the inputs for which gone returns true, and pages that become empty.
func (x *inputs) prune(gone func(*input) bool) {
	for n, page := range x.pages {
		if page == nil {
			continue
		}
		left := 0
		for i, in := range page {
			if in != nil && gone(in) {
				page[i] = nil
				x.changes[n]++
			} else if in != nil {
				left++
			}
		}
		if left == 0 {
			x.pages[n] = nil
		}
	}
}

// Define sets how samples of id are sliced. Defining the same rule again changes nothing, and another rule takes the
// place of the old one.
//
// A series that has the name and labels of a detached or retracted one goes on in its place, and its counters continue.
// If a series of another id with these labels is still attached, or wrote another kind, the new one is refused as a
// collision.
func (s *Slicer) Define(id uint32, rule metric.Rule) {
	if old := s.inputs.get(id); old != nil {
		if sameRule(&old.rule, &rule) {
			return
		}
		s.Detach(id)
	}
	s.inputs.set(id, s.enter(id, rule))
}

// Defined reports whether samples of id are accepted. A definition is forgotten some time after its series ended.
func (s *Slicer) Defined(id uint32) bool { return s.inputs.get(id) != nil }

// enter gives a series its output and its slot in a series state. If that is impossible, it returns an input that has
// the reason for which its samples are refused.
func (s *Slicer) enter(id uint32, rule metric.Rule) *input {
	in := newInput(id, rule)
	s.watch(in)
	out := s.outputs[rule.Series.Labels]
	switch {
	case out == nil && len(s.outputs) >= s.options.MaxSeries:
		in.refused = RefusedSeriesLimit
		return in
	case out == nil:
		in.sinceMs = never
		out = newOutput()
		out.lastMs = s.clockMs
		s.outputs[rule.Series.Labels] = out
	case s.attached(out.owner) || out.owner.kind != in.kind && out.hasRef: // without a ref it has no kind yet
		in.refused = RefusedCollision
		return in
	case out.owner.id == id && sameRule(&out.owner.rule, &rule):
		s.watch(out.owner)
		return out.owner
	}
	width := s.options.width(rule.Series.Name(), rule.IntervalMs)
	interval := intervalIn(width, rule.IntervalMs)
	pack := min(max(rule.PackSpanMs, 0), maxWidthMs)
	s.own(out, in, width, interval)
	src := s.source(rule.Worker)
	s.seriesState(src, width, interval, pack).enter(in)
	if rule.RestartsName != "" {
		src.starts.packMs, src.starts.intervalMs = pack, max(rule.IntervalMs, 0)
	}
	return in
}

// intervalIn returns the expected time between samples: the interval that the source reports, or else the slice width.
func intervalIn(widthMs, intervalMs int64) int64 {
	if intervalMs <= 0 || intervalMs > widthMs {
		return widthMs
	}
	return intervalMs
}

// own makes an input the owner of an output. If the width changes, the output gets new refs, because stores treat it as
// another series with the same labels.
func (s *Slicer) own(out *output, in *input, widthMs, intervalMs int64) {
	spread := in.rule.MinName != "" && intervalMs < widthMs
	if out.widthMs != widthMs || out.spread != spread {
		s.retire(out)
		out.hasRef, out.announced = false, false
	}
	in.out = out
	out.owner = in
	out.widthMs, out.spread = widthMs, spread
}

func (s *Slicer) attached(in *input) bool { return s.inputs.get(in.id) == in }

// Detach forgets id. Its open samples stay and are folded when their slices close.
func (s *Slicer) Detach(id uint32) {
	if in := s.inputs.get(id); in != nil {
		s.inputs.set(id, nil)
	}
}

// Retract forgets id and its open samples, and returns the number of these samples. It is for a series whose values
// another series carries too. Its closed slices stay.
func (s *Slicer) Retract(id uint32) int {
	in := s.inputs.get(id)
	if in == nil {
		return 0
	}
	s.inputs.set(id, nil)
	if in.refused != "" {
		return 0
	}
	samples, readings := s.takeOut(in.state, in.slot)
	removed := len(samples) + len(readings)
	s.opened(in.state, -removed)
	return removed
}

// AddHistogram takes a reading of a distribution and keeps h, so the caller must not change it afterwards. negatives
// are the observations below zero, which are in no bucket. It returns false and counts nothing if the id is not
// defined.
func (s *Slicer) AddHistogram(id uint32, timeMs int64, h *histogram.Histogram, negatives uint64) bool {
	in := s.inputs.get(id)
	if in == nil {
		return false
	}
	switch {
	case in.refused != "":
		s.refuse(in, in.refused)
	case in.kind != metric.KindDistribution:
		s.refuse(in, RefusedShape)
	case !plausible(h):
		s.refuse(in, RefusedNonsense)
	default:
		if b := s.place(in, timeMs); b != nil {
			o := s.batch.origin(timeMs)
			in.state.newestMs = max(in.state.newestMs, timeMs)
			b.histograms = append(b.histograms, reading{timeMs, o.order, in.slot, o.producer, h, negatives})
			s.opened(in.state, 1)
		}
	}
	return true
}

// Refused adds samples that were refused before they reached the slicer to the health of their worker. Counts does not
// include them, because whoever refused them has counted them.
func (s *Slicer) Refused(rule metric.Rule, reason Reason, samples int) {
	if s.options.Health.PeriodMs == 0 {
		return
	}
	in := newInput(0, rule)
	s.link(in, s.source(rule.Worker))
	add(&in.health.refused, string(reason), uint64(samples))
	in.health.stirred = true
}

// sameRule reports whether two rules slice samples in the same way. It compares every field of Rule that the slicer
// reads.
func sameRule(a, b *metric.Rule) bool {
	return a.Series.Kind == b.Series.Kind && a.Temporality == b.Temporality && a.PerUnit == b.PerUnit &&
		a.Least == b.Least && a.Most == b.Most && a.IntervalMs == b.IntervalMs && a.PackSpanMs == b.PackSpanMs &&
		a.Worker == b.Worker && a.MinName == b.MinName && a.MaxName == b.MaxName && a.NegativeName == b.NegativeName &&
		a.RestartsName == b.RestartsName && a.Series.Labels == b.Series.Labels
}
