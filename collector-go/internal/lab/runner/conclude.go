package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Conclude computes the result of a run from its trials. It does no I/O, so the result of an old run directory can be
// recomputed. unanswered states why the run answers no question, "" if it does; a reason makes the verdicts
// inconclusive.
func Conclude(plan runstore.Plan, trials []runstore.Trial, unanswered string) runstore.Result {
	r := runstore.Result{Notes: []string{}, Trials: []runstore.TrialResult{}, Rows: []runstore.RowResult{}}
	for _, t := range trials {
		r.Trials = append(r.Trials, trialResult(plan, t))
	}
	r.Rows = rows(plan, trials)
	r.Verdict = overall(r)
	if r.Doubt(unanswered); unanswered != "" {
		r.Notes = append(r.Notes, strings.ToUpper(unanswered[:1])+unanswered[1:]+".")
	}
	r.ExitCode = exitCode(plan, r)
	return r
}

// trialResult judges one trial by its own steps alone. Left counts the planned steps without a measurement; a search
// skips some of them on purpose.
func trialResult(plan runstore.Plan, t runstore.Trial) runstore.TrialResult {
	interval := tuning.IntervalOf(runstore.Measured(t.Steps))
	return runstore.TrialResult{
		Number: t.Number, Label: t.Label, State: t.State, Error: t.Error, Steps: len(t.Steps),
		Left:   len(t.PlannedTrial.Steps) - distinct(t.Steps),
		Result: verdictOf(plan, t.Steps, interval), Capacity: interval,
	}
}

// distinct counts the loads that were measured. Repeats of a load count once, because Left counts loads and not
// attempts.
func distinct(steps []runstore.Step) int {
	var values []float64
	for _, m := range runstore.Measured(steps) {
		values = append(values, m.Value)
	}
	slices.Sort(values)
	return len(slices.Compact(values))
}

// rows groups the trials by configuration. The capacity of a row is bracketed by the steps of all its launches
// together.
func rows(plan runstore.Plan, trials []runstore.Trial) (rows []runstore.RowResult) {
	steps := map[int][]runstore.Step{}
	for _, t := range trials {
		if t.Repeat == 1 {
			rows = append(rows, runstore.RowResult{Configuration: t.Configuration, Label: t.Label, Point: t.Point})
		}
		steps[t.Configuration] = append(steps[t.Configuration], t.Steps...)
	}
	for i := range rows {
		of := steps[rows[i].Configuration]
		rows[i].Capacity = tuning.IntervalOf(runstore.Measured(of))
		rows[i].Verdict = verdictOf(plan, of, rows[i].Capacity)
	}
	return rows
}

// verdictOf returns the verdict of a row. A goal for the capacity decides if there is one; otherwise the steps do. If
// the search looks for a miss, a row whose capacity was bracketed is OK.
func verdictOf(plan runstore.Plan, steps []runstore.Step, interval tuning.Interval) tuning.Verdict {
	for _, g := range plan.Goals {
		if g.Figure == tuning.CapacityFigure {
			return capacityVerdict(g, interval)
		}
	}
	switch {
	case plan.FailFails && interval.FirstFail != nil:
		return tuning.Fail
	case len(steps) == 0, len(interval.Inconclusive) > 0 &&
		(plan.FailFails || interval.LastOK == nil && interval.FirstFail == nil):
		return tuning.Inconclusive
	case len(interval.Limited) > 0:
		return tuning.Limited
	case interval.FirstFail != nil && interval.LastOK == nil:
		return tuning.Fail
	case interval.Censored && searches(plan):
		return tuning.Inconclusive
	}
	return tuning.OK
}

// searches reports whether a plan looks for the load at which goals are missed. Such a search has no answer if it ends
// at its last value without a miss.
func searches(plan runstore.Plan) bool {
	return !plan.FailFails && plan.Search != tuning.FullSearch &&
		slices.ContainsFunc(plan.Trials, func(t runstore.PlannedTrial) bool { return len(t.Steps) > 1 })
}

// capacityVerdict judges a goal for the capacity. If the goal lies between the two bounds of the capacity, the verdict
// is inconclusive.
func capacityVerdict(g tuning.Goal, interval tuning.Interval) tuning.Verdict {
	switch least := float64(g.AtLeast); {
	case interval.LastOK != nil && *interval.LastOK >= least:
		return tuning.OK
	case interval.FirstFail != nil && *interval.FirstFail <= least:
		return tuning.Fail
	}
	return tuning.Inconclusive
}

// overall returns the verdict of the run from its rows. A trial that was not finished counts as an inconclusive row.
func overall(r runstore.Result) tuning.Verdict {
	verdicts := []tuning.Verdict{}
	for _, row := range r.Rows {
		verdicts = append(verdicts, row.Verdict)
	}
	for _, t := range r.Trials {
		if t.State != runstore.Finished {
			verdicts = append(verdicts, tuning.Inconclusive)
		}
	}
	return tuning.Overall(verdicts)
}

// exitCode returns the exit code of tune run. A missed goal is a failure only if the plan requires that goals hold or
// has a goal for the capacity. A search for the capacity expects misses.
func exitCode(plan runstore.Plan, r runstore.Result) int {
	hasCapacityGoal := slices.ContainsFunc(plan.Goals,
		func(g tuning.Goal) bool { return g.Figure == tuning.CapacityFigure })
	switch {
	case r.Verdict == tuning.Fail && (plan.FailFails || hasCapacityGoal):
		return runstore.ExitMissed
	case slices.ContainsFunc(r.Trials, func(t runstore.TrialResult) bool { return t.State == runstore.Failed }):
		return runstore.ExitFailed
	}
	return runstore.ExitDone
}

// Summary returns the result as lines of text: the verdict, one line per row, failed trials and notes. tune run prints
// it at its end; the result itself is in result.json.
func Summary(plan runstore.Plan, r runstore.Result) (lines []string) {
	lines = append(lines, fmt.Sprintf("verdict: %s", r.Verdict))
	for _, row := range r.Rows {
		line := fmt.Sprintf("  %s: %s", row.Label, row.Verdict)
		if plan.Analysis != runstore.OfTimeline { // a timeline has no capacity
			line += ", capacity " + row.Capacity.Of(plan.Axis.Unit())
		}
		lines = append(lines, line)
	}
	for _, t := range r.Trials {
		if t.State == runstore.Failed {
			lines = append(lines, fmt.Sprintf("  trial %d could not be measured: %s", t.Number, t.Error))
		}
	}
	for _, note := range r.Notes {
		lines = append(lines, "  "+note)
	}
	return lines
}
