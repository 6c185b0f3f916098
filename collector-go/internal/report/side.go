package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// side is one of the two that are compared: the configurations that a directory holds.
type side struct {
	dir            string
	id             string
	startedMs      int64
	configurations []configuration
}

// configuration is one of a side, with all its launches.
type configuration struct {
	label    string
	unit     string            // what its capacity counts, "" where it has none
	values   map[string]string // settings, versions, machine and load by name
	launches []launch
	// queries says that its steps ascend along simultaneous queries.
	queries bool
}

// launch is what was measured of a topology once.
type launch struct {
	run      *Run
	report   *Report
	steps    []placed
	outcomes []outcome
	// judged are all attempts, also those that were measured again.
	judged []tuning.Measured
}

// placed is a step at its place on the axis.
type placed struct {
	value float64
	name  string
	step  Step
	size  Figure // the average result size
	// verdict and cores are those that the run gave it.
	verdict tuning.Verdict
}

// outcome is what a comparison needs of a query that ended (load.Outcome).
type outcome struct {
	IntendedMs  int64  `json:"intended_ms"`
	SubmittedMs int64  `json:"submitted_ms"`
	FinishedMs  int64  `json:"finished_ms"`
	LatencyUs   int64  `json:"latency_us"` // from when it was meant to start
	End         string `json:"end"`
	Records     int    `json:"records"`
}

// latencyMs is from when the query was meant to start to its end.
func (o outcome) latencyMs() Figure {
	if o.LatencyUs > 0 {
		return Figure(o.LatencyUs) / 1000
	}
	return Figure(o.FinishedMs - o.IntendedMs)
}

// openSide reads a run's directory, one of its trials', or that of a single run such as the demo's.
func openSide(dir string) (*side, error) {
	run, err := rundir.Load(dir)
	if err == nil {
		return sideOf(dir, run, func(rundir.Trial) bool { return true })
	}
	if !errors.Is(err, rundir.ErrNoRun) {
		return nil, err
	}
	if parent := filepath.Dir(filepath.Clean(dir)); filepath.Base(parent) == rundir.TrialsDir {
		if run, parentErr := rundir.Load(filepath.Dir(parent)); parentErr == nil {
			return sideOfTrial(dir, run)
		}
	}
	return singleSide(dir, err)
}

func sideOfTrial(dir string, run *rundir.Run) (*side, error) {
	name := filepath.Base(filepath.Clean(dir))
	var names []string
	for _, t := range run.Trials {
		names = append(names, filepath.Base(t.Dir))
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("%s: the run has no trial %q; it has %s", dir, name, strings.Join(names, ", "))
	}
	return sideOf(dir, run, func(t rundir.Trial) bool { return filepath.Base(t.Dir) == name })
}

func sideOf(dir string, run *rundir.Run, wanted func(rundir.Trial) bool) (*side, error) {
	s := &side{dir: dir, id: run.Manifest.ID, startedMs: run.Manifest.StartedMs}
	namer := &RunReport{plan: run.Plan}
	numbers := map[int]int{}
	for _, t := range run.Trials {
		if !wanted(t) || len(t.Steps) == 0 {
			continue
		}
		l, err := openLaunch(t, namer)
		if err != nil {
			return nil, err
		}
		i, found := numbers[t.Configuration]
		if !found {
			i = len(s.configurations)
			numbers[t.Configuration] = i
			values, err := run.Values(t)
			if err != nil {
				return nil, err
			}
			s.configurations = append(s.configurations, configuration{label: t.Label, unit: capacityUnit(run.Plan), values: values, queries: run.Plan.Axis == rundir.Queries})
		}
		s.configurations[i].launches = append(s.configurations[i].launches, *l)
	}
	if len(s.configurations) == 0 {
		return nil, fmt.Errorf("%s: no step of it was measured yet, so there is nothing to compare", dir)
	}
	return s, nil
}

func openLaunch(t rundir.Trial, namer *RunReport) (*launch, error) {
	run, err := LoadRun(t.Dir)
	if err != nil {
		return nil, err
	}
	run.adopt(t.Steps)
	l := &launch{run: run}
	if l.report, err = Build(run); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Dir, err)
	}
	for _, s := range t.Steps {
		step := Step{Queries: s.Queries, StartMs: s.StartMs, MeasuredFromMs: s.MeasuredFromMs, EndMs: s.EndMs, HostIdle: s.HostIdle, RecordsPerSecond: s.RecordsPerSecond}
		at := placed{value: s.Value, name: namer.stepName(s), step: step, size: s.Clients.AverageResultSize, verdict: s.Verdict}
		l.steps = slices.DeleteFunc(l.steps, func(p placed) bool { return p.value == s.Value }) // an earlier attempt
		l.steps, l.judged = append(l.steps, at), append(l.judged, tuning.Measured{Value: s.Value, Verdict: s.Verdict})
	}
	l.outcomes, err = readOutcomes(filepath.Join(t.Dir, rundir.OutcomesFile))
	return l, err
}

// singleSide is a directory that holds the figures of one run alone.
func singleSide(dir string, noRun error) (*side, error) {
	run, err := LoadRun(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noRun
	}
	if err != nil {
		return nil, err
	}
	r, err := Build(run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	l := launch{run: run, report: r}
	for i, s := range run.Steps {
		l.steps = append(l.steps, placed{float64(s.Queries), stepName(r.Steps[i]), s, s.Clients.AverageResultSize, r.Steps[i].Verdict})
		l.judged = append(l.judged, tuning.Measured{Value: float64(s.Queries), Verdict: r.Steps[i].Verdict})
	}
	if l.outcomes, err = readOutcomes(filepath.Join(dir, "queries.jsonl")); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, e := range run.Settings {
		values[strings.TrimPrefix(e.Key, "-c ")] = e.Value
	}
	for _, e := range run.Manifest {
		if key := manifestKeys[e.Key]; key != "" {
			values[key] = e.Value
		}
	}
	only := configuration{label: "", unit: rundir.Queries.Unit(), values: values, launches: []launch{l}, queries: true}
	return &side{dir: dir, id: run.Topology, startedMs: run.SubmittedMs, configurations: []configuration{only}}, nil
}

// manifestKeys are the names under which a comparison knows lines of a single run's manifest.
var manifestKeys = map[string]string{
	"Storm": tuning.OfVersions + "storm", "Bullet": tuning.OfVersions + "bullet", "Java of the workers": tuning.OfVersions + "java", "Plugin": tuning.OfVersions + "plugin",
	"Bullet Metrics": tuning.OfVersions + "bullet_metrics", "Processors": tuning.OfMachine + "cpu_model", "Memory": tuning.OfMachine + "memory", "Workers": "launch.workers",
	"JVM flags of the workers": "launch.worker_flags",
}

// mostLine bounds a line of outcomes.
const mostLine = 1 << 20

// readOutcomes reads what became of the queries; a file that is not there has none.
func readOutcomes(path string) (all []outcome, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, mostLine)
	for n := 1; lines.Scan(); n++ {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(a.FinishedMs, b.FinishedMs) })
	return all, lines.Err()
}

// ended are the step's queries that ended in one of some ways, in the order of their ends: those that were meant to start in it and lived
// in its measured time (load.Window).
func (l launch) ended(s Step, ends ...string) (all []outcome) {
	for _, o := range l.outcomes {
		if slices.Contains(ends, o.End) && o.IntendedMs >= s.StartMs && o.IntendedMs < s.EndMs && o.FinishedMs >= s.MeasuredFromMs {
			all = append(all, o)
		}
	}
	return all
}
