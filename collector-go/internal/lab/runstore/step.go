package runstore

import (
	"encoding/json"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Step is trials/NN-label/steps/NN.json: one measured step with its verdict. It is written once and never changed;
// progress.jsonl has its checksum. Its measured time is (MeasuredFromMs, EndMs], in ms since the Unix epoch.
type Step struct {
	// Number counts the steps of the trial from 1, in the order in which they were run.
	Number int      `json:"number"`
	Kind   StepKind `json:"kind"`
	// Value is the step's position on the plan's axis. Attempt counts the measurements at that value in this trial
	// from 1.
	Value   float64 `json:"value"`
	Attempt int     `json:"attempt"`
	// Launch counts the launches of the trial's topology from 1. It is above 1 if the run was resumed during the
	// trial.
	Launch         int   `json:"launch"`
	StartMs        int64 `json:"start_ms"`
	MeasuredFromMs int64 `json:"measured_from_ms"`
	EndMs          int64 `json:"end_ms"`

	// Queries is the number of concurrent queries. QueriesPerSecond is null unless queries were started at a rate.
	Queries          int           `json:"queries"`
	QueriesPerSecond tuning.Figure `json:"queries_per_second"`
	// RecordsPerSecond is the emitted rate and RecordsPerSecondAsked the requested one. RecordsLag is the number of
	// records that were overdue at the end.
	RecordsPerSecond      tuning.Figure `json:"records_per_second"`
	RecordsPerSecondAsked tuning.Figure `json:"records_per_second_asked"`
	// MiBPerSecond comes from the bytes that the source counted. If the source does not count bytes, it is computed
	// from the stated mean size of a record, and MiBEstimated is true.
	MiBPerSecond tuning.Figure `json:"mib_per_second"`
	MiBEstimated bool          `json:"mib_per_second_estimated,omitempty"`
	RecordsLag   int64         `json:"records_lag"`
	// CatchUpRatio is the multiple of the step's rate that the topology took when it was offered more; null if it was
	// not.
	CatchUpRatio tuning.Figure `json:"catch_up_ratio"`

	Clients  Clients       `json:"clients"`
	HostIdle tuning.Figure `json:"host_idle"`
	Shares   []Share       `json:"shares"`
	// CPUCores is the sum over all workers; Workers is how many reported CPU. They are null and 0 if none did.
	CPUCores tuning.Figure `json:"cpu_cores"`
	Workers  int           `json:"workers"`

	// Figures are the figures that the goals were judged by.
	Figures []tuning.GoalOutcome `json:"figures"`
	Verdict tuning.Verdict       `json:"verdict"`
	Reasons []string             `json:"reasons"`
	Notes   []string             `json:"notes,omitempty"`
	// Evidence is the evidence for the limiter of the step; Limitation is the conclusion from it. Both are nil if none
	// was gathered.
	Evidence   *tuning.Evidence   `json:"evidence,omitempty"`
	Limitation *tuning.Limitation `json:"limitation,omitempty"`
	// Overdue is the number of the step's queries that had not ended when it was judged.
	Overdue int `json:"overdue_queries,omitempty"`
	// Timeline is the result of a timeline step.
	Timeline *tuning.Timeline `json:"timeline,omitempty"`
	// AddedDelayMs is the mean delay that Bullet adds according to the timeline.
	AddedDelayMs *tuning.Figure `json:"added_delay_ms,omitempty"`
	// FilterLatency holds the percentiles that the latency hook reported; Sharing is how resources were shared. Either
	// is nil if there are no figures.
	FilterLatency *Percentiles `json:"filter_latency,omitempty"`
	Sharing       *Sharing     `json:"sharing,omitempty"`
}

// Measured returns the values and verdicts of the steps that a capacity search considers: all but the cost steps.
func Measured(steps []Step) []tuning.Measured { return tuning.MeasuredOf(RunSteps(steps)) }

// Clients holds what the load client observed about a step's queries. A query belongs to the step if it was scheduled
// in the step and lived in its measured time, whenever it ended.
type Clients struct {
	Submitted int `json:"submitted"`
	Returned  int `json:"returned"`
	// Failed includes the queries that timed out and those that were Refused because the target was full (429, 503).
	Failed     int `json:"failed"`
	Refused    int `json:"refused"`
	Unfinished int `json:"unfinished"`
	CutOff     int `json:"cut_off"`
	// NotSubmitted is the number of scheduled queries for which the limit of queries in flight left no room.
	NotSubmitted      int           `json:"not_submitted"`
	AverageResultSize tuning.Figure `json:"average_result_size"`
	// GeneratedRecords is how many records matched the returned queries and were made during their lives. DueRecords
	// had to come back, as far as that is known; MissingRecords is how many of them did not. DueRecords is 0 if
	// nothing is known, and in older runs.
	GeneratedRecords int `json:"generated_records"`
	DueRecords       int `json:"due_records"`
	MissingRecords   int `json:"missing_records"`
	RepeatedRecords  int `json:"repeated_records"`
	ForeignRecords   int `json:"foreign_records"`
	// Latencies count from the scheduled start of a query. LowerBounds is the number of queries without an answer
	// (timed out, unfinished, not submitted); their latencies are lower bounds.
	LatencyMeanMs tuning.Figure `json:"latency_mean_ms"`
	LatencyP50Ms  tuning.Figure `json:"latency_p50_ms"`
	LatencyP99Ms  tuning.Figure `json:"latency_p99_ms"`
	LowerBounds   int           `json:"latency_lower_bounds"`
	// LatenessP99Ms is how late the client itself started its queries.
	LatenessP99Ms tuning.Figure `json:"client_lateness_p99_ms"`
	// Hosts are the hosts of the load clients, in the order of their parts; empty if the run itself asked the queries.
	Hosts []ClientHost `json:"hosts,omitempty"`
}

// ClientHost describes the load client of one host in a step: its share of the queries, its lateness, and the CPU that
// it used of its limit over the measured time.
type ClientHost struct {
	Host          string        `json:"host"`
	Submitted     int           `json:"submitted"`
	NotSubmitted  int           `json:"not_submitted"`
	LatenessP99Ms tuning.Figure `json:"lateness_p99_ms"`
	CPUCores      tuning.Figure `json:"cpu_cores"`
	CPULimitCores tuning.Figure `json:"cpu_limit_cores"`
}

// Completeness returns the share of the due records that came back; unknown if no record was due.
func (c Clients) Completeness() tuning.Figure {
	if c.DueRecords == 0 {
		return tuning.Unknown
	}
	return 1 - tuning.Figure(min(c.MissingRecords, c.DueRecords))/tuning.Figure(c.DueRecords)
}

// FailedShare returns the share of the scheduled queries without a valid answer: failed, refused, timed out,
// unfinished or not submitted. It is unknown if no query was scheduled.
func (c Clients) FailedShare() tuning.Figure {
	bad := c.Failed + c.Unfinished + c.NotSubmitted
	if bad+c.Returned == 0 {
		return tuning.Unknown
	}
	return tuning.Figure(bad) / tuning.Figure(bad+c.Returned)
}

// UnmarshalJSON sets figures that an older run's file does not have to unknown.
func (c *Clients) UnmarshalJSON(text []byte) error {
	type plain Clients
	u := tuning.Unknown
	*c = Clients{AverageResultSize: u, LatencyMeanMs: u, LatencyP50Ms: u, LatencyP99Ms: u, LatenessP99Ms: u}
	return json.Unmarshal(text, (*plain)(c))
}

// EverythingElse is the Process of the CPU share that none of the run's own processes used.
const EverythingElse = "everything else on the host"

// Share is a process' share of all the host's CPU over a step's measured time.
type Share struct {
	Process string        `json:"process"`
	Pid     int           `json:"pid,omitempty"`
	Ratio   tuning.Figure `json:"ratio"`
}
