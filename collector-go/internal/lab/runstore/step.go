package runstore

import (
	"encoding/json"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Step is trials/NN-label/steps/NN.json: one step that was measured, with its verdict. It is written once and never
// changed; progress.jsonl has its checksum. Its measured time is (MeasuredFromMs, EndMs], ms since the Unix epoch.
type Step struct {
	// Number counts the steps of the trial from 1, in the order in which they were run.
	Number int      `json:"number"`
	Kind   StepKind `json:"kind"`
	// Value is where on the plan's axis it is; Attempt counts from 1 how often it was measured there in this trial.
	Value   float64 `json:"value"`
	Attempt int     `json:"attempt"`
	// Launch counts from 1 the launches of the trial's topology; more than one after the run was resumed in the trial.
	Launch         int   `json:"launch"`
	StartMs        int64 `json:"start_ms"`
	MeasuredFromMs int64 `json:"measured_from_ms"`
	EndMs          int64 `json:"end_ms"`

	// Queries were held at the same time; QueriesPerSecond is null unless they were started at a rate.
	Queries          int           `json:"queries"`
	QueriesPerSecond tuning.Figure `json:"queries_per_second"`
	// RecordsPerSecond was emitted, RecordsPerSecondAsked was asked for; RecordsLag were due and not emitted at the
	// end.
	RecordsPerSecond      tuning.Figure `json:"records_per_second"`
	RecordsPerSecondAsked tuning.Figure `json:"records_per_second_asked"`
	// MiBPerSecond is from the bytes that the source counted, where it counts them; else MiBEstimated, from a record's
	// stated mean size.
	MiBPerSecond tuning.Figure `json:"mib_per_second"`
	MiBEstimated bool          `json:"mib_per_second_estimated,omitempty"`
	RecordsLag   int64         `json:"records_lag"`
	// CatchUpRatio is how many times its rate the topology took when it was offered more; null where it was not.
	CatchUpRatio tuning.Figure `json:"catch_up_ratio"`

	Clients  Clients       `json:"clients"`
	HostIdle tuning.Figure `json:"host_idle"`
	Shares   []Share       `json:"shares"`
	// CPUCores is of all workers together, Workers how many reported; null and 0 where none did.
	CPUCores tuning.Figure `json:"cpu_cores"`
	Workers  int           `json:"workers"`

	// Figures are what the goals were judged by.
	Figures []tuning.GoalOutcome `json:"figures"`
	Verdict tuning.Verdict       `json:"verdict"`
	Reasons []string             `json:"reasons"`
	Notes   []string             `json:"notes,omitempty"`
	// Evidence is of what limited the step, Limitation what it was judged to say; nil where nobody gathered any.
	Evidence   *tuning.Evidence   `json:"evidence,omitempty"`
	Limitation *tuning.Limitation `json:"limitation,omitempty"`
	// Overdue counts the step's queries that were still under way when it was judged.
	Overdue int `json:"overdue_queries,omitempty"`
	// Timeline is the outcome of a timeline step.
	Timeline *tuning.Timeline `json:"timeline,omitempty"`
	// AddedDelayMs is the mean delay that Bullet adds, by that timeline.
	AddedDelayMs *tuning.Figure `json:"added_delay_ms,omitempty"`
	// FilterLatency are the percentiles that the latency hook reported, Sharing is who shared what; nil where there are
	// none.
	FilterLatency *Percentiles `json:"filter_latency,omitempty"`
	Sharing       *Sharing     `json:"sharing,omitempty"`
}

// Measured is what a search for the capacity goes by: the verdicts of steps at their places, those for a query's cost
// left out.
func Measured(steps []Step) (all []tuning.Measured) {
	for _, s := range steps {
		if s.Kind != CostStep {
			all = append(all, tuning.Measured{Value: s.Value, Verdict: s.Verdict})
		}
	}
	return all
}

// Clients is what the load client saw of a step's queries: those that were meant to start in the step and lived in its
// measured time, whenever they ended.
type Clients struct {
	Submitted int `json:"submitted"`
	Returned  int `json:"returned"`
	// Failed holds those that timed out, and those Refused for want of room (429, 503).
	Failed     int `json:"failed"`
	Refused    int `json:"refused"`
	Unfinished int `json:"unfinished"`
	CutOff     int `json:"cut_off"`
	// NotSubmitted were due, and as many under way as there may be.
	NotSubmitted      int           `json:"not_submitted"`
	AverageResultSize tuning.Figure `json:"average_result_size"`
	// GeneratedRecords matched the queries that returned and were made in their lives; DueRecords had to come back, as
	// far as that can be known, and MissingRecords of these did not. DueRecords is 0 where nothing is known, and in
	// runs from before it was written.
	GeneratedRecords int `json:"generated_records"`
	DueRecords       int `json:"due_records"`
	MissingRecords   int `json:"missing_records"`
	RepeatedRecords  int `json:"repeated_records"`
	ForeignRecords   int `json:"foreign_records"`
	// Latencies count from when a query was meant to start. Of the LowerBounds queries that gave no answer (timed out,
	// unfinished, not submitted) they are how long these took at least.
	LatencyMeanMs tuning.Figure `json:"latency_mean_ms"`
	LatencyP50Ms  tuning.Figure `json:"latency_p50_ms"`
	LatencyP99Ms  tuning.Figure `json:"latency_p99_ms"`
	LowerBounds   int           `json:"latency_lower_bounds"`
	// LatenessP99Ms is how late the client itself was with its queries.
	LatenessP99Ms tuning.Figure `json:"client_lateness_p99_ms"`
	// Hosts are those of the load clients, in the order of their parts; none where the run itself asked the queries.
	Hosts []ClientHost `json:"hosts,omitempty"`
}

// ClientHost is what the load client of a host did of a step: its share of the queries, how late it was with them, and
// the processors that it took over the measured time, of those that it may use.
type ClientHost struct {
	Host          string        `json:"host"`
	Submitted     int           `json:"submitted"`
	NotSubmitted  int           `json:"not_submitted"`
	LatenessP99Ms tuning.Figure `json:"lateness_p99_ms"`
	CPUCores      tuning.Figure `json:"cpu_cores"`
	CPULimitCores tuning.Figure `json:"cpu_limit_cores"`
}

// Completeness is the share of the records due that came back; unknown where nothing is known of it.
func (c Clients) Completeness() tuning.Figure {
	if c.DueRecords == 0 {
		return tuning.Unknown
	}
	return 1 - tuning.Figure(min(c.MissingRecords, c.DueRecords))/tuning.Figure(c.DueRecords)
}

// FailedShare is the share of the queries that were due and gave no answer of their class: those that failed, were
// refused, timed out, never finished or were never submitted. Unknown where none was due.
func (c Clients) FailedShare() tuning.Figure {
	bad := c.Failed + c.Unfinished + c.NotSubmitted
	if bad+c.Returned == 0 {
		return tuning.Unknown
	}
	return tuning.Figure(bad) / tuning.Figure(bad+c.Returned)
}

// UnmarshalJSON takes figures that are not there, as in an older run's file, for unknown.
func (c *Clients) UnmarshalJSON(text []byte) error {
	type plain Clients
	u := tuning.Unknown
	*c = Clients{AverageResultSize: u, LatencyMeanMs: u, LatencyP50Ms: u, LatencyP99Ms: u, LatenessP99Ms: u}
	return json.Unmarshal(text, (*plain)(c))
}

// EverythingElse is the Process of the share that none of the run's own processes took.
const EverythingElse = "everything else on the host"

// Share is a process' share of all the host's processors over a step's measured time.
type Share struct {
	Process string        `json:"process"`
	Pid     int           `json:"pid,omitempty"`
	Ratio   tuning.Figure `json:"ratio"`
}
