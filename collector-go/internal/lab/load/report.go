package load

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Report is a run that has ended, of one client or of several together. Figures and Title are computed from it. The
// command that ran the queries fills it in; MergeFiles creates one from the outcome files of several clients.
type Report struct {
	Run
	Tally      *Tally
	Moments    []Moment
	Began, End time.Time
	// PeakInFlight is the largest number of queries in flight.
	PeakInFlight int
	// Active is the topology's own count of active queries; nil if unknown.
	Active *Active
	// ClientLimit states which client did not keep up with its schedule; "" if all did. Otherwise the latencies
	// contain delays of the client.
	ClientLimit string
	Parts       []PartFigures // of a merged run
}

// Figures returns the report's figures with a verdict for each threshold.
func (r *Report) Figures(bounds []Threshold) Figures {
	t := r.Tally.Result()
	out := Figures{
		Target: r.Target, URL: r.URL, Class: string(r.Class), Query: r.Query, Rate: r.Rate, Concurrent: r.Concurrent,
		BeganMs: r.Began.UnixMilli(), EndMs: r.End.UnixMilli(),
		Achieved: math.Round(float64(t.Returned)/r.End.Sub(r.Began).Seconds()*1000) / 1000,
		Queries: QueryCounts{
			Scheduled: t.Submitted() + t.NotSubmitted, Submitted: t.Submitted(), NotSubmitted: t.NotSubmitted,
			Returned: t.Returned, Failed: t.Failed, Refused: t.Refused,
			TimedOut: t.TimedOut, Unfinished: t.Unfinished, CutOff: t.CutOff, InFlightMost: r.PeakInFlight,
		},
		Latency: t.Latency.InMilliseconds(), LowerBounds: t.LowerBounds, Lateness: t.Lateness.InMilliseconds(),
		ClientLimit:  r.ClientLimit,
		Completeness: CompletenessFigures{Known(t.Completeness()), t.RecordCounts},
		Errors:       append([]ErrorCount{}, t.Errors...),
		Thresholds:   tuning.Each(bounds, func(b Threshold) ThresholdResult { return b.Judge(t) }),
		Timeline:     append([]Moment{}, r.Moments...), Parts: r.Parts,
	}
	if !r.Part.Whole() {
		out.Part = r.Part.String()
	}
	if r.Active != nil {
		out.Queries.ActiveMost, out.Queries.ActiveUntilMs = &r.Active.Most, &r.Active.UntilMs
	}
	return out
}

// Title describes the run in one line.
func (r *Report) Title() string {
	what := fmt.Sprintf("%d held", r.Concurrent)
	if r.Rate > 0 {
		what = fmt.Sprintf("%g/s", r.Rate)
	}
	if !r.Part.Whole() {
		what += ", part " + r.Part.String()
	}
	return fmt.Sprintf("%s queries, %s, for %s", r.Class, what, r.End.Sub(r.Began).Round(time.Second))
}

// ClientLimit states that a client could not keep its schedule, "" if it could. lateP99 is in seconds. A late client
// makes latencies look worse than the topology is, so the reader must know.
func ClientLimit(client string, lateP99 float64, processors int) string {
	const bound = 0.1 // seconds, as in internal/lab/tuning
	if lateP99 > bound {
		return fmt.Sprintf("%s was the limit: it started queries up to %.0f ms late (p99); use more than its %d processors, or reduce the load",
			client, lateP99*1000, processors)
	}
	return ""
}

// Figures are a run's result as JSON, which other programs read: keys and units are a stored format. A number that is
// unknown is null, because JSON has no NaN.
type Figures struct {
	Target     string      `json:"target"`
	URL        string      `json:"url"`
	Class      string      `json:"class"`
	Query      string      `json:"query"`
	Rate       float64     `json:"rate_per_second,omitempty"`
	Concurrent int         `json:"held,omitempty"`
	BeganMs    int64       `json:"began_ms"`
	EndMs      int64       `json:"end_ms"`
	Queries    QueryCounts `json:"queries"`
	Achieved   float64     `json:"returned_per_second"`

	Latency     Milliseconds `json:"latency"`
	LowerBounds int          `json:"latency_lower_bounds"`
	Lateness    Milliseconds `json:"client_lateness"`
	ClientLimit string       `json:"client_limit,omitempty"`

	Completeness CompletenessFigures `json:"completeness"`
	Errors       []ErrorCount        `json:"errors"`
	Thresholds   []ThresholdResult   `json:"thresholds"`
	Timeline     []Moment            `json:"timeline"`

	Part  string        `json:"part,omitempty"`  // set if this client ran one of several parts
	Parts []PartFigures `json:"parts,omitempty"` // set in a merged run
}

// PartFigures are the figures of one of several clients. They show a client that was late or ended early, which the
// sums hide.
type PartFigures struct {
	Part       string       `json:"part"`
	File       string       `json:"file"`
	Scheduled  int          `json:"due"`
	Submitted  int          `json:"submitted"`
	Lateness   Milliseconds `json:"client_lateness"`
	Processors int          `json:"processors"`
}

// QueryCounts are how many queries were scheduled, and how each of them ended.
type QueryCounts struct {
	Scheduled    int `json:"due"`
	Submitted    int `json:"submitted"`
	NotSubmitted int `json:"not_submitted"`
	Returned     int `json:"returned"`
	Failed       int `json:"failed"`
	// Refused is the number of failed queries that the target refused because it was full.
	Refused    int `json:"refused"`
	TimedOut   int `json:"timed_out"`
	Unfinished int `json:"unfinished"`
	CutOff     int `json:"cut_off"`
	// InFlightMost is the largest number of queries that this client had in flight.
	InFlightMost int `json:"in_flight_most"`
	// ActiveMost is the largest number of active queries that the topology counted, up to ActiveUntilMs. Later slices
	// were not stored when the run ended.
	ActiveMost    *float64 `json:"active_most"`
	ActiveUntilMs *int64   `json:"active_until_ms"`
}

// Milliseconds are Quantiles in ms, rounded to three decimals.
type Milliseconds struct {
	Count int      `json:"count"`
	Least *float64 `json:"min_ms"`
	Mean  *float64 `json:"mean_ms"`
	P50   *float64 `json:"p50_ms"`
	P90   *float64 `json:"p90_ms"`
	P95   *float64 `json:"p95_ms"`
	P99   *float64 `json:"p99_ms"`
	P999  *float64 `json:"p999_ms"`
	Most  *float64 `json:"max_ms"`
}

// CompletenessFigures count expected and returned records over the queries whose completeness is known.
type CompletenessFigures struct {
	Ratio *float64 `json:"ratio"`
	RecordCounts
}

// Known returns a number for JSON: nil, which becomes null, for NaN and the infinities.
func Known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// InMilliseconds converts quantiles in seconds.
func (q Quantiles) InMilliseconds() Milliseconds {
	ms := func(seconds float64) *float64 { return Known(math.Round(seconds*1e6) / 1e3) }
	return Milliseconds{Count: q.Count, Least: ms(q.Least), Mean: ms(q.Mean), P50: ms(q.P50), P90: ms(q.P90),
		P95: ms(q.P95), P99: ms(q.P99), P999: ms(q.P999), Most: ms(q.Most)}
}

// Text returns the result as text: counts, a table of latencies, the parts, errors and thresholds.
func (r Figures) Text(title string) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(table, "%s through %s at %s\n\n", title, r.Target, r.URL)
	r.counts(row)
	table.Flush()
	fmt.Fprintf(table, "\nms\tmin\tmean\tp50\tp90\tp95\tp99\tp99.9\tmax\n")
	fmt.Fprintf(table, "latency\t%s\n", r.Latency.text())
	fmt.Fprintf(table, "client delay\t%s\n", r.Lateness.text())
	table.Flush()
	if len(r.Parts) > 0 {
		fmt.Fprintf(table, "\npart\tsubmitted\tdue\tlate p99 (ms)\tlate max (ms)\tprocessors\tfile\n")
		for _, p := range r.Parts {
			fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%d\t%s\n", p.Part, p.Submitted, p.Scheduled, Digits(p.Lateness.P99),
				Digits(p.Lateness.Most), p.Processors, p.File)
		}
		table.Flush()
	}
	if len(r.Errors)+len(r.Thresholds) > 0 || r.ClientLimit != "" {
		out.WriteByte('\n')
	}
	r.problems(row)
	table.Flush()
	return out.String()
}

// counts writes how the queries ended, and how complete the answers were.
func (r Figures) counts(row func(name, format string, args ...any)) {
	q := r.Queries
	row("submitted", "%d of %d due, %d not submitted", q.Submitted, q.Scheduled, q.NotSubmitted)
	row("returned", "%d, %.4g a second", q.Returned, r.Achieved)
	row("failed", "%d, timed out %d, unfinished %d, cut off at the end %d", q.Failed, q.TimedOut,
		q.Unfinished, q.CutOff)
	if q.Refused > 0 {
		row("refused", "%d of the failed: the target has no room for more (429, 503)", q.Refused)
	}
	row("in flight", "%d at most", q.InFlightMost)
	if q.ActiveMost != nil {
		row("active", "at most %.0f in the topology; the collector's data ends %s before the end of the load", *q.ActiveMost,
			time.Duration(r.EndMs-*q.ActiveUntilMs)*time.Millisecond)
	}
	if r.LowerBounds > 0 {
		row("no answer", "%d queries; they count below with how long they took at least", r.LowerBounds)
	}
	if c := r.Completeness; c.Ratio == nil {
		row("completeness", "unknown: no record was due in any query")
	} else {
		row("completeness", "%.6g%%: %d of %d records due, in %d queries, %d of them incomplete", 100**c.Ratio,
			c.Expected-c.Missing, c.Expected, c.Checked, c.Incomplete)
	}
	if c := r.Completeness; c.Repeated+c.Foreign > 0 {
		row("", "%d records repeated, %d that no query asked for", c.Repeated, c.Foreign)
	}
}

// shownErrors bounds the kinds of errors in the text; the JSON contains all kinds that the tally kept.
const shownErrors = 5

// problems writes the errors, a late client, and the thresholds.
func (r Figures) problems(row func(name, format string, args ...any)) {
	for i, e := range r.Errors {
		if i == shownErrors {
			row("error", "%d more kinds; --output json lists them", len(r.Errors)-i)
			break
		}
		row("error", "%d times: %.300s", e.Count, e.Error)
	}
	if r.ClientLimit != "" {
		row("limit", "%s", r.ClientLimit)
	}
	for _, result := range r.Thresholds {
		mark := map[bool]string{true: "✓", false: "✗"}[result.Kept]
		row("threshold", "%s %s  (%s)", mark, result.Threshold, result.Shown)
	}
}

// Crossed returns how many thresholds the run did not keep.
func (r Figures) Crossed() (n int) {
	for _, result := range r.Thresholds {
		if !result.Kept {
			n++
		}
	}
	return n
}

// text returns the cells of a table's row.
func (q Milliseconds) text() string {
	var cells []string
	for _, v := range []*float64{q.Least, q.Mean, q.P50, q.P90, q.P95, q.P99, q.P999, q.Most} {
		cells = append(cells, Digits(v))
	}
	return strings.Join(cells, "\t")
}

// Digits formats a number of ms with three significant digits, or with all digits before the point if it is 100 or
// more.
func Digits(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 100:
		return fmt.Sprintf("%.0f", *v)
	}
	return fmt.Sprintf("%.3g", *v)
}
