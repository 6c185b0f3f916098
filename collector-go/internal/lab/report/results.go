package report

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Judged is what follows from all trials of a run together. What the run's analysis is not is null.
type Judged struct {
	Queries *tuning.Queries `json:"queries,omitempty"`
	Data    *tuning.Data    `json:"data,omitempty"`
	// Concurrency is of one configuration each, in the rows' order.
	Concurrency []NamedConcurrency `json:"concurrency,omitempty"`
	// Costs are the same of a run about queries per core, whose steps are judged by their latency.
	Costs     []NamedConcurrency `json:"costs,omitempty"`
	Timelines []NamedTimeline    `json:"timelines,omitempty"`
	// Sizing is the configuration for the largest load that the run held.
	Sizing *RunSizing `json:"sizing,omitempty"`
	// Repeats are how far the launches of one configuration are apart, where it had several.
	Repeats []Repeated `json:"repeats,omitempty"`

	tables Tables
	// mostRecordsBy is the label of the configuration that held mostRecords a second.
	mostRecords   float64
	mostRecordsBy string
	notes         []string
}

// note adds a note, once.
func (j *Judged) note(text string) {
	if text != "" && !slices.Contains(j.notes, text) {
		j.notes = append(j.notes, text)
	}
}

// NamedConcurrency is the judgement of one configuration's steps.
type NamedConcurrency struct {
	Label string `json:"label"`
	*tuning.Concurrency

	rows []tuning.ConcurrencyRow
}

// NamedTimeline is that of one trial.
type NamedTimeline struct {
	Label string `json:"label"`
	*tuning.Timeline

	configuration int
}

// RunSizing is the configuration for the largest load that a run held, from that run alone.
type RunSizing struct {
	// Sizing is null, and Note is why, where the run held no load.
	Sizing *tuning.Sizing `json:"sizing"`
	Note   string         `json:"note,omitempty"`
	// Load is the load in a sentence.
	Load string `json:"load,omitempty"`
	// YAML are Bullet's settings, each parallelism with its interval.
	YAML string `json:"yaml,omitempty"`
	// NotKnown is what a run of this kind cannot show; Command sizes for any load, with a run of the other kind.
	NotKnown []string `json:"not_known"`
	Command  string   `json:"command"`
}

// Repeated is one configuration at one place of the axis, over its repeats.
type Repeated struct {
	Configuration string           `json:"configuration"`
	Value         float64          `json:"value"`
	Verdicts      []tuning.Verdict `json:"verdicts"` // of each repeat
	Figures       []RepeatedFigure `json:"figures"`
}

// RepeatedFigure is one of its figures.
type RepeatedFigure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Spread
}

// ComparedConfiguration is one configuration of a run against its first one.
type ComparedConfiguration struct {
	compare.ConfigurationChange
	Notes []string `json:"notes"`
}

// Tables are a run's figures as tune analyze and tune size take them: what its report is judged from and what its CSV
// files hold. Those that the run's analysis has not are empty.
type Tables struct {
	// Points are filter bolts by queries, with the steps' verdicts; RecordsPerS is the records a second of those that
	// held, averaged.
	Points      []tuning.QueryPoint
	RecordsPerS Figure
	// QueryGoals are what the points were judged by.
	QueryGoals tuning.QueryGoals
	// Volumes are, for each rate, the components of the smallest configuration that held it.
	Volumes []tuning.DataRow
	// Concurrency are the steps of each configuration.
	Concurrency []ConfigurationSteps
	// Notes are what must be known of them.
	Notes []string
}

// ConfigurationSteps are one configuration's steps of simultaneous queries, with the goals that they were judged by.
type ConfigurationSteps struct {
	Label string
	Rows  []tuning.ConcurrencyRow
	// ExpectedResultSize is the records of a complete answer, Tolerance the share of them that may be missing on
	// average.
	ExpectedResultSize, Tolerance float64
}

func (c NamedConcurrency) table() ConfigurationSteps {
	return ConfigurationSteps{
		Label: c.Label, Rows: c.rows, ExpectedResultSize: float64(c.ExpectedResultSize),
		Tolerance: max(0, 1-float64(c.SmallestResultSize/c.ExpectedResultSize)),
	}
}
