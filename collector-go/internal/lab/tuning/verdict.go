// Package tuning owns the statistics of the tuning workflow: the verdict of a step, what limited it, the capacity of a
// configuration, the cost of a query, and the sizing for a load. It does no I/O. Figures come in as values and
// verdicts go out; the package knows no file, no clock and no network. The same run therefore always gives the same
// report, and every rule can be tested with a table of numbers.
//
// A figure that was not measured is NaN (Unknown), never 0. An unknown figure never makes a verdict OK. A statistic
// that the data do not support stays unknown, and its Note says what is missing.
//
// Start reading here:
//   - verdict.go: JudgeGoals computes the verdict of a step; Overall is that of several.
//   - limit.go and limit_rules.go: Limit finds what limited a step; AdjustFor changes the verdict accordingly.
//   - concurrency.go: the CPU that a query adds, a straight line fitted over all measurements.
//   - censored.go and usl.go: capacity over resources; the former takes capacities that are only bracketed.
//   - sizing.go: Size turns these fits into settings for Bullet.
package tuning

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdict is the outcome of a step or of a run. OK means that every goal was measured and held. FAIL means that a goal
// was missed, and nothing outside the topology is known to explain it. Inconclusive means that the data do not decide:
// a figure is missing, or the host, the collector or a silent worker spoiled it. Limited means that the
// load did not reach the topology. A capacity is bracketed by OK and FAIL alone, so a doubtful step must be neither of
// them.
type Verdict string

// Verdicts of a step.
const (
	OK           Verdict = "OK"
	Fail         Verdict = "FAIL"
	Inconclusive Verdict = "inconclusive"
)

// Judgement is a verdict with its reasons, the strongest first. An unqualified OK has no reasons.
type Judgement struct {
	Verdict Verdict
	Reasons []string
}

// completenessSlack absorbs the rounding of a mean that lies exactly at its lower limit. Without it, a mean of 9.9
// that was summed from floats could miss a goal of 9.9.
const completenessSlack = 1e-9

// worst lists the verdicts other than OK, the one that outranks all others first.
var worst = []Verdict{Fail, Inconclusive, Limited}

// Overall combines the verdicts of steps that must all hold, such as the steps of a run. The worst one wins: FAIL
// before inconclusive before limited. Without any verdict the result is inconclusive, because nothing was measured.
func Overall(all []Verdict) Verdict {
	for _, verdict := range worst {
		if slices.Contains(all, verdict) {
			return verdict
		}
	}
	if len(all) == 0 {
		return Inconclusive
	}
	return OK
}

// Limited is the verdict of a step whose load met a limit outside the topology, such as the DRPC server or the load
// client. Such a step shows nothing about the topology at that load. Counting it as OK would overstate the capacity;
// counting it as FAIL would understate it.
const Limited Verdict = "limited"

// AdjustFor changes a verdict by goals to account for what limited the step. The cases, in order:
//   - A FAIL on a spoiled measurement becomes inconclusive. The host, the collector or a silent worker spoils one.
//   - A FAIL with a known limit outside the topology becomes limited. So does an OK whose load did not arrive.
//   - An OK whose source made too few records becomes FAIL, limited or inconclusive; see ofShort.
//   - A FAIL with a known limit within the topology stays, and the limit is added to its reasons.
//   - A FAIL that nothing explains stays, and the limitation's text says that the cause is unknown.
//
// The caller must already have excused a starved host if BlamesTopology allows it; GoalStep.judge does.
func (l *Limitation) AdjustFor(j Judgement) Judgement {
	switch {
	case j.Verdict == Fail && l.spoiled():
		return Judgement{Inconclusive, append([]string{l.Text}, j.Reasons...)}
	case j.Verdict == Fail && l.Known() && !l.BlamesTopology(), j.Verdict == OK && l.held():
		return Judgement{Limited, append([]string{l.Text}, j.Reasons...)}
	case j.Verdict == OK && l.short() != nil:
		return l.ofShort()
	case j.Verdict == Fail && l.Known():
		return Judgement{Fail, append(slices.Clone(j.Reasons), l.Text)}
	case j.Verdict == Fail:
		l.doubt()
	}
	return j
}

// spoiled reports whether the first named limit makes the figures useless. They then describe the host or the
// collection and not the topology.
func (l *Limitation) spoiled() bool {
	return l.Known() && slices.Contains([]Limiter{LimitedByHost, LimitedByCollector, LimitedBySilence}, l.Limiters[0])
}

// held reports whether the requested load was held back before it reached the topology. Any such limit counts, not
// only the strongest, because even a partly missing load makes an OK meaningless.
func (l *Limitation) held() bool {
	return slices.ContainsFunc(l.Limiters, func(x Limiter) bool {
		return x == LimitedByDRPC || x == LimitedByEndpoint || x == LimitedByClient
	})
}

// doubt records that a goal was missed although no measured resource was at its limit. It does nothing if evidence is
// missing or contradictory, because the text says so already.
func (l *Limitation) doubt() {
	if len(l.Missing) == 0 && len(l.Contradictions) == 0 {
		l.Contradictions = append(l.Contradictions,
			"a goal was missed, although nothing that was measured was at its limit")
		l.Text = "cannot tell: a goal was missed, but " + l.Text
	}
}

// Goals are the requirements for a topology in each step of an experiment.
type Goals struct {
	// FilterLatencyLimitMs is the largest allowed mean of Bullet's filter latency.
	FilterLatencyLimitMs float64
	// ExpectedResultSize is how many records a query returns if none is lost.
	ExpectedResultSize float64
	// Tolerance is the ratio of ExpectedResultSize that may be missing on average.
	Tolerance float64
	// MinHostIdle is the ratio of the host's CPU that must have been idle for a verdict to be meaningful.
	MinHostIdle float64
}

// DefaultGoals returns the goals of "Tuning and Performance of Bullet in Storm": 200 ms, and RAW queries for 10
// records. The tolerance allows 1 record in 100 to be missing. On a host with less than 5% idle CPU, figures describe
// the host rather than the topology.
func DefaultGoals() Goals {
	return Goals{FilterLatencyLimitMs: 200, ExpectedResultSize: 10, Tolerance: 0.01, MinHostIdle: 0.05}
}

// Validate returns an error that names an invalid goal.
func (g Goals) Validate() error {
	switch {
	case !(g.FilterLatencyLimitMs > 0) || math.IsInf(g.FilterLatencyLimitMs, 0):
		return errors.New("the filter latency limit must be a positive number of milliseconds")
	case !(g.ExpectedResultSize > 0) || math.IsInf(g.ExpectedResultSize, 0):
		return errors.New("the expected result size must be a positive number of records")
	case !(g.Tolerance >= 0 && g.Tolerance < 1):
		return errors.New("the tolerance must be at least 0 and below 1")
	case !(g.MinHostIdle >= 0 && g.MinHostIdle < 1):
		return errors.New("the minimum idle share of the host must be at least 0 and below 1")
	}
	return nil
}

// SmallestResultSize returns the smallest average result size that counts as complete.
func (g Goals) SmallestResultSize() float64 { return g.ExpectedResultSize * (1 - g.Tolerance) }

// Goal is a limit for one figure of a step in one statistic, for example a p99 query latency of at most 500 ms.
// Exactly one of AtMost and AtLeast is known. Limits on both sides are two goals, so that each has its own verdict.
type Goal struct {
	Figure    GoalFigure `json:"figure"`
	Statistic Statistic  `json:"statistic"`
	AtMost    Figure     `json:"at_most"`
	AtLeast   Figure     `json:"at_least"`
}

// GoalFigure names a figure that a goal may limit. The values are written in experiment files and in stored runs, so
// they are part of a format.
type GoalFigure string

// Figures that a goal may limit. Latencies are in ms.
const (
	// FilterLatency is Bullet's own latency of a record in a filter bolt.
	FilterLatency GoalFigure = "filter_latency"
	// QueryLatency is measured by the load client, from the scheduled start of a query to its answer.
	QueryLatency GoalFigure = "query_latency"
	// ResultSize is the number of records of a query that returned.
	ResultSize GoalFigure = "result_size"
	// Completeness is the ratio of due records that came back, over the queries that returned. Each answer is compared
	// with the records generated during its query's life.
	Completeness GoalFigure = "completeness"
	// FailedQueries is the ratio of scheduled queries without a valid answer: failed, refused, timed out, never
	// finished or never submitted.
	FailedQueries GoalFigure = "failed_queries"
	// SourceLag is the number of records that were scheduled and not emitted at the step's end.
	SourceLag GoalFigure = "source_lag"
	// CatchUp is the multiple of its record rate that the topology takes after it has fallen behind.
	CatchUp GoalFigure = "catch_up"
	// AddedDelay is the time from when a record and its query have met until Bullet answers.
	AddedDelay GoalFigure = "added_delay"
	// CapacityFigure is the largest value on the steps' axis at which all other goals hold. It belongs to a trial, not
	// to a step.
	CapacityFigure GoalFigure = "capacity"
)

// Statistic is how the values of a step become one figure.
type Statistic string

// Statistics of a goal.
const (
	Mean  Statistic = "mean"
	P50   Statistic = "p50"
	P95   Statistic = "p95"
	P99   Statistic = "p99"
	Max   Statistic = "max"
	AtEnd Statistic = "end"
)

// statisticsOf lists the statistics in which each figure is measured. The first is the default for a goal that names
// no statistic.
var statisticsOf = map[GoalFigure][]Statistic{
	FilterLatency:  {Mean, P50, P95, P99, Max},
	QueryLatency:   {P99, P95, P50, Mean, Max},
	ResultSize:     {Mean},
	Completeness:   {Mean},
	FailedQueries:  {Mean},
	SourceLag:      {AtEnd},
	CatchUp:        {Mean},
	AddedDelay:     {Mean},
	CapacityFigure: {AtEnd},
}

// GoalFigures returns all figures that a goal may limit.
func GoalFigures() []GoalFigure {
	return []GoalFigure{FilterLatency, QueryLatency, ResultSize, Completeness, FailedQueries, SourceLag, CatchUp,
		AddedDelay, CapacityFigure}
}

// Statistics returns the statistics of a figure, the default first; none for an unknown figure.
func (f GoalFigure) Statistics() []Statistic { return slices.Clone(statisticsOf[f]) }

// Unit returns the figure's unit for display; "" if it has none.
func (f GoalFigure) Unit() string {
	switch f {
	case FilterLatency, QueryLatency, AddedDelay:
		return "ms"
	case ResultSize, SourceLag:
		return "records"
	}
	return ""
}

// MeanLatencyLimit returns the limit of the goal for the mean filter latency, in ms. It is unknown if there is no such
// goal.
func MeanLatencyLimit(goals []Goal) Figure {
	g, found := First(goals, func(g Goal) bool { return g.Figure == FilterLatency && g.Statistic == Mean })
	if !found {
		return Unknown
	}
	return g.AtMost
}

func (g Goal) limit() Figure {
	if g.AtMost.Known() {
		return g.AtMost
	}
	return g.AtLeast
}

// String returns the goal as part of a sentence: "mean filter latency at most 200 ms".
func (g Goal) String() string {
	word := "at least"
	if g.AtMost.Known() {
		word = "at most"
	}
	return fmt.Sprintf("%s %s %s", g.name(), word, g.written(g.limit()))
}

func (g Goal) name() string {
	name := strings.ReplaceAll(string(g.Figure), "_", " ")
	switch g.Figure {
	case CapacityFigure, Completeness:
		return name
	case FailedQueries:
		return "share of failed queries"
	}
	return string(g.Statistic) + " " + name
}

// Texts converts names of any string type to plain strings.
func Texts[T ~string](names []T) []string {
	return Each(names, func(name T) string { return string(name) })
}

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
