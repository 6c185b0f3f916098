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

// Figure is a number that may be unknown: NaN here, null in JSON. It is tuning's own type, so that no figure is
// converted on its way from a step to a table.
type Figure = tuning.Figure

// Unknown is the figure that is not known.
var Unknown = tuning.Unknown

const (
	minuteMs = int64(time.Minute / time.Millisecond)
	mib      = 1 << 20
)

// filterLatencyMs are the means of each filter task over (fromMs, toMs], in ms. Bullet reports a mean for each task and
// interval, so these are means of means; percentiles come from the hook's histogram.
func filterLatencyMs(run *runstore.Figures, fromMs, toMs int64) []Figure {
	span := runstore.Span{From: fromMs, To: toMs}
	return each(run.FilterLatencySeconds, func(task runstore.Slices) Figure { return span.Mean(task) * 1000 })
}

// each maps a list. The result is never nil, so that JSON has [] and not null.
//
// Most tables, charts and sentences are made of lists this way; a loop is left where it filters or has several results.
func each[T, U any](all []T, of func(T) U) []U {
	out := make([]U, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}

// values are figures as a chart takes them.
func values(figures []Figure) []float64 {
	return each(figures, func(f Figure) float64 { return float64(f) })
}

// msPerMinute is what a total of seconds rose by in the slice that ends at endMs, as milliseconds a minute.
func msPerMinute(total runstore.Slices, endMs, sliceMs int64) Figure {
	return total.Rise(endMs, sliceMs) * 1000 * Figure(minuteMs) / Figure(sliceMs)
}

// totalOrUnknown is the sum of figures. It is unknown of nothing, and where one of them is: a sum with a part missing
// is no sum.
func totalOrUnknown(figures []Figure) Figure {
	if len(figures) == 0 {
		return Unknown
	}
	sum := Figure(0)
	for _, f := range figures {
		sum += f
	}
	return sum
}

// largest is the largest figure that is known; unknown if none is.
func largest(figures []Figure) Figure {
	most := Unknown
	for _, f := range figures {
		most = tuning.Greater(most, f)
	}
	return most
}

// number writes a figure with a fixed number of decimals, for columns whose rows a reader compares digit by digit.
// Other figures are written by tuning.Digits.
func number(f Figure, decimals int) string {
	if !f.Known() {
		return document.Unknown
	}
	return tuning.Grouped(strconv.FormatFloat(float64(f), 'f', decimals, 64))
}

// grouped writes a whole number.
func grouped(n int) string { return tuning.Grouped(strconv.Itoa(n)) }

// counted is "1 trial", "2 trials".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", grouped(n), what)
}

// knownOr is a cell that is Unknown unless something is known. The cell is computed only then, so that it may use a
// pointer that is nil otherwise.
func knownOr(known bool, cell func() string) string {
	if !known {
		return document.Unknown
	}
	return cell()
}

// settingText is a setting's value in a cell; nil where the setting is not there, which is not the same as an empty
// one.
func settingText(value *string) string {
	if value == nil {
		return document.Unknown
	}
	return *value
}

// yesNo is an answer in a cell.
func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// timesText is "once", "twice", "3 times".
func timesText(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// digitsColumn is a column of figures, each with the digits that matter (tuning.Digits).
func digitsColumn[T any](head, unit string, figure func(T) Figure) document.Of[T] {
	return document.Number(head, unit, func(row T) string { return tuning.Digits(figure(row)) })
}

// figureColumn is a column of figures with so many decimals. The digits of its rows stand below each other.
func figureColumn[T any](head, unit string, decimals int, figure func(T) Figure) document.Of[T] {
	return document.Number(head, unit, func(row T) string { return number(figure(row), decimals) })
}

// percentColumn is a column of ratios.
func percentColumn[T any](head string, ratio func(T) Figure) document.Of[T] {
	return document.Number(head, "", func(row T) string { return tuning.Percent(ratio(row)) })
}

// countColumn is a column of whole numbers.
func countColumn[T any](head string, count func(T) int) document.Of[T] {
	return document.Number(head, "", func(row T) string { return strconv.Itoa(count(row)) })
}

// samples writes a number of samples.
func samples(n uint64) string { return number(Figure(n), 0) }

// samplesColumn is a column of numbers of samples.
func samplesColumn[T any](head string, count func(T) uint64) document.Of[T] {
	return document.Number(head, "", func(row T) string { return samples(count(row)) })
}

// roundedMs writes a percentile of what was measured in whole milliseconds. Digits between these come from the
// interpolation in the histogram, so they are not shown.
func roundedMs(ms Figure) string {
	return tuning.TwoDigits(Figure(math.Round(float64(ms))))
}

// simultaneousQueries names the axis of most runs in tables, charts and sentences.
const simultaneousQueries = "simultaneous queries"

// axisNames are what steps ascend along, as people call it.
var axisNames = map[runstore.Axis]string{
	runstore.Queries: simultaneousQueries, runstore.QueriesPerSecond: "queries/s", runstore.RecordsPerSecond: "records/s",
}

// stepName is the name of a step in every table, figure and sentence. It contains what distinguishes the step from
// others at the same load: whether it was for the cost, and which attempt it was.
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

// Spread is a figure over several launches of one configuration. Each launch's own mean is one value, so the spread is
// that between launches and not that between slices.
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

// hookHistogram is the filter latency as a distribution, from the latency hook (proto/METRICS.md). Notes of the report
// name it, so that a reader can query the same series.
const hookHistogram = "bullet_filter_latency_seconds"

// percentilesOf are the percentiles that a step was judged by; nil where it was by none. Runs from before the
// percentiles were stored have them in the outcomes of their goals alone.
func percentilesOf(outcomes []tuning.GoalOutcome) *runstore.Percentiles {
	p := runstore.Percentiles{Records: Unknown, P50Ms: Unknown, P95Ms: Unknown, P99Ms: Unknown}
	percentiles := map[tuning.Statistic]*Figure{tuning.P50: &p.P50Ms, tuning.P95: &p.P95Ms, tuning.P99: &p.P99Ms}
	found := false
	for _, o := range outcomes {
		at := percentiles[o.Goal.Statistic]
		if o.Goal.Figure == tuning.FilterLatency && at != nil && o.Measured.Known() {
			*at, found = o.Measured, true
		}
	}
	if !found {
		return nil
	}
	return &p
}

// A host whose processors were looked at is the one that everything ran on, or tune run's alone, and is called so.
const (
	theHost    = "host"
	theRunHost = "tune run's host"
)

// hostIdle names the figure where it stands for itself.
const hostIdle = "host idle"

// WorkerHosts is the caveat of runs whose workers run on other machines than tune run.
const WorkerHosts = "Worker hosts: not measured. The host of the figures is tune run's, on which no worker runs: " +
	"it excuses no missed goal, and whether the workers' machines had processors to spare is for you to look up. " +
	"The workers' own CPU is measured."

// hostOfRun reports whether the host whose processors were measured runs the load alone. A topology that was launched
// by a command runs on a cluster, whose hosts nobody looks at.
func hostOfRun(p runstore.Plan) bool { return p.Launch == "command" }

// idleHead heads a column of a host's idle.
func idleHead(host string) string {
	if host == theHost {
		return "Host idle"
	}
	return "Idle on tune run's host"
}

// withArticle names a host in a sentence: one that has no owner has an article.
func withArticle(host string) string {
	if host == theHost {
		return "the " + host
	}
	return host
}
