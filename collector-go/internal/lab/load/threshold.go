package load

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Threshold is a bound that a result must keep, such as "p99<200ms".
type Threshold struct {
	// Text is the text as given, without spaces.
	Text   string
	figure string
	sign   string
	bound  float64
}

// Units of figures, which determine the accepted units of their bounds.
const (
	inSeconds = "s"
	inShare   = "%"
	inCount   = ""
)

// thresholdFigures are the figures that can have a threshold, in the units of Result.
var thresholdFigures = map[string]struct {
	unit string
	of   func(Result) float64
}{
	"min":             {inSeconds, func(r Result) float64 { return r.Latency.Least }},
	"mean":            {inSeconds, func(r Result) float64 { return r.Latency.Mean }},
	"p50":             {inSeconds, func(r Result) float64 { return r.Latency.P50 }},
	"p90":             {inSeconds, func(r Result) float64 { return r.Latency.P90 }},
	"p95":             {inSeconds, func(r Result) float64 { return r.Latency.P95 }},
	"p99":             {inSeconds, func(r Result) float64 { return r.Latency.P99 }},
	"p999":            {inSeconds, func(r Result) float64 { return r.Latency.P999 }},
	"max":             {inSeconds, func(r Result) float64 { return r.Latency.Most }},
	"client_late_p99": {inSeconds, func(r Result) float64 { return r.Lateness.P99 }},
	"client_late_max": {inSeconds, func(r Result) float64 { return r.Lateness.Most }},
	"failed":          {inShare, Result.FailedShare},
	"completeness":    {inShare, Result.Completeness},
	"returned":        {inCount, func(r Result) float64 { return float64(r.Returned) }},
	"not_submitted":   {inCount, func(r Result) float64 { return float64(r.NotSubmitted) }},
}

var thresholdPattern = regexp.MustCompile(`^([a-z_]+[0-9]*)(<=|>=|<|>)([0-9.]+)(us|ms|s|m|h|%)?$`)

// ParseThreshold parses a bound such as "p99<200ms", "failed<1%" or "completeness>=0.999".
func ParseThreshold(text string) (t Threshold, err error) {
	t.Text = strings.ReplaceAll(strings.NewReplacer("p(99.9)", "p999", "p(", "p", ")", "").Replace(text), " ", "")
	parts := thresholdPattern.FindStringSubmatch(t.Text)
	if parts == nil {
		return t, fmt.Errorf("%q is not a threshold; use for example p99<200ms or failed<1%%", text)
	}
	t.figure, t.sign = parts[1], parts[2]
	figure, known := thresholdFigures[t.figure]
	if !known {
		return t, fmt.Errorf("threshold %q: unknown metric %q; known metrics: %s", text, t.figure,
			strings.Join(slices.Sorted(maps.Keys(thresholdFigures)), ", "))
	}
	if t.bound, err = strconv.ParseFloat(parts[3], 64); err != nil {
		return t, fmt.Errorf("threshold %q: %q is not a number", text, parts[3])
	}
	return t.inUnit(text, figure.unit, parts[4])
}

func (t Threshold) inUnit(text, counts, unit string) (Threshold, error) {
	switch {
	case counts == inSeconds && unit != "" && unit != "%":
		second, _ := time.ParseDuration("1" + unit)
		t.bound *= second.Seconds()
	case counts == inShare && unit == "%":
		t.bound /= 100
	case counts == inSeconds:
		return t, fmt.Errorf("threshold %q: %s is a time; add a unit, for example %gms", text, t.figure, t.bound)
	case unit != "":
		return t, fmt.Errorf("threshold %q: %s does not have the unit %s", text, t.figure, unit)
	}
	return t, nil
}

// ThresholdResult states whether a result keeps a threshold.
type ThresholdResult struct {
	Threshold string  `json:"threshold"`
	Value     float64 `json:"-"`
	// Shown is the value with its unit.
	Shown string `json:"value"`
	Kept  bool   `json:"kept"`
}

// Judge compares a result with the threshold. An unknown figure keeps no threshold.
func (t Threshold) Judge(r Result) ThresholdResult {
	figure := thresholdFigures[t.figure]
	value := figure.of(r)
	return ThresholdResult{Threshold: t.Text, Value: value, Shown: shown(value, figure.unit), Kept: t.keeps(value)}
}

func (t Threshold) keeps(value float64) bool {
	switch t.sign {
	case "<":
		return value < t.bound
	case "<=":
		return value <= t.bound
	case ">":
		return value > t.bound
	}
	return value >= t.bound
}

func shown(value float64, unit string) string {
	switch {
	case math.IsNaN(value):
		return "no value"
	case unit == inSeconds:
		return fmt.Sprintf("%.6gms", value*1000)
	case unit == inShare:
		return fmt.Sprintf("%.6g%%", value*100)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
