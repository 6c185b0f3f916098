package measure

import (
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// meanOf returns the mean over the slices of all series. Series without a slice in the span are left out.
func meanOf(p runstore.Span, all []Series) tuning.Figure {
	var means []tuning.Figure
	for _, s := range all {
		means = append(means, p.Mean(s.Slices))
	}
	return runstore.Average(means)
}

// slicesIn returns the series without their labels.
func slicesIn(all []Series) (out []runstore.Slices) {
	for _, s := range all {
		out = append(out, s.Slices)
	}
	return out
}

// number parses a setting. It is unknown if the setting is missing or not a number.
func number(text string) tuning.Figure {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return tuning.Unknown
	}
	return tuning.Figure(v)
}
