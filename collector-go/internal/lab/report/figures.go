package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Figure is a number that may be unknown: NaN here, null in JSON. It is an alias of tuning's type, so that figures need
// no conversion between packages.
type Figure = tuning.Figure

// Unknown is the value of an unknown figure.
var Unknown = tuning.Unknown

const (
	minuteMs = int64(time.Minute / time.Millisecond)
	mib      = 1 << 20
)

// values converts figures to the numbers that a chart takes.
func values(figures []Figure) []float64 {
	return tuning.Each(figures, func(f Figure) float64 { return float64(f) })
}

// msPerMinute returns the increase of a total of seconds in the slice that ends at endMs, in milliseconds per minute.
func msPerMinute(total runstore.Slices, endMs, sliceMs int64) Figure {
	return total.Rise(endMs, sliceMs) * 1000 * Figure(minuteMs) / Figure(sliceMs)
}

// msPerMinuteOf converts seconds per second to milliseconds per minute, the unit of Bullet's tuning document.
func msPerMinuteOf(perSecond []Figure) []Figure {
	return tuning.Each(perSecond, func(f Figure) Figure { return f * 1000 * 60 })
}

// positive returns Unknown for a figure that is not above 0. A step in which no query returned has a latency of 0,
// which a logarithmic axis cannot show.
func positive(f Figure) Figure {
	if f > 0 {
		return f
	}
	return Unknown
}

// knownOr returns the text of a cell, or Unknown if known is false. cell is called only if known is true, so that it
// may use a pointer that is nil otherwise.
func knownOr(known bool, cell func() string) string {
	if !known {
		return document.Unknown
	}
	return cell()
}

// settingText formats the value of a setting. nil means that the setting does not exist, which differs from an empty
// value.
func settingText(value *string) string {
	return knownOr(value != nil, func() string { return *value })
}

// digitsColumn is a column of figures with their significant digits (tuning.Digits).
func digitsColumn[T any](head, unit string, figure func(T) Figure) document.Of[T] {
	return document.Number(head, unit, func(row T) string { return tuning.Digits(figure(row)) })
}

// figureColumn is a column of figures with a fixed number of decimals, so that the digits of its rows are aligned.
func figureColumn[T any](head, unit string, decimals int, figure func(T) Figure) document.Of[T] {
	return document.Number(head, unit, func(row T) string { return tuning.Fixed(figure(row), decimals) })
}

// percentColumn is a column of ratios, shown as percentages.
func percentColumn[T any](head string, ratio func(T) Figure) document.Of[T] {
	return document.Number(head, "", func(row T) string { return tuning.Percent(ratio(row)) })
}

// countColumn is a column of whole numbers.
func countColumn[T any](head string, count func(T) int) document.Of[T] {
	return document.Number(head, "", func(row T) string { return strconv.Itoa(count(row)) })
}

// samples formats a number of samples.
func samples(n uint64) string { return tuning.Fixed(Figure(n), 0) }

// samplesColumn is a column of numbers of samples.
func samplesColumn[T any](head string, count func(T) uint64) document.Of[T] {
	return document.Number(head, "", func(row T) string { return samples(count(row)) })
}

// roundedMs formats a percentile of a latency in whole milliseconds. Finer digits would only come from interpolation in
// the histogram.
func roundedMs(ms Figure) string {
	return tuning.TwoDigits(Figure(math.Round(float64(ms))))
}

// simultaneousQueries is the name of the queries axis in tables, charts and sentences.
const simultaneousQueries = "simultaneous queries"

// axisNames are the names for people of the quantities that can increase over the steps.
var axisNames = map[runstore.Axis]string{
	runstore.Queries: simultaneousQueries, runstore.QueriesPerSecond: "queries/s", runstore.RecordsPerSecond: "records/s",
}

// stepName returns the name of a step for every table, figure and sentence. It contains what distinguishes the step
// from others at the same load: whether it was for the cost, and the number of the attempt.
func stepName(axis runstore.Axis, s runstore.Step) string {
	name := tuning.Digits(Figure(s.Value)) + " " + axis.Unit()
	switch {
	case s.Kind == runstore.TimelineStep:
		name = "timeline"
	case s.Value == 1 && axis == runstore.Queries:
		name = "1 query"
	}
	if s.Kind == runstore.CostStep {
		name += ", for the cost"
	}
	if s.Attempt > 1 {
		name += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	return name
}

// Spread is a figure over several launches of one configuration. The mean of each launch is one value, so it is the
// spread between launches and not between slices.
type Spread struct {
	Launches int    `json:"launches"`
	Mean     Figure `json:"mean"`
	Least    Figure `json:"least"`
	Most     Figure `json:"most"`
	// Deviation is the standard deviation of the launches (n - 1). It is unknown, and null in JSON, for a single
	// launch.
	Deviation Figure `json:"standard_deviation"`
}

// SpreadOf returns the spread of the known values. Launches is the number of known values.
func SpreadOf(figures []Figure) Spread {
	s := Spread{Mean: Unknown, Least: Unknown, Most: Unknown, Deviation: Unknown}
	known := values(tuning.Those(figures, Figure.Known))
	if s.Launches = len(known); s.Launches == 0 {
		return s
	}
	s.Mean, s.Least, s.Most = Figure(stat.Mean(known, nil)), Figure(slices.Min(known)), Figure(slices.Max(known))
	s.Deviation = Figure(stat.StdDev(known, nil)) // unknown for a single launch
	return s
}

// String returns the mean with its spread: "12.4 (11.8 to 13.1, n 3)".
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

// hookHistogram is the metric of the latency hook (proto/METRICS.md) that has the distribution of the filter latency.
// Notes of the report name it, so that a reader can query the same series.
const hookHistogram = "bullet_filter_latency_seconds"

// The names of the host whose processors were measured: either everything ran on it, or only tune run.
const (
	theHost    = "host"
	theRunHost = "tune run's host"
)

// hostIdle is the name of the figure.
const hostIdle = "host idle"

// WorkerHosts is the caveat of runs whose workers run on other machines than tune run.
const WorkerHosts = "The worker hosts were not measured. The host in the figures is the one of tune run, on which no worker runs, so it excuses no missed goal. Check yourself whether the worker hosts had idle CPU. The CPU of the workers was measured."

// hostOfRun reports whether the measured host runs only the load. A topology that was launched by a command runs on a
// cluster, whose hosts are not measured.
func hostOfRun(p runstore.Plan) bool { return p.Launch == "command" }

// idleHead returns the heading of a column with the idle share of a host.
func idleHead(host string) string {
	if host == theHost {
		return "Host idle"
	}
	return "Idle on tune run's host"
}

// withArticle returns the name of a host for a sentence, with an article if it is not a possessive.
func withArticle(host string) string {
	if host == theHost {
		return "the " + host
	}
	return host
}
