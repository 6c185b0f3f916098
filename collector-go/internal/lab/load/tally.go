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
	ends      map[End]int
	latencies *hdrhistogram.Histogram // scheduled queries, µs; lower bounds for queries without an answer
	lateness  *hdrhistogram.Histogram // of the client itself, µs
	lower     int                     // number of latencies that are lower bounds
	refused   int                     // part of the failed queries
	errors    map[string]int

	records, expected, missing, repeated, foreign, checked, incomplete int
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{
		ends: map[End]int{}, errors: map[string]int{},
		latencies: hdrhistogram.New(leastLatencyUs, mostLatencyUs, latencyDigits),
		lateness:  hdrhistogram.New(leastLatencyUs, mostLatencyUs, latencyDigits),
	}
}

// Add counts an outcome. It can be used as a client's observe function.
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

func (t *Tally) judge(o Outcome) {
	t.records += o.Records
	t.repeated += o.Repeated
	t.foreign += o.Foreign
	if o.Expected == 0 {
		return
	}
	t.checked++
	t.expected += o.Expected
	t.missing += min(o.Missing, o.Expected)
	if o.Missing > 0 {
		t.incomplete++
	}
}

func bounded(us int64) int64 { return min(max(us, leastLatencyUs), mostLatencyUs) }

// Result is the aggregate of a tally. Latencies are in seconds, NaN if there are none.
type Result struct {
	Returned, Failed, TimedOut, Unfinished, CutOff, NotSubmitted int
	// Refused is the number of Failed queries that the target refused because it was full.
	Refused int
	// Latency is over all queries that had to return. Queries without an answer count with a lower bound; LowerBounds
	// is their number.
	Latency     Quantiles
	LowerBounds int
	// Lateness is how late the client itself submitted its queries.
	Lateness Quantiles
	// Records is the total number of returned records. Checked is the number of queries whose completeness is known. In
	// these, Expected records had to come back, and Missing did not.
	Records, Checked, Incomplete, Expected, Missing, Repeated, Foreign int
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
		Returned: t.ends[Returned], Failed: t.ends[Failed], TimedOut: t.ends[TimedOut], Unfinished: t.ends[Unfinished],
		CutOff: t.ends[CutOff], NotSubmitted: t.ends[NotSubmitted], Refused: t.refused, Latency: quantiles(t.latencies),
		LowerBounds: t.lower, Lateness: quantiles(t.lateness), Records: t.records, Checked: t.checked,
		Incomplete: t.incomplete, Expected: t.expected, Missing: t.missing, Repeated: t.repeated, Foreign: t.foreign,
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
