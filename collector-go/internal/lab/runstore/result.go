package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Exit codes of `tune run`, which Result stores.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitMissed = 99 // a goal was missed
)

// Result is result.json: the verdict of a run, of its trials and of its configurations. The file exists only if the
// run ended by itself. Run.Judge derives it from the steps.
type Result struct {
	// Version is that of the rules by which the run was judged; 0 before version 3.
	Version int `json:"version"`

	FinishedMs int64          `json:"finished_ms"`
	Verdict    tuning.Verdict `json:"verdict"`
	// ExitCode is the exit code of `tune run`: 0, 1 or 99.
	ExitCode int `json:"exit_code"`
	// Trials are in the order of the plan.
	Trials []TrialResult `json:"trials"`
	// Rows are the configurations, each with all its repeats.
	Rows  []RowResult `json:"rows"`
	Notes []string    `json:"notes"`
}

// TrialResult is the result of one trial.
type TrialResult struct {
	Number int        `json:"number"`
	Label  string     `json:"label"`
	State  TrialState `json:"state"`
	Error  string     `json:"error,omitempty"` // why the trial failed
	Steps  int        `json:"steps"`
	Left   int        `json:"left_out"` // planned steps that were not measured
	tuning.RunJudgement
}

// RowResult is the result of one configuration, from the steps of all its repeats.
type RowResult struct {
	Configuration int          `json:"configuration"`
	Label         string       `json:"label"`
	Point         []Coordinate `json:"point"`
	tuning.RunJudgement
}

// TrialState is the state of a trial.
type TrialState string

// States of a trial.
const (
	Waiting  TrialState = "waiting"
	Underway TrialState = "under way"
	Finished TrialState = "finished"
	Failed   TrialState = "failed" // could not be measured; the run continues with the other trials
)
