package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Event is a line of progress.jsonl, which is only ever appended to, and synced after each line. It is what a run is
// resumed from.
type Event struct {
	AtMs int64     `json:"at_ms"` // since the Unix epoch
	Kind EventKind `json:"event"`
	// Trial and Launch are of the events of a trial, Step and Attempt of those of a step; all count from 1.
	Trial   int `json:"trial,omitempty"`
	Launch  int `json:"launch,omitempty"`
	Step    int `json:"step,omitempty"`
	Attempt int `json:"attempt,omitempty"`
	// Value is the step's place on the axis.
	Value *float64 `json:"value,omitempty"`
	// File is relative to the run's directory, SHA256 that of its bytes, in hexadecimal.
	File    string         `json:"file,omitempty"`
	SHA256  string         `json:"sha256,omitempty"`
	Verdict tuning.Verdict `json:"verdict,omitempty"`
	// RecordsPerSecond is the calibrated rate of the run.
	RecordsPerSecond *float64 `json:"records_per_second,omitempty"`
	Text             string   `json:"text,omitempty"`
}

// EventKind is what happened.
type EventKind string

// The events.
const (
	RunStarted     EventKind = "run started"
	RunResumed     EventKind = "run resumed"
	RateCalibrated EventKind = "rate calibrated" // RecordsPerSecond; it holds for all trials of the run
	TrialStarted   EventKind = "trial started"   // Launch states how often
	StepStarted    EventKind = "step started"
	StepFinished   EventKind = "step finished" // File and SHA256
	TrialFinished  EventKind = "trial finished"
	TrialFailed    EventKind = "trial failed" // Text states why
	RunInterrupted EventKind = "run interrupted"
	RunFinished    EventKind = "run finished"
)
