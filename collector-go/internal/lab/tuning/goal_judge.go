package tuning

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// GoalOutcome is a goal, the figure that was measured for it, and the verdict by this goal alone. The verdict of the
// step can differ, because it also depends on what limited the step.
type GoalOutcome struct {
	Goal     Goal    `json:"goal"`
	Measured Figure  `json:"measured"`
	Verdict  Verdict `json:"verdict"`
	// OwnMs is the fixed duration of the queries, if they all have one. The topology is only responsible for the time
	// beyond it. Otherwise OwnMs is 0.
	OwnMs Figure `json:"query_own_ms,omitempty"`
}

// StepMeasures holds the figures of a step, by figure and statistic. A missing entry is unknown, never 0: a goal for
// it becomes inconclusive.
type StepMeasures map[GoalFigure]map[Statistic]Figure

// Set stores a figure. The map must not be nil.
func (m StepMeasures) Set(f GoalFigure, s Statistic, v Figure) {
	if m[f] == nil {
		m[f] = map[Statistic]Figure{}
	}
	m[f][s] = v
}

func (m StepMeasures) of(g Goal) Figure {
	if v, known := m[g.Figure][g.Statistic]; known {
		return v
	}
	return Unknown
}

// GoalStep is everything about a step that its verdict depends on. Package measure fills it in at the end of the step.
// Reports do not judge again; they show the verdict that was stored.
type GoalStep struct {
	Measured StepMeasures
	// HasQueries states that queries were submitted. Without any, goals about queries are not judged.
	HasQueries bool
	// NoneToMatch states that no records were made for the queries to find. The content of answers then says nothing
	// about completeness and is not judged.
	NoneToMatch bool
	// OwnMs is the fixed duration of the queries; 0 if unknown.
	OwnMs Figure
	// Unfinished is the number of queries that were overdue when the step was judged.
	Unfinished int
	// HostIdle is the idle ratio of the machine that everything runs on. It is ignored if Evidence.Host.OfRun states
	// that no workers run on that machine.
	HostIdle, LeastIdle Figure
	Evidence            Evidence
}

// ofQueries are the figures that a step without queries does not have.
var ofQueries = map[GoalFigure]bool{QueryLatency: true, ResultSize: true, Completeness: true, FailedQueries: true,
	AddedDelay: true}

// ofMatches are the figures of queries for which records were made.
var ofMatches = map[GoalFigure]bool{ResultSize: true, Completeness: true}

// JudgeGoals computes the verdict of a step. It works in this order:
//  1. Limit finds what limited the step, from the evidence.
//  2. Each goal is compared with its figure. Goals that do not apply are skipped: those of queries in a step without
//     queries, those of matches if no record could match, and the capacity, which belongs to a trial.
//  3. A starved host makes the step inconclusive, unless the evidence shows that the topology itself was the limit.
//  4. Otherwise a missed goal makes it FAIL, and a figure that was not measured makes it inconclusive. A miss
//     outranks a missing figure, because no value of the missing figure could turn the step into an OK.
//  5. AdjustFor changes the verdict if the limit lies outside the topology.
//
// A completeness of exactly 0 is a FAIL even without a goal for it: a topology that returns nothing has no capacity.
func JudgeGoals(goals []Goal, step GoalStep) ([]GoalOutcome, Judgement, Limitation) {
	e := step.Evidence
	if !e.Host.IdleRatio.Known() {
		e.Host.IdleRatio = step.HostIdle
	}
	if !e.Host.MinIdleRatio.Known() {
		e.Host.MinIdleRatio = step.LeastIdle
	}
	limitation := Limit(e)
	outcomes := []GoalOutcome{}
	var missed, unknown []string
	for _, g := range goals {
		if g.Figure == CapacityFigure || ofQueries[g.Figure] && !step.HasQueries || ofMatches[g.Figure] &&
			step.NoneToMatch {
			continue
		}
		o := g.judge(step.Measured.of(g), step.OwnMs)
		outcomes = append(outcomes, o)
		switch o.Verdict {
		case Fail:
			missed = append(missed, o.miss())
		case Inconclusive:
			unknown = append(unknown, fmt.Sprintf("the %s was not measured", g.name()))
		}
	}
	if step.HasQueries && !step.NoneToMatch && step.Measured.of(Goal{Figure: Completeness, Statistic: Mean}) == 0 &&
		len(missed) == 0 {
		missed = append(missed, "the queries returned none of their records")
	}
	judgement := limitation.AdjustFor(step.judge(missed, unknown, limitation))
	if judgement.Verdict == Fail && !limitation.Known() && onlyIncomplete(outcomes) {
		judgement.Reasons = append(judgement.Reasons, lateForTheJoin)
	}
	if judgement.Verdict == OK {
		limitation = limitation.OfOK()
	}
	return outcomes, judgement, limitation
}

// lateForTheJoin names the most likely cause of incomplete answers if all latencies held and no limit was found.
const lateForTheJoin = "records may reach the join bolt after it has ended the query; increase bullet.topology.join.bolt.query.post.finish.buffer.ticks"

// onlyIncomplete reports whether at least one goal was missed and every missed goal concerns the content of answers.
func onlyIncomplete(outcomes []GoalOutcome) bool {
	failed := slices.DeleteFunc(slices.Clone(outcomes), func(o GoalOutcome) bool { return o.Verdict != Fail })
	other := func(o GoalOutcome) bool { return !ofMatches[o.Goal.Figure] }
	return len(failed) > 0 && !slices.ContainsFunc(failed, other)
}

// judge combines the goals with the state of the host (points 3 and 4 of JudgeGoals). If HostIdle belongs to the load
// client's machine alone, it says nothing about the workers and is ignored. Comparisons with NaN are false, so an
// unknown HostIdle never excuses a step; it makes an OK inconclusive instead.
func (s GoalStep) judge(missed, unknown []string, l Limitation) Judgement {
	elsewhere := s.Evidence.Host.OfRun
	if math.IsNaN(float64(s.HostIdle)) && !elsewhere {
		unknown = append(unknown, "the idle share of the host is unknown")
	}
	if s.Unfinished > 0 {
		unknown = append(unknown, fmt.Sprintf("%d queries had not ended when the step was judged", s.Unfinished))
	}
	switch {
	case s.HostIdle < s.LeastIdle && !elsewhere && !l.BlamesTopology():
		return Judgement{Inconclusive,
			[]string{fmt.Sprintf("only %s of the host was idle (less than %s), so the result says nothing about the topology",
				PercentIn(s.HostIdle, 1), PercentIn(s.LeastIdle, 0))}}
	case len(missed) > 0:
		return Judgement{Fail, missed}
	case len(unknown) > 0:
		return Judgement{Inconclusive, unknown}
	}
	return Judgement{Verdict: OK}
}

// judge returns the outcome for one figure. Queries with a fixed duration get OwnMs, so that texts state only the delay
// beyond it.
func (g Goal) judge(measured, ownMs Figure) GoalOutcome {
	o := GoalOutcome{Goal: g, Measured: measured}
	if g.Figure == QueryLatency && measured >= ownMs && g.limit() >= ownMs {
		o.OwnMs = ownMs
	}
	o.Verdict = g.Judge(measured)
	return o
}

// Judge compares a figure with the limit. A value equal to the limit holds, and an unknown one is inconclusive.
func (g Goal) Judge(measured Figure) Verdict {
	switch {
	case !measured.Known():
		return Inconclusive
	case g.AtMost.Known() && measured > g.AtMost, g.AtLeast.Known() && measured < g.AtLeast-completenessSlack:
		return Fail
	}
	return OK
}

// String returns the figure for display: "mean filter latency 12 ms".
func (o GoalOutcome) String() string { return o.Goal.name() + " " + o.written(o.Measured) }

// miss states how the goal was missed.
func (o GoalOutcome) miss() string {
	word := "below"
	if o.Goal.AtMost.Known() {
		word = "above"
	}
	return fmt.Sprintf("%s %s is %s %s", o.Goal.name(), o.written(o.Measured), word, o.written(o.Goal.limit()))
}

// written formats a value of the outcome's figure. The latency of queries with a fixed duration is shown as the delay
// of their results.
func (o GoalOutcome) written(v Figure) string {
	if o.OwnMs > 0 {
		return Digits((v-o.OwnMs)/1000) + " s late"
	}
	return o.Goal.written(v)
}

// written formats a value of the goal's figure for display.
func (g Goal) written(v Figure) string {
	switch g.Figure {
	case FailedQueries:
		return fmt.Sprintf("%.3g%%", 100*float64(v))
	case Completeness:
		return trimmed(strings.TrimSuffix(PercentIn(v, 3), "%")) + "%"
	}
	text := grouped(math.Round(float64(v)*100) / 100)
	if unit := g.Figure.Unit(); unit != "" {
		text += " " + unit
	}
	return text
}
