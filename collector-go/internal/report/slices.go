package report

import (
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Figure is a number that may be unknown: NaN here, null in JSON.
type Figure = tuning.Figure

// Unknown is the figure that is not known.
var Unknown = tuning.Unknown

const minuteMs = int64(time.Minute / time.Millisecond)

// Slices are a series as the collector stored it: times are slice ends, ms since the Unix epoch, ascending. A time that
// is not there is a gap.
type Slices struct {
	TimesMs []int64  `json:"times_ms"`
	Values  []Figure `json:"values"`
}

// at is the value of the slice that ends at timeMs; NaN if there is none.
func (s Slices) at(timeMs int64) Figure {
	i, found := slices.BinarySearch(s.TimesMs, timeMs)
	if !found {
		return Unknown
	}
	return s.Values[i]
}

// within are the indices [low, high) of the slices that end in [fromMs, toMs].
func (s Slices) within(fromMs, toMs int64) (low, high int) {
	low, _ = slices.BinarySearch(s.TimesMs, fromMs)
	high, _ = slices.BinarySearch(s.TimesMs, toMs+1)
	return low, high
}

// mean is the mean of the slices that end in (fromMs, toMs]; NaN if there are none.
func (s Slices) mean(fromMs, toMs int64) Figure {
	low, high := s.within(fromMs+1, toMs)
	return average(s.Values[low:high])
}

// rate is what a total rose by each second between the first and the last slice that end in [fromMs, toMs]; NaN if
// these are fewer than two.
func (s Slices) rate(fromMs, toMs int64) Figure {
	low, high := s.within(fromMs, toMs)
	if high-low < 2 {
		return Unknown
	}
	last := high - 1
	return (s.Values[last] - s.Values[low]) * 1000 / Figure(s.TimesMs[last]-s.TimesMs[low])
}

// increase is what a total rose by in (timeMs-widthMs, timeMs]; NaN if a slice is missing at either end.
func (s Slices) increase(timeMs, widthMs int64) Figure { return s.at(timeMs) - s.at(timeMs-widthMs) }

// average leaves out what is not known; NaN if nothing is.
func average(figures []Figure) Figure {
	sum, known := Figure(0), 0
	for _, f := range figures {
		if f.Known() {
			sum += f
			known++
		}
	}
	return sum / Figure(known)
}

// total is NaN unless all are known: a sum with a part missing is no sum.
func total(figures []Figure) Figure {
	sum := Figure(0)
	for _, f := range figures {
		sum += f
	}
	return sum
}

// each maps figures over times.
func each(timesMs []int64, figure func(timeMs int64) Figure) []Figure {
	out := make([]Figure, len(timesMs))
	for i, t := range timesMs {
		out[i] = figure(t)
	}
	return out
}

// totalOrUnknown is the total; of nothing it is unknown.
func totalOrUnknown(figures []Figure) Figure {
	if len(figures) == 0 {
		return Unknown
	}
	return total(figures)
}

func largest(figures []Figure) Figure {
	most := Unknown
	for _, f := range figures {
		if f.Known() && !(f <= most) {
			most = f
		}
	}
	return most
}

// joined puts a later series behind an earlier one.
func joined(earlier, later Slices) Slices {
	return Slices{
		TimesMs: append(slices.Clone(earlier.TimesMs), later.TimesMs...),
		Values:  append(slices.Clone(earlier.Values), later.Values...),
	}
}

// raised is a total that goes on from where an earlier one ended.
func (s Slices) raised(earlier Slices) Slices {
	if len(earlier.Values) == 0 {
		return s
	}
	out := Slices{TimesMs: s.TimesMs, Values: slices.Clone(s.Values)}
	for i := range out.Values {
		out.Values[i] += earlier.Values[len(earlier.Values)-1]
	}
	return out
}
