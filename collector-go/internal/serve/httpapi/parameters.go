package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// minTime and maxTime are the defaults of start and end if these parameters are optional. The values are those of
// Prometheus.
var (
	minTime = time.Unix(math.MinInt64/1000+62135596801, 0).UTC()
	maxTime = time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC()

	minTimeText = minTime.Format(time.RFC3339Nano)
	maxTimeText = maxTime.Format(time.RFC3339Nano)
)

// request is an HTTP request whose form has been parsed.
type request struct {
	*http.Request
	formError error
}

// parseForm parses the URL's query and the body. As in Prometheus, a form may also be sent as multipart/form-data. If
// parsing fails, the parameters that were read so far remain usable; most endpoints ignore the error, as Prometheus
// does.
func parseForm(r *http.Request) request {
	if isMultipart(r) {
		return request{Request: r, formError: r.ParseMultipartForm(formMemory)}
	}
	return request{Request: r, formError: r.ParseForm()}
}

// formMemory is larger than any allowed body, so that no part of a form is written to a file.
const formMemory = 64 << 20

// isMultipart reports whether the body is multipart/form-data.
func isMultipart(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "multipart/form-data"
}

// refused returns an error if the form must be refused by every endpoint: it is too large, too slow, or a malformed
// multipart form. A malformed multipart form could lose a filter, and the answer would then be wrong.
func (r request) refused() error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(r.formError, &tooLarge), isTooSlow(r.formError):
		return r.formError
	case r.formError != nil && isMultipart(r.Request):
		return fmt.Errorf("error parsing form values: %w", r.formError)
	}
	return nil
}

func timeParameter(r request, name string, absent time.Time) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" {
		return absent, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return time.Time{}, parameterError(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t, nil
}

// timeRange returns the parameters start and end, which are both optional.
func timeRange(r request) (start, end time.Time, err error) {
	start, err = timeParameter(r, "start", minTime)
	end, wrong := timeParameter(r, "end", maxTime)
	return start, end, cmp.Or(err, wrong)
}

// parseTime parses seconds since 1970, rounded to the millisecond, or an RFC 3339 time.
func parseTime(text string) (time.Time, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		integer, fraction := math.Modf(seconds)
		fraction = math.Round(fraction*1000) / 1000
		return time.Unix(int64(integer), int64(fraction*float64(time.Second))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	switch text { // these have years of more than four digits, which time.Parse cannot read
	case minTimeText:
		return minTime, nil
	case maxTimeText:
		return maxTime, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

// parseDuration parses a number of seconds or a duration such as 5m.
func parseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		d := seconds * float64(time.Second)
		if d > float64(math.MaxInt64) || d < float64(math.MinInt64) {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(d), nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
}

// limitParameter returns the maximum number of results; 0 means no limit.
func limitParameter(r request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return limit, parameterError("limit", err)
	}
	if limit < 0 {
		return limit, parameterError("limit", errors.New("limit must be non-negative"))
	}
	return limit, nil
}

// hintLimit returns the limit for the store: one more than the limit of the answer, so that a truncated answer can be
// detected.
func hintLimit(limit int) int {
	if limit > 0 && limit < math.MaxInt {
		return limit + 1
	}
	return limit
}

var errTruncated = errors.New("results truncated due to limit")

// parseSelectors parses the values of match[]. Each selector needs at least one matcher that does not match the empty
// string.
func parseSelectors(ctx context.Context, e *query.Engine, texts []string) ([][]*labels.Matcher, error) {
	sets, err := e.Selectors(ctx, texts)
	if err != nil {
		return nil, err
	}
	for _, matchers := range sets {
		if !namesSomething(matchers) {
			return nil, errors.New("match[] must contain at least one non-empty matcher")
		}
	}
	return sets, nil
}

// namesSomething reports whether a selector has a matcher that does not match the empty string. Without one, the
// selector would select every series.
func namesSomething(matchers []*labels.Matcher) bool {
	return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return m != nil && !m.Matches("") })
}
