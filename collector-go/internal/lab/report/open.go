package report

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// OpenRunReport reads a run's directory, or that of one of its trials, be the run finished, interrupted or under way.
func OpenRunReport(dir string) (*RunReport, error) {
	run, err := runstore.ReadAny(dir)
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
	v := VolumeReport{Configurations: []runstore.DataVolume{}}
	var all []runstore.Step
	for _, row := range r.Rows {
		var steps []runstore.Step
		for _, t := range r.Trials {
			if t.Configuration == row.Configuration {
				steps = append(steps, t.measuredSteps()...)
			}
		}
		all = append(all, steps...)
		v.Configurations = append(v.Configurations, runstore.AverageVolume(steps))
	}
	v.DataVolume = runstore.AverageVolume(all)
	return v
}
