package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// readRun reads the trials of the run in a directory, which may also be the directory of one of its trials, and groups
// them by configuration. The run may be finished, interrupted or still running. OpenRunReport adds what follows from
// all trials together, because a comparison does not need it.
//
// It returns an error if a file cannot be read. Trials without figures are not an error; they are reported as far as
// they got.
func readRun(dir string) (*RunReport, error) {
	run, err := runstore.ReadAny(dir)
	if err != nil {
		return nil, err
	}
	plan, manifest := run.Plan, run.Manifest
	r := &RunReport{
		Title: cmp.Or(plan.Title, plan.Experiment), Experiment: plan.Experiment, Test: plan.Test,
		Analysis: plan.Analysis, Axis: plan.Axis, About: plan.About,
		StartedMs: manifest.StartedMs, Goals: plan.Goals, Manifest: manifest, Load: plan.Load.Describe(plan.Axis),
		Notes: []string{}, plan: plan, unanswered: run.Unanswered(),
	}
	result := run.ResultSoFar()
	r.Verdict, r.Finished = result.Verdict, run.Result != nil
	r.Notes = append(r.Notes, result.Notes...)
	// Changes are relative to the last trial that was measured, which need not be the previous trial of the plan. A
	// trial that failed to start changed nothing.
	var before map[string]string
	for i, t := range run.Trials {
		trial, err := r.readTrial(t)
		if err != nil {
			return nil, err
		}
		if trial.result = result.Trials[i]; trial.Report != nil {
			trial.Report.Verdict = trial.result.Verdict
		}
		if trial.values, err = run.Values(t); err != nil {
			return nil, err
		}
		if trial.Changes = []tuning.Change{}; before != nil {
			trial.Changes = tuning.DiffSettings(before, trial.values)
		}
		if trial.Report == nil { // it may have ended before it reported a value
			trial.Changes = slices.DeleteFunc(trial.Changes, func(c tuning.Change) bool { return c.After == nil })
		} else {
			before = trial.values
		}
		r.Trials = append(r.Trials, trial)
	}
	r.rows(result)
	return r, nil
}

// readTrial reads the measurements of a trial, how it was launched, and what its topology reported. Steps without
// figures are kept, because their verdicts are known; only the tables and charts of the trial are then missing.
func (r *RunReport) readTrial(t runstore.Trial) (*TrialReport, error) {
	arguments, err := t.Arguments()
	if err != nil {
		return nil, err
	}
	reported, err := t.ReportedConfig()
	if err != nil {
		return nil, err
	}
	figures, err := t.Figures()
	if err != nil {
		return nil, err
	}
	out := &TrialReport{
		Number: t.Number, Label: t.Label, Configuration: t.Configuration, Repeat: t.Repeat, Point: t.Point,
		Settings: t.Settings, State: t.State, Error: t.Error, Launches: t.Launches, Steps: []TrialStep{},
		Arguments: append([]runstore.Entry{}, arguments.Shown()...), Launched: arguments.CommandLine(),
		Reported: reported, dir: t.Dir, figures: figures,
	}
	steps := t.Steps
	if figures != nil {
		steps = figures.Steps
	}
	for i := range steps {
		r.mibEstimated = r.mibEstimated || steps[i].MiBEstimated
		out.Steps = append(out.Steps, TrialStep{Step: steps[i], Name: stepName(r.plan.Axis, steps[i])})
	}
	if figures == nil || len(figures.Steps) == 0 || figures.SliceMs <= 0 {
		return out, nil
	}
	if out.Report, err = Build(figures, r.plan); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(t.Dir, runstore.FiguresFile), err)
	}
	out.Report.Title = t.Label
	return out, nil
}

// rows combines the launches of each configuration. Verdict, capacity, limiters and the least idle ratio come from the
// judgement of the run.
func (r *RunReport) rows(result runstore.Result) {
	r.Rows = []RowReport{}
	for _, row := range result.Rows {
		out := RowReport{Configuration: row.Configuration, Label: row.Label, Point: row.Point,
			RunJudgement: row.RunJudgement, Repeats: []tuning.Interval{}}
		for _, t := range r.trialsOf(row.Configuration) {
			if out.Launches += t.Launches; len(t.Steps) > 0 {
				out.Repeats = append(out.Repeats, t.result.Capacity)
			}
		}
		r.Rows = append(r.Rows, out)
	}
}
