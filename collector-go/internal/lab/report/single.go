package report

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Single is report.json of a run of one trial such as the demo's: the trial's figures, with what the run came to beside
// them.
type Single struct {
	*Report
	// Capacity is on the steps' axis.
	Capacity tuning.Interval `json:"capacity"`
	// Cost is what a query costs, by its steps; null where no step shows it.
	Cost *tuning.Concurrency `json:"cost"`
	// Limiters name what limited the steps that missed their goals or were capped; none where nothing was at its limit.
	Limiters []string `json:"limiters"`
}

// Single is the run's only trial; an error where no step of it was measured, or there are several.
func (r *RunReport) Single() (*Single, error) {
	if len(r.Trials) != 1 || r.Trials[0].Report == nil {
		return nil, fmt.Errorf("%d of %d trials have figures, and one alone is to be shown", len(r.reported()),
			len(r.Trials))
	}
	figures := *r.Trials[0].Report
	figures.Title, figures.Verdict = r.Title, r.Verdict
	table := r.manifestTable()
	for i, key := range table.Columns[0].Cells {
		figures.Manifest = append(figures.Manifest, runstore.Entry{Key: key, Value: table.Columns[1].Cells[i]})
	}
	figures.Settings = slices.Clone(r.Manifest.BulletSettings)
	for _, e := range r.Trials[0].Arguments {
		figures.Settings = append(figures.Settings, runstore.Entry{Key: "-c " + e.Key, Value: e.Value})
	}
	out := &Single{Report: &figures, Capacity: r.Rows[0].Capacity, Limiters: r.Rows[0].Limiters}
	if len(r.Judged.Concurrency) > 0 {
		out.Cost = r.Judged.Concurrency[0].Concurrency
	}
	return out, nil
}

// WriteSingle is Write of a run of one trial: its report.json is a Single, and each figure has a name without the
// trial's number.
func (r *RunReport) WriteSingle(dir string) error {
	single, err := r.Single()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(single, "", " ")
	if err != nil {
		return fmt.Errorf("make report.json: %w", err)
	}
	return r.write(dir, append(text, '\n'), single.figures())
}
