package load

import (
	"math"
	"time"
)

// End states how a query ended.
type End string

// Ends of a query.
const (
	Returned     End = "returned"      // with an answer, which may be empty
	Failed       End = "failed"        // with an error
	TimedOut     End = "timed out"     // without an answer in its life and the grace after it
	Unfinished   End = "unfinished"    // the run ended first, although the query was overdue
	CutOff       End = "cut off"       // the run ended first, before the query had to return
	NotSubmitted End = "not submitted" // the limit of queries in flight left no room until the run's end
)

// Outcome is the result of one query: its times, how it ended, and the check of its answer. It is one line of
// outcomes.jsonl, so its JSON keys are a stored format. Times are milliseconds since the Unix epoch.
type Outcome struct {
	// Host is the load host whose client submitted the query; "" means this process.
	Host  string `json:"host,omitempty"`
	Class Class  `json:"class"`
	// Slot is the slot of a held query; an open loop numbers its queries here.
	Slot  int    `json:"slot"`
	Probe string `json:"probe"`
	// IntendedMs is the scheduled submission: by the rate in an open loop, otherwise the end of the slot's previous
	// query. Latency counts from here, so that a stalled client or gateway cannot hide it.
	IntendedMs  int64 `json:"intended_ms"`
	SubmittedMs int64 `json:"submitted_ms"`
	FinishedMs  int64 `json:"finished_ms"`
	// LatencyUs is the time from the scheduled start to the end, in µs. LateUs is the part for which the client itself
	// was late: the query was allowed to start and was not yet handed to the network.
	LatencyUs int64  `json:"latency_us"`
	LateUs    int64  `json:"late_us"`
	End       End    `json:"end"`
	Error     string `json:"error,omitempty"`
	// Refused states that the target refused the query because it was full (429, 503). The query has then also failed.
	Refused bool `json:"refused,omitempty"`
	// Records is how many records came back; Generated is how many matching records were made during the query's life.
	Records   int `json:"records"`
	Generated int `json:"generated"`
	// Expected is how many records the query had to return or count; 0 means that its completeness is unknown.
	Expected int `json:"due"`
	// Missing is how many expected records did not come, Repeated how many came twice, and Foreign how many should not
	// have come.
	Missing  int `json:"missing"`
	Repeated int `json:"repeated"`
	Foreign  int `json:"foreign"`
}

// Latency returns the time from the scheduled start to the end. For a query that did not end by itself it is a lower
// bound.
func (o Outcome) Latency() time.Duration {
	if o.LatencyUs != 0 {
		return time.Duration(o.LatencyUs) * time.Microsecond
	}
	return time.Duration(o.FinishedMs-o.IntendedMs) * time.Millisecond
}

// Completeness returns the share of the expected records that came; NaN if none was expected or no answer came.
func (o Outcome) Completeness() float64 {
	if o.Expected == 0 || o.End != Returned {
		return math.NaN()
	}
	return 1 - float64(min(o.Missing, o.Expected))/float64(o.Expected)
}
