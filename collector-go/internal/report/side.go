package report

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// side is one of the two that are compared, with the report of each configuration's first launch, from which figures
// are drawn.
type side struct {
	compare.Side
	first map[string]*Report // by the configuration's label
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
	s := &side{
		Side:  compare.Side{Directory: dir, ID: run.Manifest.ID, StartedMs: run.Manifest.StartedMs},
		first: map[string]*Report{},
	}
	launches := map[int][]*launch{}
	var order []rundir.Trial // the first of each configuration
	for _, t := range run.Trials {
		if !wanted(t) || len(t.Steps) == 0 {
			continue
		}
		l, err := openLaunch(t, run.Plan.Axis)
		if err != nil {
			return nil, err
		}
		if launches[t.Configuration] == nil {
			order = append(order, t)
		}
		launches[t.Configuration] = append(launches[t.Configuration], l)
	}
	for _, t := range order {
		values, err := run.Values(t)
		if err != nil {
			return nil, err
		}
		s.add(compare.Configuration{
			Label: t.Label, Unit: capacityUnit(run.Plan), Values: values, Queries: run.Plan.Axis == rundir.Queries,
		}, launches[t.Configuration])
	}
	if len(s.Configurations) == 0 {
		return nil, fmt.Errorf("%s: no step of it was measured yet, so there is nothing to compare", dir)
	}
	return s, nil
}

// capacityUnit is what the capacity of a plan's configurations counts, "" where they have none.
func capacityUnit(plan rundir.Plan) string {
	if plan.Analysis == rundir.OfTimeline {
		return ""
	}
	return plan.Axis.Unit()
}

// add adds a configuration with its launches.
func (s *side) add(c compare.Configuration, launches []*launch) {
	var reports []*Report
	for _, l := range launches {
		reports = append(reports, l.report)
		c.Launches = append(c.Launches, l.values())
	}
	c.GC = gcOverLaunches(reports)
	s.first[c.Label], s.Configurations = reports[0], append(s.Configurations, c)
}

func openLaunch(t rundir.Trial, axis rundir.Axis) (*launch, error) {
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
		at := placed{
			value:   s.Value,
			name:    stepName(axis, s),
			size:    s.Clients.AverageResultSize,
			verdict: s.Verdict,
			step: Step{
				Queries: s.Queries, StartMs: s.StartMs, MeasuredFromMs: s.MeasuredFromMs, EndMs: s.EndMs,
				HostIdle:         s.HostIdle,
				RecordsPerSecond: s.RecordsPerSecond,
			},
		}
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
		value, verdict := float64(s.Queries), r.Steps[i].Verdict
		l.steps = append(l.steps, placed{value, r.Steps[i].name(), s, s.Clients.AverageResultSize, verdict})
		l.judged = append(l.judged, tuning.Measured{Value: value, Verdict: verdict})
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
	s := &side{
		Side:  compare.Side{Directory: dir, ID: run.Topology, StartedMs: run.SubmittedMs},
		first: map[string]*Report{},
	}
	s.add(compare.Configuration{Unit: rundir.Queries.Unit(), Values: values, Queries: true}, []*launch{&l})
	return s, nil
}

// manifestKeys are the names under which a comparison knows lines of a single run's manifest.
var manifestKeys = map[string]string{
	"Storm": tuning.OfVersions + "storm", "Bullet": tuning.OfVersions + "bullet",
	"Plugin":              tuning.OfVersions + "plugin",
	"Java of the workers": tuning.OfVersions + "java", "Bullet Metrics": tuning.OfVersions + "bullet_metrics",
	"Processors": tuning.OfMachine + "cpu_model", "Memory": tuning.OfMachine + "memory",
	"Workers": "launch.workers", "JVM flags of the workers": "launch.worker_flags",
}
