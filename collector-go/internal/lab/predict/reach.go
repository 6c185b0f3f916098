package predict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Reach is how far one thing that is asked lies beyond what was measured.
type Reach struct {
	What   string  `json:"what"`
	Wanted float64 `json:"asked"`
	Least  float64 `json:"least_measured"`
	Most   float64 `json:"most_measured"`
	// Times is asked over the most, or the least over asked; 1 within what was measured.
	Times tuning.Figure `json:"times"`

	load bool // rather than a setting
}

// perDoubling is by how much a prediction scatters further for each doubling beyond what was measured: that costs add
// up, and that more bolts hold more, is the model's word and not measured there. With 0.1 the interval of the
// document's row of 28 filter bolts, predicted from its rows of 4, 8 and 20, missed it.
const perDoubling = 0.2

// Text is the reach in a sentence without its full stop.
func (r Reach) Text() string {
	switch {
	case !r.Times.Known():
		return fmt.Sprintf("%s %s: never measured", tuning.Digits(tuning.Figure(r.Wanted)), r.What)
	case r.Wanted > r.Most:
		return fmt.Sprintf("%s %s: %.3g x the most measured, %s", tuning.Digits(tuning.Figure(r.Wanted)), r.What,
			float64(r.Times), tuning.Digits(tuning.Figure(r.Most)))
	}
	return fmt.Sprintf("%s %s: the least measured, %s, is %.3g x that", tuning.Digits(tuning.Figure(r.Wanted)), r.What,
		tuning.Digits(tuning.Figure(r.Least)), float64(r.Times))
}

// dimension is something that steps differ in; 0 or unknown where that is not known. Loads and settings differ in what
// lies below the least measured one: a smaller load is no reach (scatter).
type dimension struct {
	what string
	load bool
	of   func(Load, Setup) float64
}

// dimensions are the loads, workers, heap and executors of each component that any step names. The sum of executors is
// one only where steps know more than a single component.
func dimensions(of []Observation, asked Setup) (all []dimension) {
	all = []dimension{
		{"queries", true, func(l Load, _ Setup) float64 { return l.Queries }},
		{"records/s", true, func(l Load, _ Setup) float64 { return float64(l.RecordsPerSecond) }},
		{"workers", false, func(_ Load, s Setup) float64 { return s.Workers }},
		{"of max spout pending", false, func(_ Load, s Setup) float64 { return s.Pending }},
		{"MiB of a worker's heap", false, func(_ Load, s Setup) float64 { return s.HeapMiB }},
	}
	known := 0
	for _, o := range of {
		known = max(known, len(o.Setup.Executors))
	}
	if len(asked.Executors) > 1 && known != 1 { // of steps that know one component alone there is no sum
		all = append(all, dimension{"executors in all", false, func(_ Load, s Setup) float64 { return s.all() }})
	}
	names := maps.Clone(asked.Executors)
	if names == nil {
		names = map[string]float64{}
	}
	for _, o := range of {
		maps.Copy(names, o.Setup.Executors)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, dimension{name + " executors", false, func(_ Load, s Setup) float64 {
			return s.Executors[name]
		}})
	}
	return all
}

// reach is what of a question lies outside of the steps, the farthest first. A quantity that nobody asked for, or whose
// value is unknown, is within.
func reach(of []Observation, l Load, s Setup) []Reach {
	out := []Reach{}
	for _, d := range dimensions(of, s) {
		asked := d.of(l, s)
		if !(asked > 0) {
			continue
		}
		r := Reach{What: d.what, load: d.load, Wanted: asked, Least: math.Inf(1), Times: 1}
		for _, o := range of {
			if v := d.of(o.Load, o.Setup); v > 0 {
				r.Least, r.Most = min(r.Least, v), max(r.Most, v)
			}
		}
		switch {
		case r.Most == 0:
			r.Least, r.Times = 0, tuning.Unknown
		case asked > r.Most*(1+beside):
			r.Times = tuning.Figure(asked / r.Most)
		case asked < r.Least*(1-beside):
			r.Times = tuning.Figure(r.Least / asked)
		default:
			continue
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Reach) int { return cmp.Compare(b.rank(), a.rank()) })
	return out
}

// beside is how near the edge of what was measured is still at it: rates are not held to the last record.
const beside = 0.02

// rank orders what is beyond: what was never measured comes first.
func (r Reach) rank() float64 {
	if !r.Times.Known() {
		return math.Inf(1)
	}
	return float64(r.Times)
}

// scatter is by how much the logarithm of a prediction scatters further. A load below the least costs nothing that
// larger ones do not show. Loads and settings beyond the measurements add up in squares, as independent causes would.
func scatter(all []Reach) float64 {
	squares := 0.0
	for _, r := range all {
		if r.Times.Known() && (r.Wanted > r.Most || !r.load) {
			doublings := math.Log2(float64(r.Times))
			squares += perDoubling * perDoubling * doublings * doublings
		}
	}
	return math.Sqrt(squares)
}
