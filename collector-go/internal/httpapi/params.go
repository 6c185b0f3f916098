package httpapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// The earliest and the latest time that a parameter may name, as in Prometheus.
var (
	minTime = time.Unix(math.MinInt64/1000+62135596801, 0).UTC()
	maxTime = time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC()
)

// parseTime takes seconds since the Unix epoch, with a fraction, or RFC 3339.
func parseTime(s string) (time.Time, error) {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		whole, fraction := math.Modf(seconds)
		fraction = math.Round(fraction*1000) / 1000
		return time.Unix(int64(whole), int64(fraction*float64(time.Second))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	// The two bounds have years of more than four digits, which time.Parse does not take.
	for _, bound := range []time.Time{minTime, maxTime} {
		if s == bound.Format(time.RFC3339Nano) {
			return bound, nil
		}
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", s)
}

// timeParam is parseTime of an optional parameter.
func timeParam(r *http.Request, name string, otherwise time.Time) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("invalid time value for '%s': %w", name, err)
	}
	return t, nil
}

// parseDuration takes seconds with a fraction, or Prometheus' form, such as "5m".
func parseDuration(s string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		ns := seconds * float64(time.Second)
		if ns > float64(math.MaxInt64) || ns < float64(math.MinInt64) {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(s); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", s)
}

// limitParam is 0 for no limit.
func limitParam(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(text)
	if err == nil && limit < 0 {
		err = errors.New("limit must be non-negative")
	}
	return limit, err
}

// hintLimit asks the store for one more, so that a cut is noticed.
func hintLimit(limit int) int {
	if limit > 0 && limit < math.MaxInt {
		return limit + 1
	}
	return limit
}

// matchers reads the selectors of match[].
func matchers(p parser.Parser, selectors []string) ([][]*labels.Matcher, error) {
	sets, err := p.ParseMetricSelectors(selectors)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if matchesEmpty(set) {
			return nil, errors.New("match[] must contain at least one non-empty matcher")
		}
	}
	return sets, nil
}

func matchesEmpty(set []*labels.Matcher) bool {
	for _, m := range set {
		if !m.Matches("") {
			return false
		}
	}
	return true
}
