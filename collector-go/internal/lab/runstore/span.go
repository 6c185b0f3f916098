package runstore

import (
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Span is a range of time, (From, To] in ms since the Unix epoch. A slice belongs to the span in which it ends.
//
// The increase of a total in a span ends at the last slice within the span. It starts at the last slice that ended at
// or before From, if that is no older than staleAfter. Otherwise it starts at the first slice within the span.
type Span struct{ From, To int64 }

// staleAfter is the age up to which a slice counts as the current value.
const staleAfter = 90 * time.Second

// Seconds returns the length of the span.
func (p Span) Seconds() float64 { return float64(p.To-p.From) / 1000 }

// Within returns the indices [low, high) of the slices that end in the span.
func (p Span) Within(s Slices) (low, high int) {
	low, _ = slices.BinarySearch(s.TimesMs, p.From+1)
	high, _ = slices.BinarySearch(s.TimesMs, p.To+1)
	return low, high
}

// values returns the values of the slices that end in the span.
func (p Span) values(s Slices) []tuning.Figure {
	low, high := p.Within(s)
	return s.Values[low:high]
}

// Mean returns the mean of the slices; unknown if there are none.
func (p Span) Mean(s Slices) tuning.Figure { return Average(p.values(s)) }

// Most returns the largest value of the slices; unknown if there are none.
func (p Span) Most(s Slices) tuning.Figure {
	return tuning.Largest(p.values(s))
}

// First returns the value of the first slice; unknown if there is none.
func (p Span) First(s Slices) tuning.Figure {
	if all := p.values(s); len(all) > 0 {
		return all[0]
	}
	return tuning.Unknown
}

// Last returns the value of the last slice; unknown if there is none.
func (p Span) Last(s Slices) tuning.Figure {
	if all := p.values(s); len(all) > 0 {
		return all[len(all)-1]
	}
	return tuning.Unknown
}

// edges returns the indices of the slices between which a total increases in the span; ok is false if there are not
// two.
func (p Span) edges(s Slices) (first, last int, ok bool) {
	low, high := p.Within(s)
	if low > 0 && p.From-s.TimesMs[low-1] <= staleAfter.Milliseconds() {
		low--
	}
	return low, high - 1, high-low >= 2
}

// Increase returns the increase of a total. A total that began in the span is counted from its first slice, so an
// increase from 0 counts only if that slice was 0.
func (p Span) Increase(s Slices) tuning.Figure {
	first, last, ok := p.edges(s)
	if !ok {
		return tuning.Unknown
	}
	return s.Values[last] - s.Values[first]
}

// Rate returns the increase of a total per second, over the part of the span that its slices cover.
func (p Span) Rate(s Slices) tuning.Figure {
	first, last, ok := p.edges(s)
	if !ok {
		return tuning.Unknown
	}
	return (s.Values[last] - s.Values[first]) * 1000 / tuning.Figure(s.TimesMs[last]-s.TimesMs[first])
}

// Increases returns the sum of the known increases of several totals; unknown if none is known.
func (p Span) Increases(all []Slices) tuning.Figure {
	return Total(slices.DeleteFunc(tuning.Each(all, p.Increase), func(f tuning.Figure) bool { return !f.Known() }))
}

// Slope returns the increase of a gauge per second, by least squares.
func (p Span) Slope(s Slices) tuning.Figure {
	low, high := p.Within(s)
	var x, y []float64
	for i := low; i < high; i++ {
		if s.Values[i].Known() {
			x, y = append(x, float64(s.TimesMs[i]-p.From)/1000), append(y, float64(s.Values[i]))
		}
	}
	return tuning.FitLine(x, y, tuning.DefaultConfidence).Slope
}

// ValueAt returns the value of the slice that ends at a time, or of the last slice before it if that is no older than
// staleAfter.
func (s Slices) ValueAt(at int64) tuning.Figure {
	i, found := slices.BinarySearch(s.TimesMs, at)
	if !found {
		i--
	}
	if i < 0 || at-s.TimesMs[i] > staleAfter.Milliseconds() {
		return tuning.Unknown
	}
	return s.Values[i]
}

// Average returns the mean of the known values; unknown if none is known.
func Average(values []tuning.Figure) tuning.Figure {
	sum, known := tuning.Figure(0), 0
	for _, v := range values {
		if v.Known() {
			sum, known = sum+v, known+1
		}
	}
	return sum / tuning.Figure(known)
}
