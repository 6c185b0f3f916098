package runstore

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Slices are a series as the collector stored it: times are slice ends, ms since the Unix epoch, ascending. A time that
// is not there is a gap.
type Slices struct {
	TimesMs []int64         `json:"times_ms"`
	Values  []tuning.Figure `json:"values"`
}

// At is the value of the slice that ends at timeMs; unknown if there is none.
func (s Slices) At(timeMs int64) tuning.Figure {
	i, found := slices.BinarySearch(s.TimesMs, timeMs)
	if !found {
		return tuning.Unknown
	}
	return s.Values[i]
}

// Rise is what a total rose by in (timeMs-widthMs, timeMs]; unknown if a slice is missing at either end.
func (s Slices) Rise(timeMs, widthMs int64) tuning.Figure { return s.At(timeMs) - s.At(timeMs-widthMs) }

// joined puts a later series behind an earlier one.
func joined(earlier, later Slices) Slices {
	return Slices{
		TimesMs: append(slices.Clone(earlier.TimesMs), later.TimesMs...),
		Values:  append(slices.Clone(earlier.Values), later.Values...),
	}
}

// continued is joined of a total, which goes on from where it was.
func continued(earlier, later Slices) Slices { return joined(earlier, later.raised(earlier)) }

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
