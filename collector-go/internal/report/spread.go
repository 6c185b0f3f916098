package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
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
	var known []Figure
	for _, v := range values {
		if v.Known() {
			known = append(known, v)
		}
	}
	if s.Launches = len(known); s.Launches == 0 {
		return s
	}
	s.Mean, s.Least, s.Most = rundir.Average(known), slices.Min(known), slices.Max(known)
	if s.Launches > 1 {
		squares := 0.0
		for _, v := range known {
			squares += float64((v - s.Mean) * (v - s.Mean))
		}
		s.Deviation = Figure(math.Sqrt(squares / float64(s.Launches-1)))
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
