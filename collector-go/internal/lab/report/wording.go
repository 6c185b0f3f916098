package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// lead describes the run in a sentence or two.
func (r *RunReport) lead() string {
	done := len(tuning.Those(r.Trials, func(t *TrialReport) bool { return t.State == runstore.Finished }))
	end := "."
	if !r.Finished {
		end = ". The run has not ended; continue it with bullet-metrics tune run --resume."
	}
	return strings.TrimSpace(fmt.Sprintf("%s Experiment %s, started at %s: %d of %d trials finished%s",
		strings.Join(strings.Fields(r.About), " "), r.Experiment, moment(r.StartedMs), done, len(r.Trials), end))
}

// Answer returns the results of the run in lines, in addition to its verdict and capacity: what limited each
// configuration, and the cost of a query. tune run prints them at its end.
func (r *RunReport) Answer() (lines []string) {
	for _, row := range r.Rows {
		for _, text := range []string{r.limiter(row), r.cost(row)} {
			if text != "" {
				lines = append(lines, "  "+row.Label+": "+text)
			}
		}
	}
	return lines
}

// limiters returns what limited the capacity of a configuration: the limiters of its first FAIL. Those of its other
// steps count only if it has no FAIL, because another step may have another cause.
func (r *RunReport) limiters(row RowReport) []string {
	switch _, failed := r.bounds(row); {
	case failed == nil:
		return row.Limiters
	case failed.step.Limitation == nil:
		return []string{tuning.UnknownLimiter}
	default:
		return failed.step.Limitation.Names()
	}
}

// limiter returns the limiters of a configuration as a part of a sentence, or "" if nothing was measured.
func (r *RunReport) limiter(row RowReport) string {
	all := r.limiters(row)
	known := tuning.Those(all, func(name string) bool {
		return name != tuning.NoLimiter && name != tuning.UnknownLimiter
	})
	switch {
	case len(known) > 0:
		return "limited by " + strings.Join(known, ", ")
	case slices.Contains(all, tuning.UnknownLimiter):
		return "the limiter is unknown, because evidence is missing or contradictory"
	case row.Capacity.LastOK != nil || slices.Contains(all, tuning.NoLimiter):
		return "nothing was at its limit"
	}
	return ""
}

// costOf returns the analysis of a configuration's cost of a query, or nil if there is none.
func (r *RunReport) costOf(row RowReport) *tuning.Concurrency {
	ofRow := func(c NamedConcurrency) bool { return c.Label == row.Label }
	c, _ := tuning.First(slices.Concat(r.Results.Concurrency, r.Results.Costs), ofRow)
	return c.Concurrency
}

// cost returns the cost of a query in a configuration with its interval, or the reason why it is unknown. It returns ""
// if the run does not measure it.
func (r *RunReport) cost(row RowReport) string {
	if c := r.costOf(row); c != nil && c.MarginalTotal.Value.Known() {
		return "each query adds " + c.MarginalTotal.Text(c.Confidence, "ms/min of CPU in the whole topology")
	} else if c != nil {
		return "cost per query not determined: " + c.MarginalTotal.Note
	}
	if r.Analysis == runstore.OfConcurrency && r.Axis == runstore.Queries && r.limiter(row) != "" {
		return "cost per query not determined: the CPU of the workers is unknown in every step"
	}
	return ""
}

// steps describes how the steps were measured and searched.
func (r *RunReport) steps() string {
	text := fmt.Sprintf("Each step is measured for %s after a warm-up of %s. Search: %s.",
		tuning.Lasting(r.plan.SustainMs), tuning.Lasting(r.plan.WarmUpMs), r.plan.Search.Text())
	if f := r.plan.Load.CatchUpFactor; f.Known() {
		text += fmt.Sprintf(" Each step then offers %s times its record rate for %s.", tuning.Digits(f),
			tuning.Lasting(r.plan.Load.CatchUpMs))
	}
	return text
}

// goals returns the goals by which the steps are judged, in sentences.
func (r *RunReport) goals() []string {
	out := tuning.Each(r.Goals, func(g tuning.Goal) string { return capital(g.String()) + "." })
	if hostOfRun(r.plan) {
		return out
	}
	return append(out, fmt.Sprintf("At least %s of the host must be idle. Otherwise a step is inconclusive, unless the topology is "+
		"shown to be the limit.", tuning.Percent(r.plan.MinHostIdle)))
}

// mostTroubles is how many troubles the first page lists. The sections of the trials list all.
const mostTroubles = 8

// troubles lists the steps that were not OK, with what limited them, and the trials that could not be measured. It
// lists at most mostTroubles of them, because the list is on the first page.
func (r *RunReport) troubles() []string {
	var all []string
	for _, t := range r.Trials {
		if t.Error != "" {
			all = append(all, fmt.Sprintf("%s could not be measured: %s.", t.name(), strings.TrimSuffix(t.Error, ".")))
		}
		starved, rest := t.starved()
		all = append(all, starved...)
		for _, s := range rest {
			if s.Verdict != tuning.OK {
				sentence := func(why string) string { return capital(strings.TrimSuffix(why, ".")) + "." }
				reasons := tuning.Each(s.why(), sentence)
				all = append(all, fmt.Sprintf("%s, %s (%s): %s", t.name(), s.Name, t.verdictText(s),
					strings.Join(reasons, " ")))
			}
		}
	}
	if more := len(all) - mostTroubles; more > 0 {
		all = append(all[:mostTroubles], fmt.Sprintf("%d more are in the sections of the trials.", more))
	}
	return all
}

// starved combines the steps without a verdict because of a busy host into one sentence, and returns the other steps.
// All these steps have the same reason. The sentence quotes the finding of the step in which the host was busiest.
func (t *TrialReport) starved() (sentences []string, rest []TrialStep) {
	var names []string
	least := TrialStep{}
	for _, s := range t.explained() {
		if s.Verdict != tuning.Inconclusive || s.Limitation == nil || !s.Limitation.Known() ||
			s.Limitation.Limiters[0] != tuning.LimitedByHost {
			rest = append(rest, s)
			continue
		}
		name, _, _ := strings.Cut(s.Name, ", ")
		names = append(names, name)
		if len(names) == 1 || s.HostIdle < least.HostIdle {
			least = s
		}
	}
	if len(names) > 0 {
		sentences = append(sentences, fmt.Sprintf("%s (inconclusive at %s): the host ran out of CPU, so the result says nothing about the topology. In the busiest step, %s.",
			t.name(), strings.Join(names, ", "), saysOf(least.Limitation, tuning.LimitedByHost)))
	}
	return sentences, rest
}

// saysOf returns the finding about a limiter, or the text of the limitation if there is no such finding.
func saysOf(l *tuning.Limitation, limiter tuning.Limiter) string {
	if f, found := tuning.First(l.Findings, func(f tuning.LimiterFinding) bool { return f.Limiter == limiter }); found {
		return f.Says
	}
	return l.Text
}

// mostNamedSteps is how many other steps that were not OK the lead names.
const mostNamedSteps = 2

// trialStep is a step with its trial.
type trialStep struct {
	trial *TrialReport
	step  TrialStep
}

// why explains the verdict in lines: the load that was held, the two steps that bound the capacity with their reasons,
// what a query costs, and the other steps that were not OK. If the run missed its record rate, its question is not
// answered, so that is the first line.
func (r *RunReport) why() (lines []string) {
	held := r.mostHeld()
	var cost []string // with several configurations, it is in the table
	if len(r.Rows) == 1 && r.cost(r.Rows[0]) != "" {
		cost = []string{capital(r.cost(r.Rows[0])) + "."}
	}
	lastOK, firstFail := r.bounding()
	steps := 0
	var others []trialStep
	for _, t := range r.Trials {
		for _, s := range t.explained() {
			steps++
			bounds := firstFail != nil && t.Configuration == firstFail.trial.Configuration &&
				s.Value == firstFail.step.Value && s.Kind == firstFail.step.Kind // in any launch
			if s.Verdict != tuning.OK && !bounds {
				others = append(others, trialStep{t, s})
			}
		}
	}
	switch {
	case r.unanswered != "":
		return append([]string{capital(r.unanswered) + ". The figures hold for the record rate that was measured.",
			tuning.RateAdvice}, slices.Concat(held, cost)...)
	case steps == 0:
		return []string{"No step was measured."}
	case !r.Finished:
		lines = append(lines, "The run has not ended.")
	}
	lines = append(lines, held...)
	if lastOK != nil && (firstFail != nil || len(others) > 0) {
		lines = append(lines, fmt.Sprintf("Last OK: %s.", r.metAt(*lastOK)))
	}
	if firstFail != nil {
		lines = append(lines, "First FAIL: "+r.firstReason(*firstFail))
	}
	lines = append(lines, cost...)
	if firstFail == nil && len(others) == 0 {
		met := fmt.Sprintf("Every goal was met in %s.", tuning.Counted(steps, "step"))
		if r.Verdict == tuning.Inconclusive && r.Finished {
			met += " The search ended at its last value without a FAIL, so the capacity has no upper bound. Continue with larger values."
		}
		return append(lines, met)
	}
	return append(lines, r.others(others)...)
}

// bounding returns the steps between which the capacity lies, for the configuration with the largest capacity. If no
// configuration held a load, it is the one that failed at the highest load. A timeline has no capacity and therefore no
// such steps.
func (r *RunReport) bounding() (lastOK, firstFail *trialStep) {
	if r.Analysis == runstore.OfTimeline || len(r.Rows) == 0 {
		return nil, nil
	}
	return r.bounds(slices.MaxFunc(r.Rows, func(a, b RowReport) int { return a.Capacity.Compare(b.Capacity) }))
}

// bounds returns the steps between which the capacity of a configuration lies: the last attempt at each, unless only an
// earlier one has a known limiter.
func (r *RunReport) bounds(row RowReport) (lastOK, firstFail *trialStep) {
	find := func(value *float64, verdict tuning.Verdict) (found *trialStep) {
		for _, t := range r.Trials {
			if value == nil || t.Configuration != row.Configuration {
				continue
			}
			for _, s := range t.Steps {
				if s.Value == *value && s.Verdict == verdict && s.Kind != runstore.CostStep &&
					(found == nil || s.limited() || !found.step.limited()) {
					found = &trialStep{t, s}
				}
			}
		}
		return found
	}
	return find(row.Capacity.LastOK, tuning.OK), find(row.Capacity.FirstFail, tuning.Fail)
}

// others describes the other steps that were not OK: up to mostNamedSteps by name with their reasons, or else the
// number of steps for each verdict. The text must be short, because the lead is at the top of the report.
func (r *RunReport) others(all []trialStep) []string {
	if len(all) <= mostNamedSteps {
		return tuning.Each(all, func(p trialStep) string { return capital(r.firstReason(p)) })
	}
	counts := map[tuning.Verdict]int{}
	for _, p := range all {
		counts[p.step.Verdict]++
	}
	return []string{fmt.Sprintf("Other steps: %s, with reasons below.", tuning.Listed(VerdictCounts(counts)))}
}

// at returns the name of a step, with its trial if there are several.
func (r *RunReport) at(p trialStep) string {
	if len(r.Trials) > 1 {
		return p.trial.name() + ", " + p.step.Name
	}
	return p.step.Name
}

// metAt describes a step that was OK with the figures of its goals. It omits the share of failed queries.
func (r *RunReport) metAt(p trialStep) string {
	var figures []string
	for _, f := range p.step.Figures {
		if f.Measured.Known() && f.Goal.Figure != tuning.FailedQueries {
			figures = append(figures, f.String())
		}
	}
	return r.at(p) + tuning.InBrackets(strings.Join(figures, ", "))
}

// firstReason describes a step by its first reason and its limiter, as a sentence. If the reason is a limiter, it adds
// only what was measured about the first one.
func (r *RunReport) firstReason(p trialStep) string {
	s := p.step
	why, text := s.why(), string(s.Verdict)
	if len(why) > 0 {
		text = strings.TrimSuffix(why[0], ".")
	}
	switch l := s.Limitation; {
	case l == nil || !l.Known():
	case text == l.Text:
		text = fmt.Sprintf("limited by %s: %s", limitedBy(*l), saysOf(l, l.Limiters[0]))
	case !strings.Contains(text, "limited by"):
		text += ", limited by " + limitedBy(*l)
	}
	return fmt.Sprintf("%s: %s.", r.at(p), text)
}

// mostHeld states the largest capacity of a configuration in a line, and names the configurations that were not
// measured. For a single configuration it also states the limiter. It returns nothing if no
// configuration held a load.
func (r *RunReport) mostHeld() (lines []string) {
	var most, unmeasured []RowReport
	for _, row := range r.Rows {
		c := row.Capacity
		if c.LastOK == nil && c.FirstFail == nil && len(c.Inconclusive)+len(c.Limited) == 0 {
			unmeasured = append(unmeasured, row)
		}
		switch {
		case c.LastOK == nil || len(most) > 0 && *c.LastOK < *most[0].Capacity.LastOK:
			continue
		case len(most) > 0 && *c.LastOK > *most[0].Capacity.LastOK:
			most = nil
		}
		most = append(most, row)
	}
	if len(r.Rows) == 1 && r.Rows[0].Capacity.FirstFail != nil {
		most = r.Rows // if nothing held, the capacity is below the first FAIL
	}
	if len(most) == 0 || r.Analysis == runstore.OfTimeline {
		return nil
	}
	// Configurations that held the same load may have failed at different loads. Then only the lower bound is common.
	held := most[0].Capacity.Text()
	if slices.ContainsFunc(most, func(row RowReport) bool { return row.Capacity.Text() != held }) {
		held = tuning.Interval{LastOK: most[0].Capacity.LastOK}.Text()
	}
	if len(r.Rows) == 1 {
		lines = append(lines, fmt.Sprintf("Capacity: %s %s, %s.", held, r.axis(), r.limiter(most[0])))
	} else {
		lines = append(lines, fmt.Sprintf("Largest capacity: %s %s (%s).", held, r.axis(), labelsOf(most)))
	}
	if len(unmeasured) > 0 && r.Finished {
		lines = append(lines, fmt.Sprintf("Not measured: %s.", labelsOf(unmeasured)))
	}
	return lines
}

// labelsOf lists the labels of configurations for a sentence.
func labelsOf(rows []RowReport) string {
	return tuning.Listed(tuning.Each(rows, func(row RowReport) string { return row.Label }))
}
