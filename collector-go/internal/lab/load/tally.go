package load

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Bounds of the histograms. Three digits from 1 µs to one day take 180 KiB.
const (
	leastLatencyUs = 1
	mostLatencyUs  = int64(24 * time.Hour / time.Microsecond)
	latencyDigits  = 3
)

// maxErrors bounds the different errors that a tally keeps separately; further ones are counted together as
// otherErrors.
const (
	maxErrors   = 50
	otherErrors = "other errors"
)

// Tally aggregates the outcomes of any number of queries in constant memory: latencies go into a histogram, and only a
// bounded number of different errors is kept. It is safe for concurrent use.
type Tally struct {
	mu        sync.Mutex
	ends      Ends
	latencies *hdrhistogram.Histogram // scheduled queries, µs; lower bounds for queries without an answer
	lateness  *hdrhistogram.Histogram // of the client itself, µs
	lower     int                     // number of latencies that are lower bounds
	refused   int                     // part of the failed queries
	errors    map[string]int
	records   RecordCounts
}

// RecordCounts count the records of the queries that returned. Checked is the number of queries whose completeness is
// known. In these, Expected records had to come back, and Missing did not. Records, Repeated and Foreign are over all
// queries.
type RecordCounts struct {
	Checked    int `json:"judged_queries"`
	Incomplete int `json:"incomplete_queries"`
	Records    int `json:"returned_records"`
	Expected   int `json:"due_records"`
	Missing    int `json:"missing_records"`
	Repeated   int `json:"repeated_records"`
	Foreign    int `json:"foreign_records"`
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{
		errors:    map[string]int{},
		latencies: hdrhistogram.New(leastLatencyUs, mostLatencyUs, latencyDigits),
		lateness:  hdrhistogram.New(leastLatencyUs, mostLatencyUs, latencyDigits),
	}
}

// Add counts an outcome. It can be used as a client's observe function.
func (t *Tally) Add(o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends.add(o.End)
	if o.Refused {
		t.refused++
	}
	switch o.End {
	case Returned:
		t.latency(o)
		t.records.add(o)
	case TimedOut, Unfinished, NotSubmitted:
		t.latency(o)
	case Failed, CutOff: // see Latencies for the reason
	}
	if o.End != NotSubmitted {
		_ = t.lateness.RecordValue(bounded(o.LateUs))
	}
	if o.Error != "" && o.End != CutOff && o.End != Unfinished {
		text := o.Error
		if _, known := t.errors[text]; !known && len(t.errors) >= maxErrors {
			text = otherErrors
		}
		t.errors[text]++
	}
}

func (t *Tally) latency(o Outcome) {
	_ = t.latencies.RecordValue(bounded(o.Latency().Microseconds())) // cannot fail within the bounds
	if o.End.lowerBound() {
		t.lower++
	}
}

func (c *RecordCounts) add(o Outcome) {
	c.Records += o.Records
	c.Repeated += o.Repeated
	c.Foreign += o.Foreign
	if o.Expected == 0 {
		return
	}
	c.Checked++
	c.Expected += o.Expected
	c.Missing += min(o.Missing, o.Expected)
	if o.Missing > 0 {
		c.Incomplete++
	}
}

func bounded(us int64) int64 { return min(max(us, leastLatencyUs), mostLatencyUs) }

// Result is the aggregate of a tally. Latencies are in seconds, NaN if there are none.
type Result struct {
	Ends
	// Refused is the number of Failed queries that the target refused because it was full.
	Refused int
	// Latency is over all queries that had to return. Queries without an answer count with a lower bound; LowerBounds
	// is their number.
	Latency     Quantiles
	LowerBounds int
	// Lateness is how late the client itself submitted its queries.
	Lateness Quantiles
	RecordCounts
	// Errors are sorted by frequency, the most frequent first.
	Errors []ErrorCount
}

// Quantiles describe a distribution, in seconds.
type Quantiles struct {
	Count                                 int
	Least, Mean, P50, P90, P95, P99, P999 float64
	Most                                  float64
}

// ErrorCount is the number of queries that failed with one error.
type ErrorCount struct {
	Error string `json:"error"`
	Count int    `json:"count"`
}

// Completeness returns the share of the expected records that came; NaN if none was expected.
func (r Result) Completeness() float64 {
	if r.Expected == 0 {
		return math.NaN()
	}
	return 1 - float64(r.Missing)/float64(r.Expected)
}

// Submitted returns the number of submitted queries.
func (r Result) Submitted() int { return r.Returned + r.Failed + r.TimedOut + r.Unfinished + r.CutOff }

// FailedShare returns the share of queries without a valid answer: failed, timed out, unfinished or not submitted.
// Queries that were cut off are left out.
func (r Result) FailedShare() float64 {
	bad := r.Failed + r.TimedOut + r.Unfinished + r.NotSubmitted
	return float64(bad) / float64(bad+r.Returned)
}

// Result returns the current aggregate.
func (t *Tally) Result() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Result{
		Ends: t.ends, Refused: t.refused, Latency: quantiles(t.latencies),
		LowerBounds: t.lower, Lateness: quantiles(t.lateness), RecordCounts: t.records,
	}
	for _, text := range slices.Sorted(maps.Keys(t.errors)) {
		r.Errors = append(r.Errors, ErrorCount{text, t.errors[text]})
	}
	slices.SortStableFunc(r.Errors, func(a, b ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	return r
}

// Latencies returns a copy of the histogram of latencies, in µs.
func (t *Tally) Latencies() *hdrhistogram.Histogram {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latencies.Clone()
}

func quantiles(h *hdrhistogram.Histogram) Quantiles {
	if h.TotalCount() == 0 {
		none := math.NaN()
		return Quantiles{Least: none, Mean: none, P50: none, P90: none, P95: none, P99: none, P999: none, Most: none}
	}
	at := func(percent float64) float64 { return float64(h.ValueAtQuantile(percent)) / 1e6 }
	return Quantiles{
		Count: int(h.TotalCount()), Least: float64(h.Min()) / 1e6, Mean: h.Mean() / 1e6,
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9), Most: float64(h.Max()) / 1e6,
	}
}

// Moment holds the counts of a client at one time.
type Moment struct {
	TimeMs int64 `json:"time_ms"`
	Counts
	// P99Ms is over all queries that have ended; nil if none has.
	P99Ms *float64 `json:"p99_ms"`
}

// Timeline records the counts of a client over time. It is safe for concurrent use.
type Timeline struct {
	mu      sync.Mutex
	moments []Moment
	every   int // only each such moment is kept
	given   int
}

// maxMoments bounds the size of a timeline: when it is reached, every other moment is dropped.
const maxMoments = 7200

// Watch records the counts of a client once per period until ctx ends. If show is not nil, it receives each moment.
func (t *Timeline) Watch(ctx context.Context, period time.Duration, client Client, tally *Tally, show func(Moment)) {
	poll.Ticks(ctx, period, func(now time.Time) {
		moment := t.note(now, client.Counts(), tally)
		if show != nil {
			show(moment)
		}
	})
}

// note adds a moment to the timeline and returns it.
func (t *Timeline) note(at time.Time, counts Counts, tally *Tally) Moment {
	moment := Moment{TimeMs: at.UnixMilli(), Counts: counts}
	if p99 := tally.Result().Latency.P99 * 1000; !math.IsNaN(p99) {
		moment.P99Ms = &p99
	}
	t.add(moment)
	return moment
}

func (t *Timeline) add(m Moment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.every = max(1, t.every)
	if t.given++; t.given%t.every != 0 {
		return
	}
	t.moments = append(t.moments, m)
	if len(t.moments) >= maxMoments {
		kept := t.moments[:0]
		for i := 1; i < len(t.moments); i += 2 {
			kept = append(kept, t.moments[i])
		}
		t.moments, t.every = kept, 2*t.every
	}
}

// Moments returns the moments recorded so far, in the order of time.
func (t *Timeline) Moments() []Moment {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Moment(nil), t.moments...)
}

// Point is a point of a cumulative distribution: Count queries had a latency of at most Seconds.
type Point struct {
	Share   float64 // 0 to 1
	Seconds float64
	Count   int64
}

// ticks is the number of points of a distribution per halving of the distance to 100%.
const ticks = 5

// Points returns a histogram's cumulative distribution, with finer steps towards its end.
func Points(h *hdrhistogram.Histogram) (points []Point) {
	for _, b := range h.CumulativeDistributionWithTicks(ticks) {
		points = append(points, Point{Share: b.Quantile / 100, Seconds: float64(b.ValueAt) / 1e6, Count: b.Count})
	}
	return points
}

// WriteHistogram writes a histogram of µs in the format of the file's extension. .csv has percentiles with a header
// line, .hgrm is HdrHistogram's text (ms), and .hlog is its log, which its tools merge and plot.
func WriteHistogram(w io.Writer, name string, h *hdrhistogram.Histogram, from, to time.Time) error {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return writeCSV(w, h)
	case ".hgrm":
		_, err := h.PercentilesPrint(w, ticks, 1000)
		return err
	case ".hlog":
		return writeLog(w, h, from, to)
	}
	return fmt.Errorf("%s: use a file name that ends in .csv, .hgrm or .hlog", name)
}

func writeCSV(w io.Writer, h *hdrhistogram.Histogram) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"percentile", "latency_seconds", "count"}) // Flush returns the first error
	for _, p := range Points(h) {
		_ = out.Write([]string{strconv.FormatFloat(math.Round(p.Share*1e8)/1e6, 'f', -1, 64),
			strconv.FormatFloat(p.Seconds, 'f', 6, 64), strconv.FormatInt(p.Count, 10)})
	}
	out.Flush()
	return out.Error()
}

func writeLog(w io.Writer, h *hdrhistogram.Histogram, from, to time.Time) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	h.SetStartTimeMs(from.UnixMilli())
	h.SetEndTimeMs(to.UnixMilli())
	for _, write := range []func() error{log.OutputLogFormatVersion,
		func() error { return log.OutputStartTime(from.UnixMilli()) }, log.OutputLegend,
		func() error { return log.OutputIntervalHistogram(h) }} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}
