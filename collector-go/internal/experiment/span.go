package experiment

import (
	"slices"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// span is a piece of the time axis, (from, to] in ms since the Unix epoch, and what series say about it.
type span struct{ from, to int64 }

func (p span) seconds() float64 { return float64(p.to-p.from) / 1000 }

// within are the indices [low, high) of the slices that end in the span.
func (p span) within(s report.Slices) (low, high int) {
	low, _ = slices.BinarySearch(s.TimesMs, p.from+1)
	high, _ = slices.BinarySearch(s.TimesMs, p.to+1)
	return low, high
}

func (p span) mean(s report.Slices) report.Figure {
	low, high := p.within(s)
	return averageOf(s.Values[low:high])
}

// meanOf is the mean over the slices of all series.
func (p span) meanOf(all []Series) report.Figure {
	var means []report.Figure
	for _, s := range all {
		means = append(means, p.mean(s.Slices))
	}
	return averageOf(means)
}

func (p span) most(s report.Slices) report.Figure {
	low, high := p.within(s)
	most := tuning.Unknown
	for _, v := range s.Values[low:high] {
		if v.Known() && !(v <= most) {
			most = v
		}
	}
	return most
}

func (p span) first(s report.Slices) report.Figure {
	if low, high := p.within(s); low < high {
		return s.Values[low]
	}
	return tuning.Unknown
}

func (p span) last(s report.Slices) report.Figure {
	if low, high := p.within(s); low < high {
		return s.Values[high-1]
	}
	return tuning.Unknown
}

// increase is what a total rose by in the span: from the last slice that ended before it, where that is known, to the span's last. The
// total of something that began in the span rose from 0 only if it said so; else its first slice is where it is counted from.
func (p span) increase(s report.Slices) report.Figure {
	low, high := p.within(s)
	if low > 0 {
		low--
	}
	if high-low < 2 {
		return tuning.Unknown
	}
	return s.Values[high-1] - s.Values[low]
}

// increases adds up what several totals rose by, as far as that is known; unknown where it is of none.
func (p span) increases(all []report.Slices) report.Figure {
	total, known := report.Figure(0), false
	for _, s := range all {
		if rise := p.increase(s); rise.Known() {
			total, known = total+rise, true
		}
	}
	if !known {
		return tuning.Unknown
	}
	return total
}

// slope is by how much a gauge rose each second, by least squares.
func (p span) slope(s report.Slices) report.Figure {
	low, high := p.within(s)
	var x, y []float64
	for i := low; i < high; i++ {
		if s.Values[i].Known() {
			x, y = append(x, float64(s.TimesMs[i]-p.from)/1000), append(y, float64(s.Values[i]))
		}
	}
	return tuning.FitLine(x, y, tuning.DefaultConfidence).Slope
}

// staleAfter is how old a gauge's slice may be and still tell the present.
const staleAfter = 90 * time.Second

// valueAt is the value of the slice that ends at a time, or of the last before it.
func valueAt(s report.Slices, at int64) report.Figure {
	i, found := slices.BinarySearch(s.TimesMs, at)
	if !found {
		i--
	}
	if i < 0 || at-s.TimesMs[i] > staleAfter.Milliseconds() {
		return tuning.Unknown
	}
	return s.Values[i]
}

// averageOf leaves out what is not known.
func averageOf(values []report.Figure) report.Figure {
	sum, known := report.Figure(0), 0
	for _, v := range values {
		if v.Known() {
			sum, known = sum+v, known+1
		}
	}
	return sum / report.Figure(known)
}

func slicesIn(all []Series) (out []report.Slices) {
	for _, s := range all {
		out = append(out, s.Slices)
	}
	return out
}

// number reads a setting.
func number(text string) report.Figure {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return tuning.Unknown
	}
	return report.Figure(v)
}
