package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Spread is a figure over several launches of one configuration: each launch's own mean is one value.
type Spread struct {
	Launches int    `json:"launches"`
	Mean     Figure `json:"mean"`
	Least    Figure `json:"least"`
	Most     Figure `json:"most"`
	// Deviation is the standard deviation of the launches (n - 1); null of one.
	Deviation Figure `json:"standard_deviation"`
}

// SpreadOf leaves out what is not known.
func SpreadOf(values []Figure) Spread {
	s := Spread{Mean: Unknown, Least: Unknown, Most: Unknown, Deviation: Unknown}
	var known []float64
	for _, v := range values {
		if v.Known() {
			known = append(known, float64(v))
		}
	}
	if s.Launches = len(known); s.Launches == 0 {
		return s
	}
	s.Mean, s.Least, s.Most = Figure(stat.Mean(known, nil)), Figure(slices.Min(known)), Figure(slices.Max(known))
	if s.Launches > 1 {
		s.Deviation = Figure(stat.StdDev(known, nil))
	}
	return s
}

// String is the mean with its spread: "12.4 (11.8 to 13.1, n 3)".
func (s Spread) String() string {
	switch s.Launches {
	case 0:
		return document.Unknown
	case 1:
		return tuning.Digits(s.Mean) + " (n 1)"
	}
	return fmt.Sprintf("%s (%s to %s, n %d)", tuning.Digits(s.Mean), tuning.Digits(s.Least), tuning.Digits(s.Most),
		s.Launches)
}
