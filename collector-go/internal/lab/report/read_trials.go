package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// readRun reads the trials of a run, which may be finished, interrupted or still running, and groups them by
// configuration. OpenRunReport adds what follows from all trials together, because a comparison does not need it.
//
// It returns an error if a file cannot be read. Trials without figures are not an error; they are reported as far as
// they got.
func readRun(run *runstore.Run) (*RunReport, error) {
	plan, manifest := run.Plan, run.Manifest
	r := &RunReport{
		Title: cmp.Or(plan.Title, plan.Experiment), Experiment: plan.Experiment, Test: plan.Test,
		Analysis: plan.Analysis, Axis: plan.Axis, About: plan.About, Verdict: tuning.Inconclusive,
		StartedMs: manifest.StartedMs, Goals: plan.Goals, Manifest: manifest, Load: plan.Load.Describe(plan.Axis),
		Notes: []string{}, plan: plan, unanswered: run.Unanswered(),
	}
	if run.Result != nil {
		run.Result.Doubt(r.unanswered) // older programs accepted the rate at which the calibration ended
		r.Verdict, r.Finished = run.Result.Verdict, true
		r.Notes = append(r.Notes, run.Result.Notes...)
	}
	// Changes are relative to the last trial that was measured, which need not be the previous trial of the plan. A
	// trial that failed to start changed nothing.
	var before map[string]string
	for _, t := range run.Trials {
		trial, err := r.readTrial(t)
		if err != nil {
			return nil, err
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
		r.Trials = append(r.Trials, *trial)
	}
	r.rows(run.Result)
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
		completeStep(&steps[i])
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

// completeStep adds the fields that files of older runs lack, as far as they follow from the rest: what limited the
// step, the percentiles that it was judged by, and whether its volume is an estimate. It never computes the verdict
// again. The verdict decided how the search continued, and a report must not contradict the run. The volume comes from
// the bytes that the source counted, or else it is an estimate from the stated record size.
func completeStep(s *runstore.Step) {
	if s.Limitation == nil && s.Evidence != nil {
		l := tuning.Limit(*s.Evidence)
		l.AdjustFor(tuning.Judgement{Verdict: s.Verdict, Reasons: s.Reasons})
		s.Limitation = &l
	}
	if s.Limitation != nil && s.Verdict == tuning.OK {
		l := s.Limitation.OfOK() // older programs named a limiter
		s.Limitation = &l
	}
	if s.FilterLatency == nil {
		s.FilterLatency = percentilesOf(s.Figures)
	}
	if s.Evidence != nil && s.Evidence.Source.BytesPerSecond.Known() {
		s.MiBPerSecond, s.MiBEstimated = s.Evidence.Source.BytesPerSecond/(1<<20), false
		return
	}
	s.MiBEstimated = s.MiBPerSecond.Known()
}

// rows combines the launches of each configuration. Verdict, capacity and label come from the stored result. Before the
// run has ended, the rows show what was measured so far.
func (r *RunReport) rows(result *runstore.Result) {
	r.Rows = []RowReport{}
	for _, t := range r.Trials {
		i := slices.IndexFunc(r.Rows, func(row RowReport) bool { return row.Configuration == t.Configuration })
		if i < 0 {
			i = len(r.Rows)
			r.Rows = append(r.Rows, RowReport{
				Configuration: t.Configuration, Label: t.Label, Point: t.Point, Verdict: tuning.Inconclusive,
				Capacity: tuning.Interval{Note: "the run has not ended"}, Limiters: []string{}, LeastHostIdle: Unknown,
				Repeats: []tuning.Interval{},
			})
		}
		r.Rows[i].add(t)
	}
	if result == nil {
		return
	}
	for _, row := range result.Rows {
		for i := range r.Rows {
			if r.Rows[i].Configuration == row.Configuration {
				r.Rows[i].Label, r.Rows[i].Capacity, r.Rows[i].Verdict = row.Label, row.Capacity, row.Verdict
			}
		}
	}
}

// add adds a launch to its configuration. Limiters are those of steps that missed their goals. An inconclusive step
// counts only if its limiter was examined.
func (row *RowReport) add(t TrialReport) {
	row.Launches += t.Launches
	if len(t.Steps) > 0 {
		row.Repeats = append(row.Repeats, t.capacity())
	}
	for _, s := range t.explained() {
		if s.HostIdle.Known() && !(s.HostIdle >= row.LeastHostIdle) {
			row.LeastHostIdle = s.HostIdle
		}
		if s.Verdict == tuning.OK || s.Limitation == nil && s.Verdict == tuning.Inconclusive {
			continue
		}
		names := []string{unknownLimiter}
		if s.Limitation != nil {
			names = limiters(*s.Limitation)
		}
		for _, name := range names {
			if !slices.Contains(row.Limiters, name) {
				row.Limiters = append(row.Limiters, name)
			}
		}
	}
}

// capacity returns the capacity of this trial alone. It shows how much the repeats of a configuration differ.
func (t TrialReport) capacity() tuning.Interval {
	return tuning.IntervalOf(runstore.Measured(t.measuredSteps()))
}

// measuredSteps returns the steps in the order in which they ran.
func (t TrialReport) measuredSteps() []runstore.Step {
	return each(t.Steps, func(s TrialStep) runstore.Step { return s.Step })
}
