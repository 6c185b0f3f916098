package runstore

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// List reads the runs directly below a directory, the oldest first. It skips directories that contain no run.
// unreadable has one error for each run that cannot be read.
func List(dir string) (runs []*Run, unreadable []error, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		run, err := Read(filepath.Join(dir, entry.Name()))
		switch {
		case errors.Is(err, ErrNoRun):
		case err != nil:
			unreadable = append(unreadable, err)
		default:
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(a, b *Run) int {
		return cmp.Or(cmp.Compare(a.Manifest.StartedMs, b.Manifest.StartedMs), cmp.Compare(a.Dir, b.Dir))
	})
	return runs, unreadable, nil
}

// Last returns the newest run of an experiment among runs that List returned; nil if there is none.
func Last(runs []*Run, experiment string) *Run {
	for _, run := range slices.Backward(runs) {
		if run.Plan.Experiment == experiment {
			return run
		}
	}
	return nil
}

// Progress returns the numbers of finished, failed and all trials.
func (r *Run) Progress() (finished, failed, all int) {
	for _, t := range r.Trials {
		switch t.State {
		case Finished:
			finished++
		case Failed:
			failed++
		}
	}
	return finished, failed, len(r.Trials)
}
