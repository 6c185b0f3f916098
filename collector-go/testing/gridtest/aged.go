package gridtest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// NewAgedWorld invents series whose slices are in spans, which ascend. What ends in them comes on time, minutes to
// hours late, or months, but in the last hour all comes on time; at the edges of partitions, and of the pages in them,
// many counters start again and many gaps are marked.
func NewAgedWorld(seed uint64, partition time.Duration, spans ...Span) *World {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &World{FirstMs: spans[0].FirstMs, LastMs: spans[len(spans)-1].LastMs, Spans: spans,
		partitionMs: partition.Milliseconds()}
	w.inventAll(r, func(life *life) {
		for _, span := range spans {
			if r.IntN(5) == 0 {
				continue
			}
			first := len(life.Points)
			life.live(span)
			w.arrive(r, life.Points[first:], span)
		}
	})
	return w
}

// LastHourMs is when everything that is late has come.
func (w *World) LastHourMs() int64 { return w.LastMs - 3_600_000 }

// arrive decides when the points of a span are handed over.
func (w *World) arrive(r *rand.Rand, points []Point, in Span) {
	delayMs, late := int64(0), false
	for i := range points {
		p := &points[i]
		if p.Late && !late {
			delayMs = []int64{30_000, 600_000, 3_600_000, 6 * 3_600_000}[r.IntN(4)] + r.Int64N(600_000)
		}
		late = p.Late
		switch {
		case in.MonthsLate:
			p.ArrivesMs = w.LastHourMs() - r.Int64N(3_600_000)
		case late && p.Ms <= w.LastHourMs():
			p.ArrivesMs = min(p.Ms+delayMs, w.LastHourMs())
		default:
			p.ArrivesMs = p.Ms
		}
	}
}

// HandOver is what a feed hands over at once.
type HandOver struct {
	AtMs int64 // event time
	UpTo uint64
	slice.Columns
}

// HandOvers are a world of ages as a feed hands it over. A series whose gap is marked is retired, as often as not, and
// its Ref soon stands for another one.
func (w *World) HandOvers(seed uint64) []HandOver {
	r := rand.New(rand.NewPCG(seed, 4))
	type arrival struct {
		series int
		*Point
	}
	var all []arrival
	for i := range w.Series {
		for j := range w.Series[i].Points {
			all = append(all, arrival{i, &w.Series[i].Points[j]})
		}
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.ArrivesMs, b.ArrivesMs) })
	refs := refs{world: w, of: make([]bound, len(w.Series))}
	var made []HandOver
	for len(all) > 0 {
		untilMs := all[0].ArrivesMs + r.Int64N(60_000)
		h := HandOver{AtMs: untilMs, UpTo: uint64(len(made)+1) * 10}
		for len(all) > 0 && all[0].ArrivesMs <= untilMs {
			one := all[0]
			all = all[1:]
			h.add(refs.bind(&h, one.series, one.IntervalMs), one.Point)
			if one.IsMarker() && r.IntN(2) == 0 {
				refs.leave(one.series)
			}
		}
		refs.retire(&h)
		made = append(made, h)
	}
	return made
}

func (h *HandOver) add(ref slice.Ref, p *Point) {
	if p.IsHistogram {
		h.HistogramRefs, h.HistogramEndsMs, h.Histograms = append(h.HistogramRefs, ref),
			append(h.HistogramEndsMs, p.Ms), append(h.Histograms, p.Histogram)
		return
	}
	h.Refs, h.EndsMs, h.Values = append(h.Refs, ref), append(h.EndsMs, p.Ms), append(h.Values, p.Value)
}

// refs maps each Ref to its series.
type refs struct {
	world   *World
	of      []bound // by series
	free    []slice.Ref
	next    slice.Ref
	leaving []int // series, when the hand-over ends
}

type bound struct {
	ref        slice.Ref
	is         bool
	leaves     bool
	intervalMs int64
}

// bind is a series' Ref, which is defined where it has none or another interval.
func (r *refs) bind(h *HandOver, series int, intervalMs int64) slice.Ref {
	b := &r.of[series]
	if b.is && b.intervalMs == intervalMs {
		return b.ref
	}
	if !b.is {
		b.is, b.ref = true, r.next
		if last := len(r.free) - 1; last >= 0 {
			b.ref, r.free = r.free[last], r.free[:last]
		} else {
			r.next++
		}
	}
	b.intervalMs = intervalMs
	h.Definitions = append(h.Definitions, r.world.definition(series, b.ref, intervalMs))
	return b.ref
}

func (r *refs) leave(series int) {
	if b := &r.of[series]; !b.leaves {
		b.leaves = true
		r.leaving = append(r.leaving, series)
	}
}

func (r *refs) retire(h *HandOver) {
	for _, series := range r.leaving {
		h.Retired = append(h.Retired, r.of[series].ref)
		r.free = append(r.free, r.of[series].ref)
		r.of[series] = bound{}
	}
	r.leaving = nil
}

func (w *World) definition(series int, ref slice.Ref, intervalMs int64) slice.Definition {
	l := w.Series[series].Labels
	kind := metric.KindGauge
	switch l.Get(model.MetricNameLabel) {
	case counters:
		kind = metric.KindCounter
	case histograms:
		kind = metric.KindDistribution
	}
	return slice.Definition{Ref: ref, Series: metric.Series{Labels: l, Kind: kind}, IntervalMs: intervalMs}
}

// Defined are the definitions that hold when n hand-overs are done, as a feed gives them again after a restart.
func Defined(all []HandOver, n int) (defined []slice.Definition) {
	at := map[slice.Ref]slice.Definition{}
	for i := range all[:n] {
		for _, d := range all[i].Definitions {
			at[d.Ref] = d
		}
		for _, ref := range all[i].Retired {
			delete(at, ref)
		}
	}
	for _, d := range at {
		defined = append(defined, d)
	}
	slices.SortFunc(defined, func(a, b slice.Definition) int { return cmp.Compare(a.Ref, b.Ref) })
	return defined
}
