package runstore

import (
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Figures is run.json: all series of a trial that were read from the collector after its end. The trial's steps are in
// files of their own.
type Figures struct {
	Topology string `json:"topology"`
	// SubmittedMs is when the topology was submitted; CollectedMs is when the last figures were read.
	SubmittedMs int64 `json:"submitted_ms"`
	CollectedMs int64 `json:"collected_ms"`
	// StoredSliceMs is the collector's slice width; SliceMs is that of the report.
	StoredSliceMs int64              `json:"stored_slice_ms"`
	SliceMs       int64              `json:"slice_ms"`
	Query         string             `json:"query"`
	Settings      []Entry            `json:"settings"`
	Calibration   tuning.Calibration `json:"calibration"`
	// Steps are read from the trial's step files. Before version 2, run.json contained parts of them.
	Steps   []Step   `json:"steps,omitempty"`
	Workers []Worker `json:"workers"`
	// QueriesRunning is the sum of bullet_active_queries over the JoinBolt's tasks. FilterLatencySeconds is the mean
	// of bullet_filter_latency for each filter task.
	QueriesRunning       Slices   `json:"queries_running"`
	FilterLatencySeconds []Slices `json:"filter_latency_seconds"`
	// Requested is the topology's resource request; nil if it reported none.
	Requested *ResourceRequest `json:"asked,omitempty"`
	// Placement is where the tasks ran when the figures were read; nil if unknown.
	Placement *Placement `json:"placement,omitempty"`
	// Annotations are the collector's annotations of the topology, sorted by time; nil if the collector reported none.
	Annotations       []Annotation `json:"marks,omitzero"`
	CollectorRestarts int          `json:"collector_restarts"`
	// Health is how completely the samples arrived; nil if the collector did not report it.
	Health *collection.Collection `json:"health,omitempty"`
	// Notes are remarks of the run for the reader of its report.
	Notes []string `json:"notes"`
}

// SaveFigures writes a trial's figures and replaces those of an earlier launch.
func (w *Writer) SaveFigures(t PlannedTrial, f Figures) error {
	f.Steps = nil
	return w.save(filepath.Join(TrialsDir, t.Name(), FiguresFile), f)
}

// Figures returns the trial's figures with its steps; nil if no figures were saved.
func (t Trial) Figures() (*Figures, error) {
	f, err := readIfThere[Figures](filepath.Join(t.Dir, FiguresFile))
	if f == nil || err != nil {
		return nil, err
	}
	f.Steps = append([]Step{}, t.Steps...)
	return f, nil
}

// HasPercentiles reports whether the latency hook reported percentiles for any step.
func (f *Figures) HasPercentiles() bool {
	return slices.ContainsFunc(f.Steps, func(s Step) bool { return s.FilterLatency != nil })
}
