package measure

import (
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// meanOf is the mean over the slices of all series. Series without a slice in the span are left out.
func meanOf(p runstore.Span, all []Series) tuning.Figure {
	var means []tuning.Figure
	for _, s := range all {
		means = append(means, p.Mean(s.Slices))
	}
	return runstore.Average(means)
}

// slicesIn are the series without their labels.
func slicesIn(all []Series) (out []runstore.Slices) {
	for _, s := range all {
		out = append(out, s.Slices)
	}
	return out
}

// number reads a setting. It is unknown where the setting is missing or no number.
func number(text string) tuning.Figure {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return tuning.Unknown
	}
	return tuning.Figure(v)
}
