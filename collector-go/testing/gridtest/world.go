// Package gridtest is the slow, obvious twin of the grid store's queries: random series, a Prometheus store that holds
// them, sources of runs that hold them too, and PromQL expressions whose answers over both must be equal.
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

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// Names of the metrics of a world.
const (
	gauges     = "test_used_bytes"
	counters   = "test_records_total"
	histograms = "test_latency_seconds"
	mixed      = "test_mixed_seconds" // numbers in some series, distributions in others, and both in one
)

// Point is one slice: a number, or a distribution where IsHistogram is set. A gap's marker is a stale NaN or a nil
// Histogram.
type Point struct {
	Ms          int64
	IntervalMs  int64 // of its series at that time
	Value       float64
	Histogram   *histogram.Histogram
	IsHistogram bool
	Late        bool  // comes after all that are not late
	ArrivesMs   int64 // when it is handed over, in a world of ages
}

// IsMarker reports whether it is a gap's marker.
func (p *Point) IsMarker() bool {
	if p.IsHistogram {
		return p.Histogram == nil
	}
	return value.IsStaleNaN(p.Value)
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
	Spans           []Span // where slices are, if not everywhere
	// at whose edges, and those of the pages in them, resets and markers are frequent; 0: nowhere
	partitionMs int64
}

// Span is a time in which slices end.
type Span struct {
	FirstMs, LastMs int64
	MonthsLate      bool // its slices are handed over before the last hour of the world
}

// NewWorld invents series of about lengthMs from firstMs on: gauges, counters with resets, distributions with resets
// and changed schemas, with gaps, markers, intervals that change and pieces that come late.
func NewWorld(seed uint64, firstMs, lengthMs int64) *World {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &World{FirstMs: firstMs, LastMs: firstMs + lengthMs}
	w.inventAll(r, func(life *life) { life.live(Span{FirstMs: w.FirstMs, LastMs: w.LastMs}) })
	return w
}

// inventAll invents series, of which live makes the slices.
func (w *World) inventAll(r *rand.Rand, live func(*life)) {
	for _, name := range []string{gauges, counters, histograms, mixed} {
		for worker := range 4 {
			for _, component := range []string{"Filter", "Join", "Spout"} {
				if r.IntN(6) == 0 {
					continue
				}
				l := labels.FromStrings(model.MetricNameLabel, name, "component", component, "worker",
					fmt.Sprintf("w%d", worker), "topology", []string{"a", "b"}[worker%2])
				life := w.newLife(r, l, name)
				if live(life); len(life.Points) > 0 {
					w.Series = append(w.Series, life.Series)
				}
			}
		}
	}
	slices.SortFunc(w.Series, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
}

// intervalsMs are those of slices; the last is on no grid of the others.
var intervalsMs = []int64{10_000, 10_000, 10_000, 15_000, 60_000, 7_000}

// denseIntervalMs is so short that a minute is worth a level of its own.
const denseIntervalMs = 3_000

// life is a series while it is invented.
type life struct {
	Series
	*source
	*rand.Rand
	intervalMs, partitionMs int64
	slot                    int  // of the next slice in its partition
	steady                  bool // on the grid of its interval, which stays; and gaps are rare
}

func (w *World) newLife(r *rand.Rand, l labels.Labels, name string) *life {
	s := Series{Labels: l, IntervalMs: intervalsMs[r.IntN(len(intervalsMs))]}
	made := &life{source: newSource(r, name), Rand: r, partitionMs: w.partitionMs}
	switch name := l.Get(model.MetricNameLabel); {
	case w.partitionMs == 0:
	case l.Get("worker") < "w2" && l.Get("component") == "Filter" && (name == gauges || name == counters):
		made.steady, s.IntervalMs = true, denseIntervalMs
	case r.IntN(3) == 0:
		made.steady, s.IntervalMs = true, intervalsMs[0]
	}
	made.Series, made.intervalMs = s, s.IntervalMs
	return made
}

// live invents the slices of a span.
func (l *life) live(in Span) {
	first := len(l.Points)
	ms := in.FirstMs + l.Int64N(60)*1000
	if !l.steady && l.IntN(4) == 0 { // a series that begins later
		ms += l.Int64N(in.LastMs - in.FirstMs)
	}
	if l.steady {
		ms = ms / l.intervalMs * l.intervalMs
	}
	lateUntilMs, late := int64(0), false
	for ms <= in.LastMs {
		p := l.at(ms)
		if ms >= lateUntilMs {
			late = l.IntN(150) == 0
			lateUntilMs = ms + l.Int64N(20)*l.intervalMs
		}
		p.Late = late
		l.Points = append(l.Points, p)
		ms += l.intervalMs
		what := l.IntN(250)
		if l.steady && l.IntN(20) > 0 {
			what = -1
		}
		switch what {
		case 0: // a gap with a marker, and perhaps another interval after it
			l.mark()
			ms += l.intervalMs * (1 + l.Int64N(120))
			if !l.steady && l.IntN(2) == 0 {
				l.intervalMs = intervalsMs[l.IntN(len(intervalsMs))]
				ms += l.Int64N(3000)
			}
		case 1: // a gap without
			ms += l.intervalMs * (1 + l.Int64N(80))
		case 2: // the interval changes at once
			if l.steady {
				break
			}
			l.intervalMs = intervalsMs[l.IntN(len(intervalsMs))]
		case 3: // a slice or two are missing
			ms += l.intervalMs * (1 + l.Int64N(2))
		}
	}
	if len(l.Points) > first && !l.steady && l.IntN(4) == 0 { // it ends early, with its marker
		l.Points = l.Points[:first+1+l.IntN(len(l.Points)-first)]
		l.mark()
	}
}

// mark ends what is there with a marker: of the kind of what came before, and some a while after others have come.
func (l *life) mark() {
	last := l.Points[len(l.Points)-1]
	l.Points = append(l.Points, Point{Ms: last.Ms + l.intervalMs, IntervalMs: l.intervalMs,
		Value:       math.Float64frombits(value.StaleNaN),
		IsHistogram: last.IsHistogram, Late: last.Late || l.IntN(3) == 0})
}

// pageSlots is how many slices a page of a part holds.
const pageSlots = 1024

// at is the slice that ends at ms; at the edges of partitions and of their pages often the first behind a reset, or a
// marker.
func (l *life) at(ms int64) Point {
	edge := false
	if l.partitionMs > 0 {
		if len(l.Points) == 0 || l.Points[len(l.Points)-1].Ms/l.partitionMs != ms/l.partitionMs {
			l.slot = 0
		}
		edge = l.slot%pageSlots == 0 || l.slot%pageSlots == pageSlots-1 ||
			(ms+l.intervalMs)/l.partitionMs != ms/l.partitionMs
		l.slot++
	}
	const reset, mark, neither = 0, 1, 2
	what := neither
	if edge {
		what = l.IntN(neither + 1)
	}
	if what == reset {
		l.restart()
	}
	p := l.next(l.Rand, ms)
	if what == mark {
		p.Value, p.Histogram = math.Float64frombits(value.StaleNaN), nil
	}
	p.IntervalMs = l.intervalMs
	return p
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

// restart has what it counts start again.
func (s *source) restart() {
	s.h.restart()
	if s.counts {
		s.total = 0
	}
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

// Columns are the slices that end within [fromMs, toMs], in the order of time, as the slicer hands them over: those
// that come late, or the others. A series' ref is its index in w.Series.
func (w *World) Columns(fromMs, toMs int64, late bool) *slice.Columns {
	type one struct {
		ref slice.Ref
		*Point
	}
	var all []one
	c := &slice.Columns{}
	for i := range w.Series {
		s := &w.Series[i]
		c.Definitions = append(c.Definitions, w.definition(i, slice.Ref(i), s.IntervalMs))
		for j := range s.Points {
			if p := &s.Points[j]; p.Ms >= fromMs && p.Ms <= toMs && p.Late == late {
				all = append(all, one{slice.Ref(i), p})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b one) int { return int(a.Ms - b.Ms) })
	for _, p := range all {
		if p.IsHistogram {
			c.HistogramRefs, c.HistogramEndsMs, c.Histograms = append(c.HistogramRefs, p.ref),
				append(c.HistogramEndsMs, p.Ms), append(c.Histograms, p.Histogram)
			continue
		}
		c.Refs, c.EndsMs, c.Values = append(c.Refs, p.ref), append(c.EndsMs, p.Ms), append(c.Values, p.Value)
	}
	return c
}
