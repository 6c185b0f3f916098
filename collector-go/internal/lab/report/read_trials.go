package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// readRun reads the trials of a run and puts those of each configuration together, be the run finished, interrupted or
// under way. What follows from all trials together is left to OpenRunReport, since a comparison does not need it.
//
// An error is one of a file that cannot be read. Trials without figures are no error: they are reported as far as they
// came.
func readRun(run *runstore.Run) (*RunReport, error) {
	plan, manifest := run.Plan, run.Manifest
	r := &RunReport{
		Title: cmp.Or(plan.Title, plan.Experiment), Experiment: plan.Experiment, Test: plan.Test,
		Analysis: plan.Analysis, Axis: plan.Axis, About: plan.About, Verdict: tuning.Inconclusive,
		StartedMs: manifest.StartedMs, Goals: plan.Goals, Manifest: manifest, Load: plan.Load.Describe(plan.Axis),
		Notes: []string{}, plan: plan, unanswered: run.Unanswered(),
	}
	if run.Result != nil {
		run.Result.Doubt(r.unanswered) // older programs took the rate at which the search ended
		r.Verdict, r.Finished = run.Result.Verdict, true
		r.Notes = append(r.Notes, run.Result.Notes...)
	}
	// Changes are against the trial that was measured before, which need not be the one before in the plan: a trial
	// that failed to start changed nothing.
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
		if trial.Report == nil { // what it did not live to report did not go away
			trial.Changes = slices.DeleteFunc(trial.Changes, func(c tuning.Change) bool { return c.After == nil })
		} else {
			before = trial.values
		}
		r.Trials = append(r.Trials, *trial)
	}
	r.rows(run.Result)
	return r, nil
}

// readTrial reads what was measured of a trial, how it was launched, and what its topology reported. Steps without
// figures are kept, since their verdicts are known; only the tables and charts of the trial are missing then.
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

// completeStep gives a step what the files of older runs lack, as far as it follows from the rest: what limited it, the
// percentiles that it was judged by, and whether its volume is an estimate. The verdict is never computed again: it
// decided how the search went on, and a report must not contradict the run. Volume comes from the bytes that the source
// counted, where it counted them; a volume by the records' stated size is an estimate.
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

// rows puts the launches of each configuration together. Verdict, capacity and label are those of the stored result;
// while the run has not ended the rows are as far as it came.
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

// add adds a launch to its configuration. Limiters are those of steps that missed their goals; an inconclusive step
// counts only if somebody looked at what limited it.
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

// capacity is the trial's own. It shows how far the repeats of a configuration are apart.
func (t TrialReport) capacity() tuning.Interval {
	return tuning.IntervalOf(runstore.Measured(t.measuredSteps()))
}

// measuredSteps are the steps as they were stored, in the order in which they were run.
func (t TrialReport) measuredSteps() []runstore.Step {
	return each(t.Steps, func(s TrialStep) runstore.Step { return s.Step })
}
