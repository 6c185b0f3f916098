package runstore

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Slices is a series as the collector stored it. Times are the ends of slices in ms since the Unix epoch, ascending. A
// missing time is a gap.
type Slices struct {
	TimesMs []int64         `json:"times_ms"`
	Values  []tuning.Figure `json:"values"`
}

// At returns the value of the slice that ends at timeMs; unknown if there is none.
func (s Slices) At(timeMs int64) tuning.Figure {
	i, found := slices.BinarySearch(s.TimesMs, timeMs)
	if !found {
		return tuning.Unknown
	}
	return s.Values[i]
}

// Rise returns the increase of a total in (timeMs-widthMs, timeMs]; unknown if a slice is missing at either end.
func (s Slices) Rise(timeMs, widthMs int64) tuning.Figure { return s.At(timeMs) - s.At(timeMs-widthMs) }

// joined returns an earlier series followed by a later one.
func joined(earlier, later Slices) Slices {
	return Slices{
		TimesMs: append(slices.Clone(earlier.TimesMs), later.TimesMs...),
		Values:  append(slices.Clone(earlier.Values), later.Values...),
	}
}

// continued is joined for a total, which continues from its earlier value.
func continued(earlier, later Slices) Slices { return joined(earlier, later.raised(earlier)) }

// raised returns a total that continues from the last value of an earlier one.
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
