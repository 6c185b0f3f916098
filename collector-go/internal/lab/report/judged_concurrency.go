package report

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// concurrency judges each configuration's steps along the axis of queries; none on another axis.
func (r *RunReport) concurrency() (all []NamedConcurrency, err error) {
	for _, row := range r.Rows {
		c, err := r.concurrencyOf(row)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, *c)
		}
	}
	return all, nil
}

// concurrencyOf judges a configuration's steps; nil on another axis, or where none has its CPU.
func (r *RunReport) concurrencyOf(row RowReport) (*NamedConcurrency, error) {
	if r.Axis != runstore.Queries {
		return nil, nil
	}
	var rows []tuning.ConcurrencyRow
	for _, m := range r.withCosts(row.Configuration) {
		if step := m.concurrency(); step.AverageCPUMsPerMinute.Known() {
			rows = append(rows, step)
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	c, err := tuning.AnalyzeConcurrency(rows, goalsOf(r.plan), tuning.DefaultConfidence)
	if err != nil {
		return nil, err
	}
	return &NamedConcurrency{row.Label, c, rows}, nil
}

// withCosts are the places that the search for the capacity measured, and those of the loads that were measured for
// what a query costs alone.
func (r *RunReport) withCosts(configuration int) []measured {
	all := r.measured(configuration)
	for value, cost := range r.costs(configuration) {
		i := slices.IndexFunc(all, func(m measured) bool { return m.value == value })
		if i < 0 {
			i = len(all)
			all = append(all, measured{value: value, verdicts: []tuning.Verdict{tuning.Inconclusive},
				steps: cost.steps})
			if len(cost.mirrored) > 0 {
				all[i].verdicts[0] = tuning.OK
			}
		}
		all[i].mirrored = cost.mirrored
	}
	slices.SortFunc(all, func(a, b measured) int { return cmp.Compare(a.value, b.value) })
	return all
}

// costs are the loads that were measured for the cost, by their places; those that were OK are its points.
func (r *RunReport) costs(configuration int) map[float64]measured {
	all := map[float64]measured{}
	for _, t := range r.reported() {
		for _, s := range t.Steps {
			step := t.Report.stepAt(s.StartMs)
			if t.Configuration != configuration || s.Kind != runstore.CostStep || step == nil {
				continue
			}
			m := all[s.Value]
			if m.steps = append(m.steps, step); s.Verdict == tuning.OK {
				m.mirrored = append(m.mirrored, step)
			}
			all[s.Value] = m
		}
	}
	return all
}

// concurrency is the place as a row: the means of its launches, with each time that it was measured.
func (m measured) concurrency() tuning.ConcurrencyRow {
	return tuning.ConcurrencyRow{Queries: int(m.value), Verdict: m.verdict(),
		AverageCPUMsPerMinute: m.mean(func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }),
		AverageResultSize:     m.mean(func(s *StepReport) Figure { return s.AverageResultSize }),
		Workers:               m.mean(func(s *StepReport) Figure { return Figure(s.Workers) }),
		TotalCPUMsPerMinute:   m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }),
		AverageGCMsPerMinute:  m.mean(func(s *StepReport) Figure { return s.AverageGCMsPerMinute }),
		Launches:              launchCosts(m.attempts), Mirrored: launchCosts(m.mirrored)}
}

// launchCosts are a run's, none where no step was OK: not those of a table, which are nil.
func launchCosts(steps []*StepReport) []tuning.LaunchCost {
	all := []tuning.LaunchCost{}
	for _, s := range steps {
		all = append(all, tuning.LaunchCost{
			AverageCPUMsPerMinute: s.AverageCPUMsPerMinute, TotalCPUMsPerMinute: s.TotalCPUMsPerMinute,
			Slices: s.slices,
		})
	}
	return all
}
