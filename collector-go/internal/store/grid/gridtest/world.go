// Package gridtest is the slow, obvious twin of the grid store's queries: random series, a Prometheus store that holds them, sources of runs
// that hold them too, and PromQL expressions whose answers over both must be equal.
package gridtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// Names of the metrics of a world.
const (
	gauges     = "test_used_bytes"
	counters   = "test_records_total"
	histograms = "test_latency_seconds"
	mixed      = "test_mixed_seconds" // numbers in some series, distributions in others, and both in one
)

// Point is one slice: a number, or a distribution where IsHistogram says so. A gap's marker is a stale NaN or a nil Histogram.
type Point struct {
	Ms          int64
	Value       float64
	Histogram   *histogram.Histogram
	IsHistogram bool
	Late        bool // comes after all that are not late
}

// Series is the truth about one series. Its points are at different times, ascending.
type Series struct {
	Labels     labels.Labels
	IntervalMs int64 // the first one, where it changes
	Points     []Point
}

// World is the truth about some series.
type World struct {
	FirstMs, LastMs int64
	Series          []Series
}

// NewWorld invents series of about lengthMs from firstMs on: gauges, counters with resets, distributions with resets and changed schemas,
// with gaps, markers, intervals that change and pieces that come late.
func NewWorld(seed uint64, firstMs, lengthMs int64) *World {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &World{FirstMs: firstMs, LastMs: firstMs + lengthMs}
	for _, name := range []string{gauges, counters, histograms, mixed} {
		for worker := range 4 {
			for _, component := range []string{"Filter", "Join", "Spout"} {
				if r.IntN(6) == 0 {
					continue
				}
				l := labels.FromStrings(model.MetricNameLabel, name, "component", component, "worker", fmt.Sprintf("w%d", worker), "topology", []string{"a", "b"}[worker%2])
				if s := w.invent(r, l, name); len(s.Points) > 0 {
					w.Series = append(w.Series, s)
				}
			}
		}
	}
	slices.SortFunc(w.Series, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
	return w
}

// intervalsMs are those of slices; the last is on no grid of the others.
var intervalsMs = []int64{10_000, 10_000, 10_000, 15_000, 60_000, 7_000}

func (w *World) invent(r *rand.Rand, l labels.Labels, name string) Series {
	s := Series{Labels: l, IntervalMs: intervalsMs[r.IntN(len(intervalsMs))]}
	source := newSource(r, name)
	intervalMs := s.IntervalMs
	ms := w.FirstMs + r.Int64N(60)*1000
	if r.IntN(4) == 0 { // a series that begins later
		ms += r.Int64N(w.LastMs - w.FirstMs)
	}
	lateUntilMs, late := int64(0), false
	for ms <= w.LastMs {
		p := source.next(r, ms)
		if ms >= lateUntilMs {
			late = r.IntN(150) == 0
			lateUntilMs = ms + r.Int64N(20)*intervalMs
		}
		p.Late = late
		s.Points = append(s.Points, p)
		ms += intervalMs
		switch r.IntN(250) {
		case 0: // a gap with a marker, and perhaps another interval after it
			s.Points = append(s.Points, markerAfter(p, intervalMs))
			ms += intervalMs * (1 + r.Int64N(120))
			if r.IntN(2) == 0 {
				intervalMs = intervalsMs[r.IntN(len(intervalsMs))]
				ms += r.Int64N(3000)
			}
		case 1: // a gap without
			ms += intervalMs * (1 + r.Int64N(80))
		case 2: // the interval changes at once
			intervalMs = intervalsMs[r.IntN(len(intervalsMs))]
		case 3: // a slice or two are missing
			ms += intervalMs * (1 + r.Int64N(2))
		}
	}
	if len(s.Points) > 0 && r.IntN(4) == 0 { // it ends early, with its marker
		s.Points = s.Points[:1+r.IntN(len(s.Points))]
		s.Points = append(s.Points, markerAfter(s.Points[len(s.Points)-1], intervalMs))
	}
	return s
}

// source is what a series measures.
type source struct {
	isHistogram bool
	changes     bool // between numbers and distributions
	counts      bool // its numbers grow
	whole       bool // its numbers are whole
	total       float64
	h           *distribution
}

func newSource(r *rand.Rand, name string) *source {
	s := &source{whole: r.IntN(2) == 0, h: newDistribution(r)}
	switch name {
	case counters:
		s.counts = true
	case histograms:
		s.isHistogram = true
	case mixed:
		s.isHistogram, s.changes = r.IntN(2) == 0, r.IntN(2) == 0
	}
	return s
}

func (s *source) next(r *rand.Rand, ms int64) Point {
	if s.changes && r.IntN(60) == 0 {
		s.isHistogram = !s.isHistogram
	}
	if s.isHistogram {
		s.h.observe(r)
		return Point{Ms: ms, Histogram: s.h.cumulative(), IsHistogram: true}
	}
	step := r.ExpFloat64() * 100
	if s.whole {
		step = math.Floor(step)
	}
	switch {
	case !s.counts:
		s.total = 1000 + 10*step
		switch r.IntN(400) {
		case 0:
			s.total = math.NaN()
		case 1:
			s.total = math.Inf(1 - 2*r.IntN(2))
		case 2:
			s.total = -s.total
		}
	case r.IntN(100) == 0: // a reset
		s.total = step / 10
	default:
		s.total += step
	}
	return Point{Ms: ms, Value: s.total}
}

// markerAfter is a gap's marker, of the kind of what came before.
func markerAfter(p Point, intervalMs int64) Point {
	return Point{Ms: p.Ms + intervalMs, Value: math.Float64frombits(value.StaleNaN), IsHistogram: p.IsHistogram}
}

// Columns are the slices that end within [fromMs, toMs], in the order of time, as the slicer hands them over: those that come late, or the
// others. A series' ref is its place in w.Series.
func (w *World) Columns(fromMs, toMs int64, late bool) *slice.Columns {
	type one struct {
		ref slice.Ref
		*Point
	}
	var all []one
	c := &slice.Columns{}
	for i := range w.Series {
		s := &w.Series[i]
		kind := metric.KindGauge
		switch s.Labels.Get(model.MetricNameLabel) {
		case counters:
			kind = metric.KindCounter
		case histograms:
			kind = metric.KindDistribution
		}
		c.Definitions = append(c.Definitions, slice.Definition{Ref: slice.Ref(i), Series: metric.Series{Labels: s.Labels, Kind: kind}, IntervalMs: s.IntervalMs})
		for j := range s.Points {
			if p := &s.Points[j]; p.Ms >= fromMs && p.Ms <= toMs && p.Late == late {
				all = append(all, one{slice.Ref(i), p})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b one) int { return int(a.Ms - b.Ms) })
	for _, p := range all {
		if p.IsHistogram {
			c.HistogramRefs, c.HistogramEndsMs, c.Histograms = append(c.HistogramRefs, p.ref), append(c.HistogramEndsMs, p.Ms), append(c.Histograms, p.Histogram)
			continue
		}
		c.Refs, c.EndsMs, c.Values = append(c.Refs, p.ref), append(c.EndsMs, p.Ms), append(c.Values, p.Value)
	}
	return c
}
