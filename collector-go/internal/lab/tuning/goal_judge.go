package tuning

import (
	"fmt"
	"math"
)

// GoalOutcome is a goal with what was measured for it.
type GoalOutcome struct {
	Goal     Goal    `json:"goal"`
	Measured Figure  `json:"measured"`
	Verdict  Verdict `json:"verdict"`
	// OwnMs is how long the queries run by themselves, where all of them do: what a result takes beyond it is the
	// topology's. 0 else.
	OwnMs Figure `json:"query_own_ms,omitempty"`
}

// StepMeasures are a step's figures in their statistics; one that is not there is unknown.
type StepMeasures map[GoalFigure]map[Statistic]Figure

// Set notes a figure.
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

// GoalStep is a step as its goals see it.
type GoalStep struct {
	Measured StepMeasures
	// HasQueries states that queries were asked; without any, goals about queries are not judged.
	HasQueries bool
	// NoneToMatch states that no record was made for the queries to find: what they return is then no sign of
	// completeness, and not judged.
	NoneToMatch bool
	// OwnMs is how long the queries run by themselves; 0 where that is not known.
	OwnMs Figure
	// Unfinished counts queries that were overdue when the step was judged.
	Unfinished int
	// HostIdle is of the machine that everything runs on; where Evidence.Host.OfRun states that it is none of the
	// workers', it judges nothing.
	HostIdle, LeastIdle Figure
	Evidence            Evidence
}

// ofQueries are the figures that a step without queries does not have.
var ofQueries = map[GoalFigure]bool{QueryLatency: true, ResultSize: true, Completeness: true, FailedQueries: true,
	AddedDelay: true}

// ofMatches are the figures of queries that were to find records.
var ofMatches = map[GoalFigure]bool{ResultSize: true, Completeness: true}

// JudgeGoals gives a step's verdict by its goals, in the light of what limited it: a starved host makes it inconclusive
// unless the limit is shown to be the topology itself; after that a goal that was missed is a FAIL, and one that could
// not be measured inconclusive. A goal of a capacity is of a trial and not judged here.
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
		missed = append(missed, "none of the records due to the queries came back")
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

// lateForTheJoin is the likeliest reason of incomplete answers where latency is well and nothing is at its limit.
const lateForTheJoin = "what a filter bolt finds may come after the join bolt has ended its query, which waits for it " +
	"bullet.topology.join.bolt.query.post.finish.buffer.ticks: try more of them"

// onlyIncomplete reports whether goals were missed, all of them of what the answers hold.
func onlyIncomplete(outcomes []GoalOutcome) bool {
	incomplete := false
	for _, o := range outcomes {
		if o.Verdict == Fail {
			if !ofMatches[o.Goal.Figure] {
				return false
			}
			incomplete = true
		}
	}
	return incomplete
}

func (s GoalStep) judge(missed, unknown []string, l Limitation) Judgement {
	elsewhere := s.Evidence.Host.OfRun
	if math.IsNaN(float64(s.HostIdle)) && !elsewhere {
		unknown = append(unknown, "how busy the host was is not known")
	}
	if s.Unfinished > 0 {
		unknown = append(unknown, fmt.Sprintf("%d queries were overdue when the step was judged", s.Unfinished))
	}
	switch {
	case s.HostIdle < s.LeastIdle && !elsewhere && !l.BlamesTopology():
		return Judgement{Inconclusive,
			[]string{fmt.Sprintf("only %.1f%% of the host was idle (less than %.0f%%): the figures are the host's, not the topology's",
				100*s.HostIdle, 100*s.LeastIdle)}}
	case len(missed) > 0:
		return Judgement{Fail, missed}
	case len(unknown) > 0:
		return Judgement{Inconclusive, unknown}
	}
	return Judgement{Verdict: OK}
}

func (g Goal) judge(measured, ownMs Figure) GoalOutcome {
	o := GoalOutcome{Goal: g, Measured: measured, Verdict: OK}
	if g.Figure == QueryLatency && measured >= ownMs && g.limit() >= ownMs {
		o.OwnMs = ownMs
	}
	switch {
	case !measured.Known():
		o.Verdict = Inconclusive
	case g.AtMost.Known() && measured > g.AtMost, g.AtLeast.Known() && measured < g.AtLeast-completenessSlack:
		o.Verdict = Fail
	}
	return o
}

// String is the figure as people read it: "mean filter latency 12 ms".
func (o GoalOutcome) String() string { return o.Goal.name() + " " + o.written(o.Measured) }

// miss states how the goal was missed.
func (o GoalOutcome) miss() string {
	word := "below"
	if o.Goal.AtMost.Known() {
		word = "above"
	}
	return fmt.Sprintf("%s %s is %s %s", o.Goal.name(), o.written(o.Measured), word, o.written(o.Goal.limit()))
}

// written is a value of the outcome's figure: a latency of queries that run for a time of their own as how late their
// results came.
func (o GoalOutcome) written(v Figure) string {
	if o.OwnMs > 0 {
		return Digits((v-o.OwnMs)/1000) + " s late"
	}
	return o.Goal.written(v)
}

// written is a value of the goal's figure as people read it.
func (g Goal) written(v Figure) string {
	switch g.Figure {
	case FailedQueries:
		return fmt.Sprintf("%.3g%%", 100*float64(v))
	case Completeness:
		return trimmed(fmt.Sprintf("%.3f", 100*float64(v))) + "%"
	}
	text := grouped(math.Round(float64(v)*100) / 100)
	if unit := g.Figure.Unit(); unit != "" {
		text += " " + unit
	}
	return text
}
