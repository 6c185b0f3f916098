package measure

import (
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// meanOf is the mean over the slices of all series.
func meanOf(p runstore.Span, all []Series) tuning.Figure {
	var means []tuning.Figure
	for _, s := range all {
		means = append(means, p.Mean(s.Slices))
	}
	return runstore.Average(means)
}

func slicesIn(all []Series) (out []runstore.Slices) {
	for _, s := range all {
		out = append(out, s.Slices)
	}
	return out
}

// number reads a setting.
func number(text string) tuning.Figure {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return tuning.Unknown
	}
	return tuning.Figure(v)
}
