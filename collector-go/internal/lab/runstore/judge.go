package runstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// judgementVersion is the version of the rules by which a run is judged (Run.Judge). result.json stores it. The result
// of a run that was judged by other rules is computed again when its directory is opened, so that all commands and all
// runs are compared by the same rules. Increase it if a change of Judge or of package tuning can change a result.
const judgementVersion = 3

// Judge returns the result of the run from what was measured so far. It is the only function that judges a run: the
// runner stores its answer in result.json, and Read calls it for older directories. The rules are in package tuning.
// FinishedMs and the notes of the runner are not known to it.
func (r *Run) Judge() Result {
	out := Result{Version: judgementVersion, Notes: []string{}, Trials: []TrialResult{}, Rows: []RowResult{}}
	rules := r.Plan.rules()
	byRow := map[int][][]tuning.RunStep{}
	var verdicts []tuning.Verdict
	for _, t := range r.Trials {
		steps := RunSteps(t.Steps)
		byRow[t.Configuration] = append(byRow[t.Configuration], steps)
		out.Trials = append(out.Trials, TrialResult{
			Number: t.Number, Label: t.Label, State: t.State, Error: t.Error, Steps: len(t.Steps),
			Left: len(t.PlannedTrial.Steps) - distinct(t.Steps), RunJudgement: rules.Judge(steps),
		})
		if t.State != Finished {
			verdicts = append(verdicts, tuning.Inconclusive)
		}
		if !slices.ContainsFunc(out.Rows, func(row RowResult) bool { return row.Configuration == t.Configuration }) {
			out.Rows = append(out.Rows, RowResult{Configuration: t.Configuration, Label: t.Label, Point: t.Point})
		}
	}
	for i := range out.Rows {
		out.Rows[i].RunJudgement = rules.Judge(byRow[out.Rows[i].Configuration]...)
		verdicts = append(verdicts, out.Rows[i].Verdict)
	}
	out.Verdict = tuning.Overall(verdicts)
	if why := r.Unanswered(); why != "" {
		out.doubt()
		out.Notes = append(out.Notes, strings.ToUpper(why[:1])+why[1:]+".")
	}
	out.ExitCode = out.exitCode(rules)
	return out
}

// ResultSoFar returns the stored result or, before the run has ended, the result so far. Its verdicts are then
// inconclusive.
func (r *Run) ResultSoFar() Result {
	if r.Result != nil {
		return *r.Result
	}
	so := r.Judge()
	so.doubt()
	return so
}

// judgeAgain replaces a result that was judged by other rules, or with other trials.
func (r *Run) judgeAgain() {
	if r.Result == nil {
		return
	}
	again := r.Judge()
	again.FinishedMs = r.Result.FinishedMs
	again.Notes = tuning.Union(again.Notes, r.Result.Notes...)
	*r.Result = again
}

// holdsFor reports whether the result was judged by the current rules and has an entry for each trial and each
// configuration.
func (r *Result) holdsFor(trials []Trial) bool {
	if r.Version != judgementVersion || len(r.Trials) != len(trials) {
		return false
	}
	return !slices.ContainsFunc(trials, func(t Trial) bool {
		return !slices.ContainsFunc(r.Rows, func(row RowResult) bool { return row.Configuration == t.Configuration })
	})
}

// rules returns the parts of the plan that decide the verdict.
func (p Plan) rules() tuning.RunRules {
	return tuning.RunRules{Goals: p.Goals, FailFails: p.FailFails, Searches: !p.FailFails &&
		p.Search != tuning.FullSearch &&
		slices.ContainsFunc(p.Trials, func(t PlannedTrial) bool { return len(t.Steps) > 1 })}
}

// RunSteps converts steps to the form in which a run is judged.
func RunSteps(steps []Step) []tuning.RunStep {
	return tuning.Each(steps, func(s Step) tuning.RunStep {
		return tuning.RunStep{Value: s.Value, ForCost: s.Kind == CostStep, Verdict: s.Verdict, HostIdle: s.HostIdle,
			Limitation: s.Limitation}
	})
}

// distinct counts the loads that were measured. Repeats of a load count once, because Left counts loads and not
// attempts.
func distinct(steps []Step) int {
	values := tuning.Each(Measured(steps), func(m tuning.Measured) float64 { return m.Value })
	return len(tuning.Union(nil, values...))
}

// exitCode returns the exit code of tune run. A missed goal is a failure only if the plan requires that goals hold or
// has a goal for the capacity. A search for the capacity expects misses.
func (r *Result) exitCode(rules tuning.RunRules) int {
	capacityGoal := slices.ContainsFunc(rules.Goals,
		func(g tuning.Goal) bool { return g.Figure == tuning.CapacityFigure })
	switch {
	case r.Verdict == tuning.Fail && (rules.FailFails || capacityGoal):
		return ExitMissed
	case slices.ContainsFunc(r.Trials, func(t TrialResult) bool { return t.State == Failed }):
		return ExitFailed
	}
	return ExitDone
}

// doubt makes all verdicts inconclusive.
func (r *Result) doubt() {
	r.Verdict = tuning.Inconclusive
	for i := range r.Trials {
		r.Trials[i].Verdict = tuning.Inconclusive
	}
	for i := range r.Rows {
		r.Rows[i].Verdict = tuning.Inconclusive
	}
}

// Unanswered returns why the run's record rate is not the requested one, "" if it is. The steps of such a run say
// nothing about the requested load.
func (r *Run) Unanswered() string {
	var c tuning.Calibration
	for _, e := range r.Events {
		if e.Kind == RateCalibrated {
			c = tuning.Calibration{TargetIdle: tuning.Unknown}
			_ = json.Unmarshal([]byte(e.Text), &c) // an older run's event has only the rate
		}
	}
	idle := tuning.Unknown
	for _, t := range r.Trials {
		for _, s := range t.Steps {
			if s.Queries == 0 && !(s.QueriesPerSecond > 0) && !idle.Known() {
				idle = s.HostIdle
			}
		}
	}
	return c.Missed(idle)
}

// TrialsText returns how many trials have finished, in words: "3 of 6, 1 failed".
func (r *Run) TrialsText() string {
	finished, failed, all := r.Progress()
	text := fmt.Sprintf("%d of %d", finished, all)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	return text
}

// Capacities returns a line for each configuration of a run that has ended: its capacity, with its label if there are
// several. A timeline has no capacity.
func (r *Run) Capacities() []string {
	lines := []string{}
	if r.Result == nil {
		return lines
	}
	for _, row := range r.Result.Rows {
		text := row.Capacity.Text()
		if r.Plan.Analysis == OfTimeline {
			text = "–"
		}
		if len(r.Result.Rows) > 1 {
			text = row.Label + ": " + text
		}
		lines = append(lines, text)
	}
	return lines
}
