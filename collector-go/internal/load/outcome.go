package load

import (
	"math"
	"slices"
	"time"
)

// End is how a query ended.
type End string

// The ends.
const (
	Returned     End = "returned"      // with an answer, be it empty
	Failed       End = "failed"        // with an error
	TimedOut     End = "timed out"     // with no answer in its life and the grace after it
	Unfinished   End = "unfinished"    // the run ended first, although the query was overdue
	CutOff       End = "cut off"       // the run ended first, before the query had to return
	NotSubmitted End = "not submitted" // due, and as many under way as there may be, until the run's end
)

// Outcome is what became of one query. Times are ms since the Unix epoch.
type Outcome struct {
	Class Class `json:"class"`
	// Slot is the held query's place; an open loop counts its queries here.
	Slot  int    `json:"slot"`
	Probe string `json:"probe"`
	// IntendedMs is when the query was meant to be submitted: by the rate in an open loop, else the end of the slot's previous query.
	// Latency counts from here, so that a stalled client or gateway cannot hide it.
	IntendedMs  int64 `json:"intended_ms"`
	SubmittedMs int64 `json:"submitted_ms"`
	FinishedMs  int64 `json:"finished_ms"`
	// LatencyUs is from the intended start to the end, us; LateUs the part of it for which the client itself was late: the query was
	// due, it was one that might be under way, and had not been handed to the network.
	LatencyUs int64  `json:"latency_us"`
	LateUs    int64  `json:"late_us"`
	End       End    `json:"end"`
	Error     string `json:"error,omitempty"`
	// Records is how many records came back; Generated how many matching ones were made in the query's life.
	Records   int `json:"records"`
	Generated int `json:"generated"`
	// Due is how many records the query had to return, or to account for; 0 where nothing can be told of its completeness.
	Due int `json:"due"`
	// Missing is how many records the query should have returned and did not; Repeated how many came twice; Foreign how many it
	// should not have returned.
	Missing  int `json:"missing"`
	Repeated int `json:"repeated"`
	Foreign  int `json:"foreign"`
}

// Latency is from the intended start to the end. Of a query that did not end by itself it is how long it took at least.
func (o Outcome) Latency() time.Duration {
	if o.LatencyUs != 0 {
		return time.Duration(o.LatencyUs) * time.Microsecond
	}
	return time.Duration(o.FinishedMs-o.IntendedMs) * time.Millisecond
}

// Completeness is the share of the records due that came; NaN where nothing was due or no answer came.
func (o Outcome) Completeness() float64 {
	if o.Due == 0 || o.End != Returned {
		return math.NaN()
	}
	return 1 - float64(min(o.Missing, o.Due))/float64(o.Due)
}

// Summary is what became of a number of queries. Averages of nothing are NaN.
type Summary struct {
	// Failed holds those that timed out.
	Submitted, Returned, Failed, Unfinished, CutOff int
	// AverageResultSize is the mean number of records of the queries that returned.
	AverageResultSize float64
	// Generated is how many matching records were made in the lives of the queries that returned. Of those of which it can be told, Due
	// is how many had to come back, and Missing how many of these did not.
	Generated, Due, Missing int
	// Repeated and Foreign are records, over all queries that returned.
	Repeated, Foreign int
	// Latencies of the queries that returned, from the intended start, ms.
	LatencyMeanMs, LatencyP50Ms, LatencyP99Ms float64
}

// Window is the time of a step: it begins at Start, is measured from Measured on, and ends at End.
type Window struct{ Start, Measured, End time.Time }

// holds tells whether a query counts for the window: it was submitted in it and had not ended when the measured time began.
func (w Window) holds(o Outcome) bool {
	return o.End != NotSubmitted && o.SubmittedMs >= w.Start.UnixMilli() && o.SubmittedMs < w.End.UnixMilli() && o.FinishedMs >= w.Measured.UnixMilli()
}

// Summarise counts the queries that were submitted in the window and lived in its measured time, whenever they ended: a query that
// lost records lives longer than one that did not, so counting by the end would leave out the bad ones.
func Summarise(outcomes []Outcome, window Window) Summary {
	var s Summary
	var records int
	var latencies []float64
	for _, o := range outcomes {
		if !window.holds(o) {
			continue
		}
		s.Submitted++
		switch o.End {
		case Returned:
			s.Returned++
			s.Generated += o.Generated
			s.Due += o.Due
			s.Missing += min(o.Missing, o.Due)
			s.Repeated += o.Repeated
			s.Foreign += o.Foreign
			records += o.Records
			latencies = append(latencies, float64(o.Latency().Microseconds())/1000)
		case Failed, TimedOut:
			s.Failed++
		case Unfinished:
			s.Unfinished++
		case CutOff:
			s.CutOff++
		}
	}
	s.AverageResultSize = float64(records) / float64(s.Returned) // NaN when none returned
	s.LatencyMeanMs, s.LatencyP50Ms, s.LatencyP99Ms = mean(latencies), percentile(latencies, 0.5), percentile(latencies, 0.99)
	return s
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// percentile is the nearest-rank percentile.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(p*float64(len(sorted))))-1]
}
