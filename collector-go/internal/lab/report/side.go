package report

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// side is one of the two that are compared, with the report of each configuration's first launch, from which figures
// are drawn.
type side struct {
	compare.Side
	first map[string]*Report // by the configuration's label
}

// openSide reads a run's directory, or that of one of its trials.
func openSide(dir string) (*side, error) {
	run, err := runstore.ReadAny(dir)
	if err != nil {
		return nil, err
	}
	return sideOf(dir, run, func(runstore.Trial) bool { return true })
}

func sideOf(dir string, run *runstore.Run, wanted func(runstore.Trial) bool) (*side, error) {
	s := &side{
		Side:  compare.Side{Directory: dir, ID: run.Manifest.ID, StartedMs: run.Manifest.StartedMs},
		first: map[string]*Report{},
	}
	launches := map[int][]*launch{}
	var order []runstore.Trial // the first of each configuration
	for _, t := range run.Trials {
		if !wanted(t) || len(t.Steps) == 0 {
			continue
		}
		l, err := openLaunch(t, run.Plan)
		if err != nil {
			return nil, err
		}
		if launches[t.Configuration] == nil {
			order = append(order, t)
		}
		launches[t.Configuration] = append(launches[t.Configuration], l)
	}
	costs, err := costsOf(run, wanted)
	if err != nil {
		return nil, err
	}
	for _, t := range order {
		values, err := run.Values(t)
		if err != nil {
			return nil, err
		}
		s.add(compare.Configuration{
			Label: t.Label, Unit: capacityUnit(run.Plan), Values: values, Costs: costs[t.Configuration],
			OwnMs: Figure(launches[t.Configuration][0].report.window()),
		}, launches[t.Configuration])
	}
	if len(s.Configurations) == 0 {
		return nil, fmt.Errorf("%s: no step of it was measured yet, so there is nothing to compare", dir)
	}
	return s, nil
}

// costsOf are what a query costs in each configuration, as the run's report estimates it.
func costsOf(run *runstore.Run, wanted func(runstore.Trial) bool) (map[int][]compare.Cost, error) {
	r := &RunReport{Axis: run.Plan.Axis, plan: run.Plan}
	for _, t := range run.Trials {
		if !wanted(t) {
			continue
		}
		trial, err := r.trial(t)
		if err != nil {
			return nil, err
		}
		r.Trials = append(r.Trials, *trial)
	}
	r.rows(nil)
	all := map[int][]compare.Cost{}
	for _, row := range r.Rows {
		c, err := r.concurrencyOf(row)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all[row.Configuration] = []compare.Cost{
				{Name: "CPU that a query adds, all workers", Worse: "up", Estimate: c.MarginalTotal, Line: c.TotalFit},
				{Name: "CPU that a query adds, mean of a worker", Estimate: c.Marginal, Line: c.CPUFit},
			}
		}
	}
	return all, nil
}

// capacityUnit is what the capacity of a plan's configurations counts, "" where they have none.
func capacityUnit(plan runstore.Plan) string {
	if plan.Analysis == runstore.OfTimeline {
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

func openLaunch(t runstore.Trial, plan runstore.Plan) (*launch, error) {
	run, err := t.Figures()
	if err != nil {
		return nil, err
	}
	if run == nil {
		return nil, fmt.Errorf("%s: its figures were not kept, so that it cannot be compared", t.Dir)
	}
	l := &launch{run: run}
	if l.report, err = Build(run, plan); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Dir, err)
	}
	l.judged = runstore.Measured(run.Steps)
	for _, s := range run.Steps {
		if s.Kind == runstore.CostStep {
			continue // its loads are the capacity's too, at other places in time
		}
		l.steps = slices.DeleteFunc(l.steps, func(p placed) bool { return p.value == s.Value }) // an earlier attempt
		l.steps = append(l.steps, placed{value: s.Value, name: stepName(plan.Axis, s), step: s})
	}
	l.outcomes, err = readOutcomes(filepath.Join(t.Dir, runstore.OutcomesFile))
	return l, err
}
