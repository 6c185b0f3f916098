package load

import (
	"math"
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
	NotSubmitted End = "not submitted" // due, and as many in flight as there may be, until the run's end
)

// Outcome is the result of one query: its times, how it ended, and the check of its answer. It is one line of
// outcomes.jsonl, so its JSON keys are a stored format. Times are milliseconds since the Unix epoch.
type Outcome struct {
	// Host is the load host whose client asked it; "" for this process.
	Host  string `json:"host,omitempty"`
	Class Class  `json:"class"`
	// Slot is the held query's place; an open loop counts its queries here.
	Slot  int    `json:"slot"`
	Probe string `json:"probe"`
	// IntendedMs is when the query was meant to be submitted: by the rate in an open loop, else the end of the slot's
	// previous query. Latency counts from here, so that a stalled client or gateway cannot hide it.
	IntendedMs  int64 `json:"intended_ms"`
	SubmittedMs int64 `json:"submitted_ms"`
	FinishedMs  int64 `json:"finished_ms"`
	// LatencyUs is from the intended start to the end, us; LateUs the part of it for which the client itself was late:
	// the query was due, it was one that might be in flight, and had not been handed to the network.
	LatencyUs int64  `json:"latency_us"`
	LateUs    int64  `json:"late_us"`
	End       End    `json:"end"`
	Error     string `json:"error,omitempty"`
	// Refused states that the target turned the query away for want of room (429, 503); it has then failed.
	Refused bool `json:"refused,omitempty"`
	// Records is how many records came back; Generated how many matching ones were made in the query's life.
	Records   int `json:"records"`
	Generated int `json:"generated"`
	// Due is how many records the query had to return, or to account for; 0 where nothing is known of its
	// completeness.
	Due int `json:"due"`
	// Missing is how many records the query should have returned and did not; Repeated how many came twice; Foreign how
	// many it should not have returned.
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
