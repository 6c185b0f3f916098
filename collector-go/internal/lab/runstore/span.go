package runstore

import (
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Span is a piece of the time axis, (From, To] in ms since the Unix epoch, and what series say about it. A slice
// belongs to the span in which it ends. What a total rises by in a span counts from the last slice that ended at From
// or before, if that is no older than staleAfter, else from the first within; to the last within.
type Span struct{ From, To int64 }

// staleAfter is how old a slice may be and still show the present.
const staleAfter = 90 * time.Second

// Seconds is how long the span is.
func (p Span) Seconds() float64 { return float64(p.To-p.From) / 1000 }

// Within are the indices [low, high) of the slices that end in the span.
func (p Span) Within(s Slices) (low, high int) {
	low, _ = slices.BinarySearch(s.TimesMs, p.From+1)
	high, _ = slices.BinarySearch(s.TimesMs, p.To+1)
	return low, high
}

// values are those of the slices that end in the span.
func (p Span) values(s Slices) []tuning.Figure {
	low, high := p.Within(s)
	return s.Values[low:high]
}

// Mean is the mean of the slices; unknown if there are none.
func (p Span) Mean(s Slices) tuning.Figure { return Average(p.values(s)) }

// Most is the largest of the slices.
func (p Span) Most(s Slices) tuning.Figure {
	most := tuning.Unknown
	for _, v := range p.values(s) {
		most = tuning.Greater(most, v)
	}
	return most
}

// First and Last are the values of the first and the last slice.
func (p Span) First(s Slices) tuning.Figure {
	if all := p.values(s); len(all) > 0 {
		return all[0]
	}
	return tuning.Unknown
}

// Last is the value of the last slice.
func (p Span) Last(s Slices) tuning.Figure {
	if all := p.values(s); len(all) > 0 {
		return all[len(all)-1]
	}
	return tuning.Unknown
}

// edges are the indices of the slices between which a total rises in the span; ok is false where there are not two.
func (p Span) edges(s Slices) (first, last int, ok bool) {
	low, high := p.Within(s)
	if low > 0 && p.From-s.TimesMs[low-1] <= staleAfter.Milliseconds() {
		low--
	}
	return low, high - 1, high-low >= 2
}

// Increase is what a total rose by. The total of something that began in the span rose from 0 only if it said so; else
// its first slice is where it is counted from.
func (p Span) Increase(s Slices) tuning.Figure {
	first, last, ok := p.edges(s)
	if !ok {
		return tuning.Unknown
	}
	return s.Values[last] - s.Values[first]
}

// Rate is what a total rose by each second, over the time that its slices cover of the span.
func (p Span) Rate(s Slices) tuning.Figure {
	first, last, ok := p.edges(s)
	if !ok {
		return tuning.Unknown
	}
	return (s.Values[last] - s.Values[first]) * 1000 / tuning.Figure(s.TimesMs[last]-s.TimesMs[first])
}

// Increases adds up what several totals rose by, as far as that is known; unknown where it is of none.
func (p Span) Increases(all []Slices) tuning.Figure {
	total, known := tuning.Figure(0), false
	for _, s := range all {
		if rise := p.Increase(s); rise.Known() {
			total, known = total+rise, true
		}
	}
	if !known {
		return tuning.Unknown
	}
	return total
}

// Slope is by how much a gauge rose each second, by least squares.
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

// ValueAt is the value of the slice that ends at a time, or of the last before it, if that is no older than staleAfter.
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

// Average is the mean of what is known; unknown if nothing is.
func Average(values []tuning.Figure) tuning.Figure {
	sum, known := tuning.Figure(0), 0
	for _, v := range values {
		if v.Known() {
			sum, known = sum+v, known+1
		}
	}
	return sum / tuning.Figure(known)
}
