package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
)

// loadResult is a run's result as JSON. Units end the names; what is not known is null.
type loadResult struct {
	Target   string  `json:"target"`
	URL      string  `json:"url"`
	Class    string  `json:"class"`
	Query    string  `json:"query"`
	Rate     float64 `json:"rate_per_second,omitempty"`
	Held     int     `json:"held,omitempty"`
	BeganMs  int64   `json:"began_ms"`
	EndMs    int64   `json:"end_ms"`
	Queries  counted `json:"queries"`
	Achieved float64 `json:"returned_per_second"`

	Latency     quantiles `json:"latency"`
	LowerBounds int       `json:"latency_lower_bounds"`
	Lateness    quantiles `json:"client_lateness"`
	ClientLimit string    `json:"client_limit,omitempty"`

	Completeness completeness      `json:"completeness"`
	Errors       []load.ErrorCount `json:"errors"`
	Thresholds   []load.Judged     `json:"thresholds"`
	Timeline     []load.Moment     `json:"timeline"`

	Part  string       `json:"part,omitempty"`  // of several, which this client asked
	Parts []partResult `json:"parts,omitempty"` // of a merged run
}

// partResult is what one of several clients did.
type partResult struct {
	Part       string    `json:"part"`
	File       string    `json:"file"`
	Due        int       `json:"due"`
	Submitted  int       `json:"submitted"`
	Lateness   quantiles `json:"client_lateness"`
	Processors int       `json:"processors"`
}

type counted struct {
	Due          int `json:"due"`
	Submitted    int `json:"submitted"`
	NotSubmitted int `json:"not_submitted"`
	Returned     int `json:"returned"`
	Failed       int `json:"failed"`
	// Refused are those of the failed that the target turned away for want of room.
	Refused    int `json:"refused"`
	TimedOut   int `json:"timed_out"`
	Unfinished int `json:"unfinished"`
	CutOff     int `json:"cut_off"`
	// InFlightMost is the most that this client had under way at a time.
	InFlightMost int `json:"in_flight_most"`
	// ActiveMost is the most that the topology counted, up to ActiveUntilMs: what is stored of the run by its end.
	ActiveMost    *float64 `json:"active_most"`
	ActiveUntilMs *int64   `json:"active_until_ms"`
}

type quantiles struct {
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

type completeness struct {
	Ratio      *float64 `json:"ratio"`
	Judged     int      `json:"judged_queries"`
	Incomplete int      `json:"incomplete_queries"`
	Records    int      `json:"returned_records"`
	Due        int      `json:"due_records"`
	Missing    int      `json:"missing_records"`
	Repeated   int      `json:"repeated_records"`
	Foreign    int      `json:"foreign_records"`
}

// known is a number that JSON can hold.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func millis(q load.Quantiles) quantiles {
	ms := func(seconds float64) *float64 { return known(math.Round(seconds*1e6) / 1e3) }
	return quantiles{Count: q.Count, Least: ms(q.Least), Mean: ms(q.Mean), P50: ms(q.P50), P90: ms(q.P90),
		P95: ms(q.P95), P99: ms(q.P99), P999: ms(q.P999), Most: ms(q.Most)}
}

// loadFigures are those of a run that has ended, of one client or of several together.
type loadFigures struct {
	load.Run
	tally        *load.Tally
	moments      []load.Moment
	began, end   time.Time
	peakInFlight int          // the most queries that were under way at a time
	active       *load.Active // what the topology counted; nil where that is not known
	limit        string       // which client did not keep up; "" for none
	parts        []partResult
}

func (f *loadFigures) result(bounds []load.Threshold) loadResult {
	t := f.tally.Result()
	out := loadResult{
		Target: f.Target, URL: f.URL, Class: string(f.Class), Query: f.Query, Rate: f.Rate, Held: f.Held,
		BeganMs: f.began.UnixMilli(), EndMs: f.end.UnixMilli(),
		Achieved: math.Round(float64(t.Returned)/f.end.Sub(f.began).Seconds()*1000) / 1000,
		Queries: counted{
			Due: t.Submitted() + t.NotSubmitted, Submitted: t.Submitted(), NotSubmitted: t.NotSubmitted,
			Returned: t.Returned, Failed: t.Failed, Refused: t.Refused,
			TimedOut: t.TimedOut, Unfinished: t.Unfinished, CutOff: t.CutOff, InFlightMost: f.peakInFlight,
		},
		Latency: millis(t.Latency), LowerBounds: t.LowerBounds, Lateness: millis(t.Lateness),
		ClientLimit: f.limit,
		Completeness: completeness{
			Ratio: known(t.Completeness()), Judged: t.Judged, Incomplete: t.Incomplete, Records: t.Records, Due: t.Due,
			Missing:  t.Missing,
			Repeated: t.Repeated, Foreign: t.Foreign,
		},
		Errors: append([]load.ErrorCount{}, t.Errors...), Thresholds: []load.Judged{},
		Timeline: append([]load.Moment{}, f.moments...), Parts: f.parts,
	}
	if !f.Part.Whole() {
		out.Part = f.Part.String()
	}
	if f.active != nil {
		out.Queries.ActiveMost, out.Queries.ActiveUntilMs = &f.active.Most, &f.active.UntilMs
	}
	for _, bound := range bounds {
		out.Thresholds = append(out.Thresholds, bound.Judge(t))
	}
	return out
}

// give writes the figures as they are to be presented. Crossed thresholds are an error.
func (f *loadFigures) give(out io.Writer, p loadPresentation) error {
	if err := f.write(p); err != nil {
		return err
	}
	result := f.result(p.bounds)
	crossed := 0
	for _, judged := range result.Thresholds {
		if !judged.Kept {
			crossed++
		}
	}
	print := func() error { return result.text(out, f.title()) }
	if p.output == outputJSON {
		print = func() error { return printJSON(out, result) }
	}
	if err := print(); err != nil || crossed == 0 {
		return err
	}
	return thresholdsCrossed(crossed)
}

// write writes the histogram and the picture.
func (f *loadFigures) write(p loadPresentation) error {
	latencies := f.tally.Latencies()
	if p.histogram != "" {
		file, err := os.Create(p.histogram)
		if err != nil {
			return err
		}
		if err := errors.Join(load.WriteHistogram(file, p.histogram, latencies, f.began, f.end),
			file.Close()); err != nil {
			return fmt.Errorf("write %s: %w", p.histogram, err)
		}
	}
	if p.picture == "" {
		return nil
	}
	var shares, seconds []float64
	for _, p := range load.Points(latencies) {
		shares, seconds = append(shares, p.Share), append(seconds, p.Seconds)
	}
	figure := report.LatencyChart("load", f.title(), shares, seconds)
	draw := figure.PNG
	if filepath.Ext(p.picture) == ".svg" {
		draw = figure.SVG
	}
	picture, err := draw()
	if err != nil {
		return fmt.Errorf("draw %s: %w", p.picture, err)
	}
	return os.WriteFile(p.picture, picture, 0o644)
}

// title states what was run.
func (f *loadFigures) title() string {
	what := fmt.Sprintf("%d held", f.Held)
	if f.Rate > 0 {
		what = fmt.Sprintf("%g/s", f.Rate)
	}
	if !f.Part.Whole() {
		what += ", part " + f.Part.String()
	}
	return fmt.Sprintf("%s queries, %s, for %s", f.Class, what, f.end.Sub(f.began).Round(time.Second))
}

// clientLimit states in words whether a client kept the rate; lateP99 is in seconds.
func clientLimit(client string, lateP99 float64, processors int) string {
	const bound = 0.1 // seconds, as internal/lab/tuning has it
	if lateP99 > bound {
		return fmt.Sprintf("%s was the limit: it started queries up to %.0f ms late (p99); give it more than the %d processors that it has, or less to do",
			client, lateP99*1000, processors)
	}
	return ""
}

// text writes the result for people.
func (r loadResult) text(out io.Writer, title string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(table, "%s through %s at %s\n\n", title, r.Target, r.URL)
	q := r.Queries
	row("submitted", "%d of %d due, %d not submitted", q.Submitted, q.Due, q.NotSubmitted)
	row("returned", "%d, %.4g a second", q.Returned, r.Achieved)
	row("failed", "%d, timed out %d, unfinished %d, cut off at the end %d", q.Failed, q.TimedOut,
		q.Unfinished, q.CutOff)
	if q.Refused > 0 {
		row("refused", "%d of the failed: the target has no room for more (429, 503)", q.Refused)
	}
	row("in flight", "%d at most", q.InFlightMost)
	if q.ActiveMost != nil {
		row("active", "%.0f at most in the topology, by what is stored up to %s before the end", *q.ActiveMost,
			time.Duration(r.EndMs-*q.ActiveUntilMs)*time.Millisecond)
	}
	if r.LowerBounds > 0 {
		row("no answer", "%d queries; they count below with how long they took at least", r.LowerBounds)
	}
	c := r.Completeness
	switch {
	case c.Ratio == nil:
		row("completeness", "unknown: no record was due in any query")
	default:
		row("completeness", "%.6g%%: %d of %d records due, in %d queries, %d of them incomplete", 100**c.Ratio,
			c.Due-c.Missing, c.Due, c.Judged, c.Incomplete)
	}
	if c.Repeated+c.Foreign > 0 {
		row("", "%d records repeated, %d that no query asked for", c.Repeated, c.Foreign)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(table, "\nms\tmin\tmean\tp50\tp90\tp95\tp99\tp99.9\tmax\n")
	fmt.Fprintf(table, "latency\t%s\n", r.Latency.text())
	fmt.Fprintf(table, "client late\t%s\n", r.Lateness.text())
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Parts) > 0 {
		fmt.Fprintf(table, "\npart\tsubmitted\tdue\tlate p99 (ms)\tlate max (ms)\tprocessors\tfile\n")
		for _, p := range r.Parts {
			fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%d\t%s\n", p.Part, p.Submitted, p.Due, digits(p.Lateness.P99),
				digits(p.Lateness.Most), p.Processors, p.File)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(r.Errors)+len(r.Thresholds) > 0 || r.ClientLimit != "" {
		fmt.Fprintln(out)
	}
	for i, e := range r.Errors {
		if i == 5 {
			row("error", "%d more kinds; --output json lists them", len(r.Errors)-i)
			break
		}
		row("error", "%d times: %.300s", e.Count, e.Error)
	}
	if r.ClientLimit != "" {
		row("limit", "%s", r.ClientLimit)
	}
	for _, judged := range r.Thresholds {
		mark := "✓"
		if !judged.Kept {
			mark = "✗"
		}
		row("threshold", "%s %s  (%s)", mark, judged.Threshold, judged.Shown)
	}
	return table.Flush()
}

// text is the row of a table.
func (q quantiles) text() string {
	var cells []string
	for _, v := range []*float64{q.Least, q.Mean, q.P50, q.P90, q.P95, q.P99, q.P999, q.Most} {
		cells = append(cells, digits(v))
	}
	return strings.Join(cells, "\t")
}

// digits writes a number of ms with as many digits as mean something.
func digits(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 100:
		return fmt.Sprintf("%.0f", *v)
	}
	return fmt.Sprintf("%.3g", *v)
}
