package runstore

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

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
		out.Notes = append(out.Notes, strings.ToUpper(why[:1])+why[1:]+". "+tuning.RateAdvice)
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
	in := map[TrialState]int{}
	for _, t := range r.Trials {
		in[t.State]++
	}
	text := fmt.Sprintf("%d of %d", in[Finished], len(r.Trials))
	if failed := in[Failed]; failed > 0 {
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

// Exit codes of `tune run`, which Result stores.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitMissed = 99 // a goal was missed
)

// Result is result.json: the verdict of a run, of its trials and of its configurations. The file exists only if the
// run ended by itself. Run.Judge derives it from the steps.
type Result struct {
	// Version is that of the rules by which the run was judged; 0 before version 3.
	Version int `json:"version"`

	FinishedMs int64          `json:"finished_ms"`
	Verdict    tuning.Verdict `json:"verdict"`
	// ExitCode is the exit code of `tune run`: 0, 1 or 99.
	ExitCode int `json:"exit_code"`
	// Trials are in the order of the plan.
	Trials []TrialResult `json:"trials"`
	// Rows are the configurations, each with all its repeats.
	Rows  []RowResult `json:"rows"`
	Notes []string    `json:"notes"`
}

// TrialResult is the result of one trial.
type TrialResult struct {
	Number int        `json:"number"`
	Label  string     `json:"label"`
	State  TrialState `json:"state"`
	Error  string     `json:"error,omitempty"` // why the trial failed
	Steps  int        `json:"steps"`
	Left   int        `json:"left_out"` // planned steps that were not measured
	tuning.RunJudgement
}

// RowResult is the result of one configuration, from the steps of all its repeats.
type RowResult struct {
	Configuration int          `json:"configuration"`
	Label         string       `json:"label"`
	Point         []Coordinate `json:"point"`
	tuning.RunJudgement
}

// TrialState is the state of a trial.
type TrialState string

// States of a trial.
const (
	Waiting  TrialState = "waiting"
	Underway TrialState = "under way"
	Finished TrialState = "finished"
	Failed   TrialState = "failed" // could not be measured; the run continues with the other trials
)

// Durations of the phases around the steps, as measured on two cores with a local cluster. Another cluster may take
// longer.
const (
	firstLaunch = 55 * time.Second // including the start of the cluster
	nextLaunch  = 45 * time.Second // another topology after the previous one has ended
	calibration = 30 * time.Second
	stepTail    = 12 * time.Second // the longest wait for the last slices; those of less than 5 s arrive earlier
	warmedUp    = 45 * time.Second // until the CPU cost of a record is steady
)

// Estimate returns the expected duration of a run, and the maximum duration if every step is inconclusive and
// repeated.
func (p Plan) Estimate() (about, most time.Duration) {
	for i, t := range p.Trials {
		launch := nextLaunch
		if i == 0 {
			launch = firstLaunch
			if !p.Load.RecordsPerSecond.Known() && !p.Load.NoSource() && p.Axis != RecordsPerSecond {
				launch += calibration
			}
		}
		if p.StartUpQueries > 0 {
			launch += time.Duration(p.Load.QueryDurationMs) * time.Millisecond // time for the queries to end
		}
		launch += p.CostTime()
		startUp := time.Duration(p.StartUpMs) * time.Millisecond
		values, again := p.Needs(len(t.Steps))
		about += launch + min(startUp, warmedUp) + time.Duration(values+again)*p.StepTime()
		most += launch + startUp +
			time.Duration(len(t.Steps)*(1+max(p.InconclusiveRepeats, p.confirmations())))*p.StepTime()
	}
	return about, most
}

// CostTime returns the expected duration of the cost steps. Each of them begins after all earlier queries have ended.
func (p Plan) CostTime() time.Duration {
	return time.Duration(len(p.CostLoads)) * (p.StepTime() + time.Duration(p.Load.QueryDurationMs)*time.Millisecond)
}

func (p Plan) confirmations() int {
	if p.Confirm && p.Search == tuning.StepSearch {
		return 1
	}
	return 0
}

// StepTime returns the expected duration of one step.
func (p Plan) StepTime() time.Duration {
	ms := time.Millisecond
	return time.Duration(p.WarmUpMs+p.SustainMs+p.Load.CatchUpMs)*ms +
		max(min(stepTail, time.Duration(2*p.SliceMs)*ms+2*time.Second),
			min(time.Duration(p.Load.QueryDurationMs)*ms, time.Duration(p.SustainMs)*ms))
}

// Needs returns how many of n steps the search takes if none is inconclusive, and how many of them it measures again.
// A step search may take all steps, because it ends at the first that fails, and it confirms one bound.
func (p Plan) Needs(n int) (steps, again int) {
	if p.Search == tuning.BinarySearch {
		return bits.Len(uint(n)), 0
	}
	return n, p.confirmations()
}

// Event is a line of progress.jsonl. The file is only appended to and synced after each line, because a run is resumed
// from it.
type Event struct {
	AtMs int64     `json:"at_ms"` // ms since the Unix epoch
	Kind EventKind `json:"event"`
	// Trial and Launch are set in events of a trial, Step and Attempt in those of a step; all count from 1.
	Trial   int `json:"trial,omitempty"`
	Launch  int `json:"launch,omitempty"`
	Step    int `json:"step,omitempty"`
	Attempt int `json:"attempt,omitempty"`
	// Value is the step's position on the axis.
	Value *float64 `json:"value,omitempty"`
	// File is relative to the run's directory; SHA256 is the hexadecimal checksum of its content.
	File    string         `json:"file,omitempty"`
	SHA256  string         `json:"sha256,omitempty"`
	Verdict tuning.Verdict `json:"verdict,omitempty"`
	// RecordsPerSecond is the calibrated record rate of the run.
	RecordsPerSecond *float64 `json:"records_per_second,omitempty"`
	Text             string   `json:"text,omitempty"`
	// Planned is the trial of a "trial planned" event; Text is the reason for it.
	Planned *PlannedTrial `json:"planned,omitempty"`
}

// EventKind is the kind of an event.
type EventKind string

// Kinds of events.
const (
	RunStarted     EventKind = "run started"
	RunResumed     EventKind = "run resumed"
	RateCalibrated EventKind = "rate calibrated" // has RecordsPerSecond, which holds for all trials of the run
	TrialPlanned   EventKind = "trial planned"   // has Planned: a search adds trials to the plan while it runs
	TrialStarted   EventKind = "trial started"   // Launch counts the launches of the trial
	StepStarted    EventKind = "step started"
	StepFinished   EventKind = "step finished" // has File and SHA256
	TrialFinished  EventKind = "trial finished"
	TrialFailed    EventKind = "trial failed" // Text states the reason
	RunInterrupted EventKind = "run interrupted"
	RunFinished    EventKind = "run finished"
)
