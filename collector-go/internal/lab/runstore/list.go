package runstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
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

// Listed is a run as tune list prints it.
type Listed struct {
	Run        string `json:"run"`
	Experiment string `json:"experiment"`
	StartedMs  int64  `json:"started_ms"`
	Trials     string `json:"trials"`
	Verdict    string `json:"verdict"`
	// Volume is averaged over the measured time of the run.
	Volume DataVolume `json:"data_volume"`
	Rows   []string   `json:"rows"`
	Result *Result    `json:"result"`
}

// Listed returns the run as a line of a list.
func (r *Run) Listed() Listed {
	l := Listed{Run: r.Dir, Experiment: r.Plan.Experiment, StartedMs: r.Manifest.StartedMs, Trials: r.TrialsText(),
		Verdict: "running or interrupted", Result: r.Result, Rows: r.Capacities(), Volume: r.Volume()}
	if r.Result != nil {
		l.Verdict = string(r.Result.Verdict)
	}
	return l
}

// took returns how long a run took, interruptions included.
func (l Listed) took() string {
	if l.Result == nil {
		return "–"
	}
	return time.Duration((l.Result.FinishedMs - l.StartedMs) * int64(time.Millisecond)).Round(time.Second).String()
}

// ListText returns runs as a table, and below it the errors of the runs that cannot be read.
func ListText(all []Listed, unreadable []error) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STARTED (UTC)\tEXPERIMENT\tVERDICT\tTRIALS\tTOOK\tRECORDS/S\tMIB/S\tCAPACITY\tDIRECTORY")
	for _, l := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			time.UnixMilli(l.StartedMs).UTC().Format("2006-01-02 15:04"), l.Experiment, l.Verdict, l.Trials, l.took(),
			tuning.Digits(l.Volume.RecordsPerSecond), tuning.Digits(l.Volume.MiBPerSecond), strings.Join(l.Rows, "; "),
			l.Run)
	}
	table.Flush()
	for _, problem := range unreadable {
		fmt.Fprintf(&out, "unreadable: %v\n", problem)
	}
	return out.String()
}
