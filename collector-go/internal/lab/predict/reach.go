package predict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Reach says how far one quantity of a question lies outside the measured range.
type Reach struct {
	What   string  `json:"what"`
	Wanted float64 `json:"asked"`
	Least  float64 `json:"least_measured"`
	Most   float64 `json:"most_measured"`
	// Times is the asked value over the largest measured one, or the smallest measured one over the asked value. It is
	// 1 within the measured range and unknown if the quantity was never measured.
	Times tuning.Figure `json:"times"`

	load bool // whether it is a load and not a setting
}

// perDoubling is the additional relative scatter of a prediction for each doubling beyond the measurements. There the
// model assumes that costs add up and that more bolts hold more, which was not measured. With 0.1 the interval of the
// tuning document's row of 28 filter bolts, predicted from its rows of 4, 8 and 20, missed it.
const perDoubling = 0.2

// Text describes the reach in a sentence without its full stop.
func (r Reach) Text() string {
	switch {
	case !r.Times.Known():
		return fmt.Sprintf("%s %s: never measured", tuning.Digits(tuning.Figure(r.Wanted)), r.What)
	case r.Wanted > r.Most:
		return fmt.Sprintf("%s %s: %.3g times the largest measured value, %s", tuning.Digits(tuning.Figure(r.Wanted)), r.What,
			float64(r.Times), tuning.Digits(tuning.Figure(r.Most)))
	}
	return fmt.Sprintf("%s %s: the smallest measured value, %s, is %.3g times as large", tuning.Digits(tuning.Figure(r.Wanted)), r.What,
		tuning.Digits(tuning.Figure(r.Least)), float64(r.Times))
}

// dimension is a quantity in which steps differ. of returns 0 or unknown if its value is not known. A load below the
// smallest measured one adds no scatter, but a setting does; see scatter.
type dimension struct {
	what string
	load bool
	of   func(Load, Setup) float64
}

// dimensions returns the loads, workers, heap and executors that a question can have. The sum of executors is a
// dimension only if steps know the executors of more than one component.
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
	if len(asked.Executors) > 1 && known != 1 { // steps that know a single component have no sum
		all = append(all, dimension{"executors in total", false, func(_ Load, s Setup) float64 { return s.all() }})
	}
	names := map[string]float64{}
	maps.Copy(names, asked.Executors)
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

// reach returns the quantities of a question that lie outside the measured range, the farthest first. An unknown
// quantity counts as inside.
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

// beside is the relative tolerance of loads and settings. Rates are never held exactly.
const beside = 0.02

// rank returns the sort key of a Reach. A quantity that was never measured comes first.
func (r Reach) rank() float64 {
	if !r.Times.Known() {
		return math.Inf(1)
	}
	return float64(r.Times)
}

// scatter returns the additional standard deviation of a prediction's logarithm. A load below the smallest measured one
// adds nothing, because larger loads already show its costs. The variances of all other quantities are added, as for
// independent causes.
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
