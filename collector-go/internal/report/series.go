package report

import "slices"

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

// rate is what a total rose by each second between the first and the last slice that end in [fromMs, toMs]; NaN if these are
// fewer than two.
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
