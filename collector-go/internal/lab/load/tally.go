package load

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of the histograms: three digits from 1 us to a day cost 180 KiB.
const (
	leastLatencyUs = 1
	mostLatencyUs  = int64(24 * time.Hour / time.Microsecond)
	latencyDigits  = 3
)

// maxErrors bounds the different errors that a tally keeps apart; more are counted together under otherErrors.
const (
	maxErrors   = 50
	otherErrors = "other errors"
)

// Tally aggregates the outcomes of any number of queries in constant memory: latencies go into a histogram, and only a
// bounded number of different errors is kept. It is safe for concurrent use.
type Tally struct {
	mu        sync.Mutex
	ends      map[End]int
	latencies *hdrhistogram.Histogram // of what was due, us; of what did not return how long it took at least
	lateness  *hdrhistogram.Histogram // the client's own
	lower     int                     // latencies that are lower bounds
	refused   int                     // of those that failed
	errors    map[string]int

	records, due, missing, repeated, foreign, judged, incomplete int
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{
		ends: map[End]int{}, errors: map[string]int{},
		latencies: hdrhistogram.New(leastLatencyUs, mostLatencyUs, latencyDigits),
		lateness:  hdrhistogram.New(leastLatencyUs, mostLatencyUs, latencyDigits),
	}
}

// Add takes an outcome; it can be a client's observe.
func (t *Tally) Add(o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends[o.End]++
	if o.Refused {
		t.refused++
	}
	switch o.End {
	case Returned:
		t.latency(o)
		t.judge(o)
	case TimedOut, Unfinished, NotSubmitted:
		t.latency(o)
	case Failed, CutOff: // an error comes at any speed, and a query that was cut off was not due: both are only counted
	}
	if o.End != NotSubmitted {
		_ = t.lateness.RecordValue(bounded(o.LateUs))
	}
	if o.Error != "" && o.End != CutOff && o.End != Unfinished {
		t.mistake(o.Error)
	}
}

func (t *Tally) latency(o Outcome) {
	_ = t.latencies.RecordValue(bounded(o.Latency().Microseconds())) // within the bounds it cannot fail
	if o.End.lowerBound() {
		t.lower++
	}
}

func (t *Tally) judge(o Outcome) {
	t.records += o.Records
	t.repeated += o.Repeated
	t.foreign += o.Foreign
	if o.Due == 0 {
		return
	}
	t.judged++
	t.due += o.Due
	t.missing += min(o.Missing, o.Due)
	if o.Missing > 0 {
		t.incomplete++
	}
}

func (t *Tally) mistake(text string) {
	if _, known := t.errors[text]; !known && len(t.errors) >= maxErrors {
		text = otherErrors
	}
	t.errors[text]++
}

func bounded(us int64) int64 { return min(max(us, leastLatencyUs), mostLatencyUs) }

// Result is a tally as it is reported. Latencies are in seconds, NaN where there are none.
type Result struct {
	Returned, Failed, TimedOut, Unfinished, CutOff, NotSubmitted int
	// Refused are those of the Failed that the target turned away for want of room.
	Refused int
	// Latency is over all queries that were due: those that did not return count with how long they took at least,
	// LowerBounds of them.
	Latency     Quantiles
	LowerBounds int
	// Lateness is how late the client itself was.
	Lateness Quantiles
	// Records came back in all; of the Judged queries, to which something is known, Due records had to, and Missing
	// did not.
	Records, Judged, Incomplete, Due, Missing, Repeated, Foreign int
	// Errors are the most frequent first.
	Errors []ErrorCount
}

// Quantiles of a distribution, seconds.
type Quantiles struct {
	Count                                 int
	Least, Mean, P50, P90, P95, P99, P999 float64
	Most                                  float64
}

// ErrorCount is how many queries failed with one error.
type ErrorCount struct {
	Error string `json:"error"`
	Count int    `json:"count"`
}

// Completeness is the share of the records due that came; NaN where nothing was due.
func (r Result) Completeness() float64 {
	if r.Due == 0 {
		return math.NaN()
	}
	return 1 - float64(r.Missing)/float64(r.Due)
}

// Submitted is how many queries were.
func (r Result) Submitted() int { return r.Returned + r.Failed + r.TimedOut + r.Unfinished + r.CutOff }

// FailedShare is the share of the queries that were due and ended that failed, timed out, never returned or were never
// submitted.
func (r Result) FailedShare() float64 {
	bad := r.Failed + r.TimedOut + r.Unfinished + r.NotSubmitted
	return float64(bad) / float64(bad+r.Returned)
}

// Result is what the tally holds now.
func (t *Tally) Result() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Result{
		Returned: t.ends[Returned], Failed: t.ends[Failed], TimedOut: t.ends[TimedOut], Unfinished: t.ends[Unfinished],
		CutOff: t.ends[CutOff], NotSubmitted: t.ends[NotSubmitted], Refused: t.refused,
		Latency: quantiles(t.latencies), LowerBounds: t.lower, Lateness: quantiles(t.lateness),
		Records: t.records, Judged: t.judged, Incomplete: t.incomplete, Due: t.due, Missing: t.missing,
		Repeated: t.repeated, Foreign: t.foreign,
	}
	for _, text := range slices.Sorted(maps.Keys(t.errors)) {
		r.Errors = append(r.Errors, ErrorCount{text, t.errors[text]})
	}
	slices.SortStableFunc(r.Errors, func(a, b ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	return r
}

// Latencies is a copy of the histogram of latencies, us.
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
