package report

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// trial reads what was measured of one.
func (r *RunReport) trial(t runstore.Trial) (*TrialReport, error) {
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
		return nil, fmt.Errorf("%s: %w", filepath.Join(t.Dir, runstore.FiguresFile), err)
	}
	out.Report.Title = t.Label
	return out, nil
}

// completeStep gives a step what older runs' files lack, as far as it follows from the rest: what limited it, the
// percentiles that it was judged by, and its volume by the bytes that the source counted. A volume by the records'
// stated size is an estimate.
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

// rows puts the launches of each configuration together; what was not finished is as far as it came.
func (r *RunReport) rows(result *runstore.Result) {
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
	return tuning.IntervalOf(runstore.Measured(t.measuredSteps()))
}

func (t TrialReport) measuredSteps() (all []runstore.Step) {
	for _, s := range t.Steps {
		all = append(all, s.Step)
	}
	return all
}

// readLaunch reads how the trial was launched, and what its topology reported.
func (t *TrialReport) readLaunch(trial runstore.Trial) error {
	arguments, err := trial.Arguments()
	if err != nil {
		return err
	}
	t.Arguments, t.Launched = append([]runstore.Entry{}, arguments.Shown()...), arguments.CommandLine()
	t.Reported, err = trial.ReportedConfig()
	return err
}
