// Package runstore reads and writes the directory of one run of an experiment: the experiment file, the plan, the
// manifest, the progress, the measured steps and the result.
//
// The package owns the names and the formats of these files (docs/formats/run-directory.md). Its types are the JSON
// documents themselves, and the vocabulary that the runner, the measurement and the reports share. It must not know
// how a run is executed or how a report presents it.
//
// Three rules make a run resumable and its results trustworthy. progress.jsonl is only appended to, and it is the only
// file with the state of the run. A step's file is written once, and progress.jsonl holds its SHA-256. Every other
// file is replaced as a whole or not at all.
//
// Start reading at Read in this file; Writer in writer.go is its counterpart.
package runstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Files and directories of a run, relative to its directory.
const (
	ExperimentFile = "experiment.yaml"
	PlanFile       = "plan.json"
	ManifestFile   = "manifest.json"
	ProgressFile   = "progress.jsonl"
	ResultFile     = "result.json"
	TrialsDir      = "trials"
	// DataDir is the data directory of the run's own collector, if it has one; ReportDir is for reports.
	DataDir   = "data"
	ReportDir = "report"
)

// Files and directories of a trial, relative to its directory.
const (
	SettingsFile = "bullet_settings.yaml" // the Bullet YAML, byte for byte
	// Arguments in JSON: the settings that override the Bullet YAML, and the launch command
	ArgumentsFile = "arguments.json"
	FiguresFile   = "run.json"       // Figures: all series of the trial
	OutcomesFile  = "outcomes.jsonl" // one line per ended query
	SeriesFile    = "series.json"    // the further series that the experiment asked for
	StepsDir      = "steps"
	LogsDir       = "logs"
)

// Run is the content of a run directory at the time of reading. The directory of a run that is still measuring can be
// read too: it has no Result, and its last trial is unfinished.
type Run struct {
	Dir        string
	Experiment []byte // experiment.yaml, byte for byte
	Plan       Plan
	Manifest   Manifest
	Events     []Event
	// Trials are in the order of the plan, including those that have not begun.
	Trials []Trial
	// Result is nil until the run has ended by itself.
	Result *Result
}

// Lacking reports whether any trial is unfinished.
func (r *Run) Lacking() bool {
	return slices.ContainsFunc(r.Trials, func(t Trial) bool { return t.State != Finished })
}

// Trial is a planned trial with its state, which is derived from the events of progress.jsonl. A trial may have
// several launches, because a resumed run launches the topology again; its steps may come from any of them.
type Trial struct {
	PlannedTrial
	Dir   string
	State TrialState
	// Launches is how often the trial's topology was launched.
	Launches int
	// Steps are the finished steps with valid checksums, in the order in which they were run.
	Steps []Step
	Error string // why the trial failed
}

// Arguments is arguments.json: how a trial's topology was launched.
type Arguments struct {
	// Settings override the Bullet YAML, as "key=value". They include those of the stack, such as addresses.
	Settings []string `json:"settings"`
	// Launch is the command line that submitted the topology; empty if the local cluster did.
	Launch []string `json:"launch,omitempty"`
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._=+-]+`)

// Name returns the name of the trial's directory below trials/.
func (t PlannedTrial) Name() string {
	name := strings.Trim(notInNames.ReplaceAllString(t.Label, "-"), "-")
	if len(name) > maxNameBytes {
		name = name[:maxNameBytes]
	}
	return strings.TrimRight(fmt.Sprintf("%02d-%s", t.Number, name), "-")
}

// maxNameBytes bounds the part of a directory's name that comes from the label.
const maxNameBytes = 60

// TrialDir returns a trial's directory below the given run directory.
func TrialDir(run string, t PlannedTrial) string { return filepath.Join(run, TrialsDir, t.Name()) }

// StepFile returns the path of a step's file, relative to the run's directory.
func StepFile(t PlannedTrial, number int) string {
	return filepath.Join(TrialsDir, t.Name(), StepsDir, fmt.Sprintf("%02d.json", number))
}

// ErrNoRun means that a directory contains no run.
var ErrNoRun = errors.New("not a run directory")

// Read reads a run's directory. A step file whose checksum differs from that in progress.jsonl is an error, because
// its figures cannot be trusted.
func Read(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	var err error
	if r.Experiment, err = os.ReadFile(filepath.Join(dir, ExperimentFile)); err != nil {
		return nil, fmt.Errorf("%s is %w: it has no %s", dir, ErrNoRun, ExperimentFile)
	}
	if err := readJSON(filepath.Join(dir, PlanFile), &r.Plan); err != nil {
		return nil, fmt.Errorf("%s is %w: %w", dir, ErrNoRun, err)
	}
	if err := readJSON(filepath.Join(dir, ManifestFile), &r.Manifest); err != nil {
		return nil, err
	}
	if r.Events, err = readEvents(filepath.Join(dir, ProgressFile)); err != nil {
		return nil, err
	}
	for _, e := range r.Events {
		if e.Kind == TrialPlanned && e.Planned != nil && e.Planned.Number == len(r.Plan.Trials)+1 {
			r.Plan.Trials = append(r.Plan.Trials, *e.Planned)
		}
	}
	if r.Trials, err = trialsOf(dir, r.Plan, r.Events); err != nil {
		return nil, err
	}
	if r.Result, err = readIfThere[Result](filepath.Join(dir, ResultFile)); err != nil {
		return nil, err
	}
	if r.Result != nil && !r.Result.holdsFor(r.Trials) {
		r.judgeAgain()
	}
	return r, nil
}

// ReadAny reads a run's directory, or the directory of a single trial. In the second case the run contains only that
// trial.
func ReadAny(dir string) (*Run, error) {
	run, err := Read(dir)
	parent := filepath.Dir(filepath.Clean(dir))
	if !errors.Is(err, ErrNoRun) || filepath.Base(parent) != TrialsDir {
		return run, err
	}
	if run, err = Read(filepath.Dir(parent)); err != nil {
		return nil, err
	}
	return run, run.only(filepath.Base(filepath.Clean(dir)))
}

// only removes all trials but the one whose directory has the given name.
func (r *Run) only(name string) error {
	var names []string
	for i, t := range r.Trials {
		if names = append(names, t.Name()); t.Name() != name {
			continue
		}
		r.Trials, r.Plan.Trials = r.Trials[i:i+1], r.Plan.Trials[i:i+1]
		r.judgeAgain() // of this trial alone
		return nil
	}
	return fmt.Errorf("%s: the run has no trial %q; it has %s", filepath.Join(r.Dir, TrialsDir, name), name,
		strings.Join(names, ", "))
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readIfThere is readJSON for an optional file. It returns nil if the file does not exist.
func readIfThere[T any](path string) (*T, error) {
	into := new(T)
	err := readJSON(path, into)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return into, err
}

// trialsOf applies the events of progress.jsonl to the trials of the plan.
func trialsOf(dir string, plan Plan, events []Event) ([]Trial, error) {
	trials := make([]Trial, len(plan.Trials))
	for i, planned := range plan.Trials {
		trials[i] = Trial{PlannedTrial: planned, Dir: TrialDir(dir, planned), State: Waiting}
	}
	for _, event := range events {
		if event.Trial == 0 {
			continue
		}
		if event.Trial < 0 || event.Trial > len(trials) {
			return nil, fmt.Errorf("%s names trial %d, but %s has %d trials", filepath.Join(dir, ProgressFile),
				event.Trial, PlanFile, len(trials))
		}
		if err := trials[event.Trial-1].follow(dir, event); err != nil {
			return nil, err
		}
	}
	return trials, nil
}

func (t *Trial) follow(dir string, event Event) error {
	switch event.Kind {
	case TrialStarted:
		t.State, t.Launches, t.Error = Underway, t.Launches+1, ""
	case TrialFinished:
		t.State = Finished
	case TrialFailed:
		t.State, t.Error = Failed, event.Text
	case StepFinished:
		step, err := readStep(dir, event)
		if err != nil {
			return err
		}
		t.Steps = append(t.Steps, step)
	}
	return nil
}

func readStep(dir string, event Event) (step Step, err error) {
	path := filepath.Join(dir, event.File)
	if !filepath.IsLocal(event.File) {
		return step, fmt.Errorf("%s names a file outside the run directory: %q", filepath.Join(dir, ProgressFile), event.File)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return step, err
	}
	if sum := checksum(text); sum != event.SHA256 {
		return step, fmt.Errorf("%s was changed: its SHA-256 is %s, but %s has %s; restore the file, or run the experiment again",
			path, sum, ProgressFile, event.SHA256)
	}
	if err := json.Unmarshal(text, &step); err != nil {
		return step, fmt.Errorf("%s: %w", path, err)
	}
	step.Complete()
	return step, nil
}

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
