package slicer

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// input is a raw series, as one sender names it, and the rule by which its samples are sliced. It is found by the id
// that the journal gave the series. An input that is detached keeps its slot until its open samples are folded.
//
// An input with a reason in refused has neither output nor series state. It exists so that each of its samples is
// counted under that reason.
type input struct {
	// What every slice needs lies together, as in output.
	out     *output
	health  *metricHealth // nil where its collection health is not reported
	sinceMs int64         // event time up to which its samples are of an earlier run, before which there is no interval
	perUnit float64       // of rule
	everyMs int64         // of rule: its interval
	state   *seriesState
	id      uint32
	slot    uint32
	kind    metric.Kind
	folding folding
	steady  bool // a sample that is not there is missing
	lazy    bool // but for the time after a restart

	rule    metric.Rule
	refused Reason // why none of its samples is taken; "" where they are
}

// newInput returns an input that has no place yet: enter gives it an output and a slot.
func newInput(id uint32, rule metric.Rule) *input {
	return &input{id: id, rule: rule, kind: rule.Series.Kind, perUnit: rule.PerUnit, everyMs: rule.IntervalMs,
		folding: foldingOf(&rule)}
}

// inputs are the inputs by id, in pages: ids are dense at first, and thin out as series come and go.
type inputs struct {
	pages   []*inputPage
	changes []uint64 // of each page, so that a layout knows whether its series are those that it knew
}

// pageSize is how many ids share a page of inputs, and thus a count of changes.
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

// takeAll takes the inputs of another, whose ids are free here.
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

// prune forgets the inputs that a function selects, and pages that are empty then.
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

// Defined reports whether samples of id are accepted. What was defined is forgotten some time after it ended.
func (s *Slicer) Defined(id uint32) bool { return s.inputs.get(id) != nil }

// enter gives a series its output and its place in a series state. Where that is impossible, the input is returned with
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
	case s.attached(out.owner) || out.owner.kind != in.kind && out.hasRef: // what was never written has no kind yet
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

// intervalIn is how far apart samples are expected: as the source reports it, or else a slice.
func intervalIn(widthMs, intervalMs int64) int64 {
	if intervalMs <= 0 || intervalMs > widthMs {
		return widthMs
	}
	return intervalMs
}

// own lets a series write to an output. Another width makes it another series for the stores, under the same labels.
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

// Detach forgets id; its open samples stay and are folded in time.
func (s *Slicer) Detach(id uint32) {
	if in := s.inputs.get(id); in != nil {
		s.inputs.set(id, nil)
	}
}

// Retract forgets id and its open samples, and returns how many these were: another series carries the same values.
// What the series has in closed slices stays.
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

// Refused adds samples that were refused before they reached the slicer to the health of their worker. They are in no
// Counts, because whoever refused them has counted them.
func (s *Slicer) Refused(rule metric.Rule, reason Reason, samples int) {
	if s.options.Health.PeriodMs == 0 {
		return
	}
	in := newInput(0, rule)
	s.link(in, s.source(rule.Worker))
	add(&in.health.refused, string(reason), uint64(samples))
	in.health.stirred = true
}

// sameRule reports whether two rules slice alike. It compares every field of Rule that the slicer reads.
func sameRule(a, b *metric.Rule) bool {
	return a.Series.Kind == b.Series.Kind && a.Temporality == b.Temporality && a.PerUnit == b.PerUnit &&
		a.Least == b.Least && a.Most == b.Most && a.IntervalMs == b.IntervalMs && a.PackSpanMs == b.PackSpanMs &&
		a.Worker == b.Worker && a.MinName == b.MinName && a.MaxName == b.MaxName && a.NegativeName == b.NegativeName &&
		a.RestartsName == b.RestartsName && a.Series.Labels == b.Series.Labels
}
