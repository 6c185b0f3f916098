package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// OpenRunReport reads a run's directory, or that of one of its trials, be the run finished, interrupted or under way.
func OpenRunReport(dir string) (*RunReport, error) {
	run, err := rundir.ReadAny(dir)
	if err != nil {
		return nil, err
	}
	plan, manifest := run.Plan, run.Manifest
	r := &RunReport{
		Title: cmp.Or(plan.Title, plan.Experiment), Experiment: plan.Experiment, Test: plan.Test,
		Analysis: plan.Analysis, Axis: plan.Axis, About: plan.About, Verdict: tuning.Inconclusive,
		StartedMs: manifest.StartedMs, Goals: plan.Goals, Manifest: manifest, Load: plan.Load.Describe(plan.Axis),
		Notes: []string{}, plan: plan,
	}
	if r.unanswered = run.Unanswered(); run.Result != nil {
		run.Result.Doubt(r.unanswered) // older programs took the rate at which the search ended
		r.Verdict, r.Finished = run.Result.Verdict, true
		r.Notes = append(r.Notes, run.Result.Notes...)
	}
	var before map[string]string
	for _, t := range run.Trials {
		trial, err := r.trial(t)
		if err != nil {
			return nil, err
		}
		values, err := run.Values(t)
		if err != nil {
			return nil, err
		}
		if trial.Changes = []tuning.Change{}; before != nil {
			trial.Changes = tuning.DiffSettings(before, values)
		}
		if trial.Report == nil { // what it did not live to report did not go away
			trial.Changes = slices.DeleteFunc(trial.Changes, func(c tuning.Change) bool { return c.After == nil })
		}
		if trial.Report != nil {
			before = values
		}
		r.Trials = append(r.Trials, *trial)
	}
	r.rows(run.Result)
	r.compareConfigurations(dir, run)
	r.Judged = r.judged()
	r.Notes = append(r.Notes, r.Judged.notes...)
	r.Caveats = r.caveats()
	r.Volume = r.volumeReport()
	return r, nil
}

// trial reads what was measured of one.
func (r *RunReport) trial(t rundir.Trial) (*TrialReport, error) {
	out := &TrialReport{
		Number: t.Number, Label: t.Label, Configuration: t.Configuration, Repeat: t.Repeat, Point: t.Point,
		Settings: t.Settings, State: t.State, Error: t.Error, Launches: t.Launches, Steps: []TrialStep{},
	}
	if err := out.readLaunch(t); err != nil {
		return nil, err
	}
	figures, err := t.Figures()
	if err != nil {
		return nil, err
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
		return nil, fmt.Errorf("%s: %w", filepath.Join(t.Dir, rundir.FiguresFile), err)
	}
	out.Report.Title = t.Label
	return out, nil
}

// completeStep gives a step what older runs' files lack, as far as it follows from the rest: what limited it, the
// percentiles that it was judged by, and its volume by the bytes that the source counted. A volume by the records'
// stated size is an estimate.
func completeStep(s *rundir.Step) {
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

// mibCaveat states that the volume is no count.
func (r *RunReport) mibCaveat() []string {
	if !r.mibEstimated {
		return nil
	}
	size := ""
	if bytes := r.plan.Load.MeanRecordBytes; bytes.Known() {
		size = " (" + tuning.Digits(bytes) + " bytes)"
	}
	return []string{"MiB/s are an estimate: records/s times the stated mean size of a record" + size +
		", since the source counts no bytes."}
}

// rows puts the launches of each configuration together; what was not finished is as far as it came.
func (r *RunReport) rows(result *rundir.Result) {
	r.Rows = []RowReport{}
	for _, t := range r.Trials {
		i := slices.IndexFunc(r.Rows, func(row RowReport) bool { return row.Configuration == t.Configuration })
		if i < 0 {
			i = len(r.Rows)
			r.Rows = append(r.Rows,
				RowReport{Configuration: t.Configuration, Label: t.Label, Point: t.Point, Verdict: tuning.Inconclusive,
					Capacity: tuning.Interval{Note: "the run has not ended"}, Limiters: []string{},
					LeastHostIdle: Unknown,
					Repeats:       []tuning.Interval{}})
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

// capacity is the trial's own.
func (t TrialReport) capacity() tuning.Interval {
	return tuning.IntervalOf(rundir.Measured(t.measuredSteps()))
}

func (t TrialReport) measuredSteps() (all []rundir.Step) {
	for _, s := range t.Steps {
		all = append(all, s.Step)
	}
	return all
}

// caveats are the run's own, then those that every report has, each once.
func (r *RunReport) caveats() (all []string) {
	add := func(lines []string) {
		for _, line := range lines {
			if !slices.Contains(all, line) {
				all = append(all, line)
			}
		}
	}
	percentiles := false
	add(r.plan.Caveats)
	add(r.mibCaveat())
	if hostOfRun(r.plan) {
		add([]string{WorkerHosts})
	} else if r.plan.Launch == "local" {
		add([]string{oneMachine})
	}
	for _, t := range r.Trials {
		if t.Report != nil {
			add(t.Report.Caveats)
			percentiles = percentiles || t.Report.percentiles
		}
	}
	add(generalCaveats(percentiles))
	return all
}

func (r *RunReport) volumeReport() VolumeReport {
	v := VolumeReport{Configurations: []rundir.DataVolume{}}
	var all []rundir.Step
	for _, row := range r.Rows {
		var steps []rundir.Step
		for _, t := range r.Trials {
			if t.Configuration == row.Configuration {
				steps = append(steps, t.measuredSteps()...)
			}
		}
		all = append(all, steps...)
		v.Configurations = append(v.Configurations, rundir.AverageVolume(steps))
	}
	v.DataVolume = rundir.AverageVolume(all)
	return v
}

// readLaunch reads how the trial was launched, and what its topology reported.
func (t *TrialReport) readLaunch(trial rundir.Trial) error {
	arguments, err := trial.Arguments()
	if err != nil {
		return err
	}
	t.Arguments, t.Launched = append([]rundir.Entry{}, arguments.Shown()...), arguments.CommandLine()
	t.Reported, err = trial.ReportedConfig()
	return err
}
