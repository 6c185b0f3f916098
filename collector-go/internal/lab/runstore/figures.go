package runstore

import (
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
)

// Figures is run.json: all series of a trial, and what was read from the collector once it had ended. Its steps are in
// files of their own.
type Figures struct {
	Topology string `json:"topology"`
	// SubmittedMs is when the topology was submitted, CollectedMs when the last figures were read.
	SubmittedMs int64 `json:"submitted_ms"`
	CollectedMs int64 `json:"collected_ms"`
	// StoredSliceMs is the collector's slice width, SliceMs that of the report.
	StoredSliceMs int64       `json:"stored_slice_ms"`
	SliceMs       int64       `json:"slice_ms"`
	Query         string      `json:"query"`
	Settings      []Entry     `json:"settings"`
	Calibration   Calibration `json:"calibration"`
	// Steps are the trial's, by their own files; run.json of before version 2 has some of what belongs to them.
	Steps   []Step   `json:"steps,omitempty"`
	Workers []Worker `json:"workers"`
	// QueriesRunning is the sum of bullet_active_queries over the JoinBolt's tasks; FilterLatencySeconds is
	// bullet_filter_latency's mean of each filter task.
	QueriesRunning       Slices   `json:"queries_running"`
	FilterLatencySeconds []Slices `json:"filter_latency_seconds"`
	// Requested is nil where the topology reported none.
	Requested *ResourceRequest `json:"asked,omitempty"`
	// Placement is where the tasks ran when the figures were read; nil where that is not known.
	Placement *Placement `json:"placement,omitempty"`
	// Annotations are the collector's annotations of the topology, by time; nil where the collector reported none.
	Annotations       []Annotation `json:"marks,omitzero"`
	CollectorRestarts int          `json:"collector_restarts"`
	// Health is how the samples came; nil where the collector reported none.
	Health *collection.Collection `json:"health,omitempty"`
	// Notes are what the run wants its reader to know.
	Notes []string `json:"notes"`
}

// SaveFigures writes a trial's figures, in place of those of an earlier launch.
func (w *Writer) SaveFigures(t PlannedTrial, f Figures) error {
	f.Steps = nil
	return w.save(filepath.Join(TrialsDir, t.Name(), FiguresFile), f)
}

// Figures are the trial's, with its steps; nil where none were kept.
func (t Trial) Figures() (*Figures, error) {
	f, err := readIfThere[Figures](filepath.Join(t.Dir, FiguresFile))
	if f == nil || err != nil {
		return nil, err
	}
	f.adopt(t.Steps)
	return f, nil
}

// adopt gives the figures the trial's steps, and those what run.json of before version 2 had of them.
func (f *Figures) adopt(steps []Step) {
	older := f.Steps
	f.Steps = append([]Step{}, steps...)
	for i := range f.Steps {
		step := &f.Steps[i]
		for _, before := range older {
			if before.StartMs != step.StartMs {
				continue
			}
			if step.Evidence == nil {
				step.Evidence = before.Evidence
			}
			if step.FilterLatency == nil {
				step.FilterLatency = before.FilterLatency
			}
			if step.Sharing == nil {
				step.Sharing = before.Sharing
			}
		}
	}
}

// HasPercentiles reports whether the hook reported any.
func (f *Figures) HasPercentiles() bool {
	for _, s := range f.Steps {
		if s.FilterLatency != nil {
			return true
		}
	}
	return false
}
