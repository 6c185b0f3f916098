package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Event is a line of progress.jsonl. The file is only appended to and synced after each line, because a run is resumed
// from it.
type Event struct {
	AtMs int64     `json:"at_ms"` // ms since the Unix epoch
	Kind EventKind `json:"event"`
	// Trial and Launch are set in events of a trial, Step and Attempt in those of a step; all count from 1.
	Trial   int `json:"trial,omitempty"`
	Launch  int `json:"launch,omitempty"`
	Step    int `json:"step,omitempty"`
	Attempt int `json:"attempt,omitempty"`
	// Value is the step's position on the axis.
	Value *float64 `json:"value,omitempty"`
	// File is relative to the run's directory; SHA256 is the hexadecimal checksum of its content.
	File    string         `json:"file,omitempty"`
	SHA256  string         `json:"sha256,omitempty"`
	Verdict tuning.Verdict `json:"verdict,omitempty"`
	// RecordsPerSecond is the calibrated record rate of the run.
	RecordsPerSecond *float64 `json:"records_per_second,omitempty"`
	Text             string   `json:"text,omitempty"`
	// Planned is the trial of a "trial planned" event; Text is the reason for it.
	Planned *PlannedTrial `json:"planned,omitempty"`
}

// EventKind is the kind of an event.
type EventKind string

// Kinds of events.
const (
	RunStarted     EventKind = "run started"
	RunResumed     EventKind = "run resumed"
	RateCalibrated EventKind = "rate calibrated" // has RecordsPerSecond, which holds for all trials of the run
	TrialPlanned   EventKind = "trial planned"   // has Planned: a search adds trials to the plan while it runs
	TrialStarted   EventKind = "trial started"   // Launch counts the launches of the trial
	StepStarted    EventKind = "step started"
	StepFinished   EventKind = "step finished" // has File and SHA256
	TrialFinished  EventKind = "trial finished"
	TrialFailed    EventKind = "trial failed" // Text states the reason
	RunInterrupted EventKind = "run interrupted"
	RunFinished    EventKind = "run finished"
)
