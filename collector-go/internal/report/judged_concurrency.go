package report

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// concurrency judges each configuration's steps along the axis of queries; none on another axis.
func (r *RunReport) concurrency() (all []NamedConcurrency, err error) {
	if r.Axis != rundir.Queries {
		return nil, nil
	}
	goals := r.completenessGoals()
	for _, row := range r.Rows {
		var rows []tuning.ConcurrencyRow
		for _, m := range r.measured(row.Configuration) {
			if step := m.concurrency(); step.AverageCPUMsPerMinute.Known() {
				rows = append(rows, step)
			}
		}
		if len(rows) == 0 {
			continue
		}
		c, err := tuning.AnalyzeConcurrency(rows, goals, tuning.DefaultConfidence)
		if err != nil {
			return nil, err
		}
		all = append(all, NamedConcurrency{row.Label, c, rows})
	}
	return all, nil
}

// completenessGoals are those of the run, the document's where it has none.
func (r *RunReport) completenessGoals() tuning.Goals {
	goals := tuning.DefaultGoals()
	if n := r.plan.Load.QueryLimit; n > 0 {
		goals.ExpectedResultSize = float64(n)
	}
	for _, g := range r.Goals {
		if g.Figure == tuning.ResultSize && g.AtLeast.Known() && float64(g.AtLeast) <= goals.ExpectedResultSize {
			goals.Tolerance = 1 - float64(g.AtLeast)/goals.ExpectedResultSize
		}
	}
	return goals
}

// concurrency is the place as a row: the means of its launches, with each time that it was measured.
func (m measured) concurrency() tuning.ConcurrencyRow {
	row := tuning.ConcurrencyRow{Queries: int(m.value), Verdict: m.verdict(),
		AverageCPUMsPerMinute: m.mean(func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }),
		AverageResultSize:     m.mean(func(s *StepReport) Figure { return s.AverageResultSize }),
		Workers:               m.mean(func(s *StepReport) Figure { return Figure(s.Workers) }),
		TotalCPUMsPerMinute:   m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }),
		AverageGCMsPerMinute:  m.mean(func(s *StepReport) Figure { return s.AverageGCMsPerMinute })}
	for _, s := range m.attempts {
		row.Launches = append(row.Launches, tuning.LaunchCost{
			AverageCPUMsPerMinute: s.AverageCPUMsPerMinute,
			TotalCPUMsPerMinute:   s.TotalCPUMsPerMinute,
			Slices:                s.slices,
		})
	}
	return row
}
