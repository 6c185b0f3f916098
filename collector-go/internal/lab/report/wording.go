package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// lead is the run in a sentence or two.
func (r *RunReport) lead() string {
	done := 0
	for _, t := range r.Trials {
		if t.State == runstore.Finished {
			done++
		}
	}
	end := "."
	if !r.Finished {
		end = ", and the run has not ended: go on with bullet-metrics tune run --resume."
	}
	return strings.TrimSpace(fmt.Sprintf("%s Experiment %s, begun at %s: %d of %d trials finished%s",
		strings.Join(strings.Fields(r.About), " "), r.Experiment, moment(r.StartedMs), done, len(r.Trials), end))
}

// Answer is what the run came to in lines, beside its verdict and its capacity: what a query costs, and what limited
// each configuration. tune run prints it at its end.
func (r *RunReport) Answer() (lines []string) {
	for _, c := range slices.Concat(r.Results.Concurrency, r.Results.Costs) {
		for _, line := range costFindings(c.Concurrency) {
			lines = append(lines, "  "+c.Label+": "+strings.ToLower(line[:1])+line[1:])
		}
	}
	for _, row := range r.Rows {
		// What limited one step is worth stating, even where another step has no known limiter.
		known := slices.DeleteFunc(slices.Clone(row.Limiters), func(name string) bool {
			return name == noLimiter || name == unknownLimiter
		})
		limit := ""
		switch {
		case len(known) > 0:
			limit = "limited by " + strings.Join(known, ", ")
		case slices.Contains(row.Limiters, unknownLimiter):
			limit = "what limited it is not known: evidence is missing or contradicts itself; the report names it"
		case row.Capacity.LastOK != nil || slices.Contains(row.Limiters, noLimiter):
			limit = "nothing was at its limit"
		default:
			continue
		}
		lines = append(lines, "  "+row.Label+": "+limit)
	}
	return lines
}

// steps is how the steps were measured and searched.
func (r *RunReport) steps() string {
	text := fmt.Sprintf("Each step is measured for %s after a warm-up of %s that counts for nothing; steps are searched by "+
		"%q, over %s.", lasting(r.plan.SustainMs), lasting(r.plan.WarmUpMs), r.plan.Search, r.axis())
	if f := r.plan.Load.CatchUpFactor; f.Known() {
		text += fmt.Sprintf(" After it %s times its records are offered for %s.", tuning.Digits(f),
			lasting(r.plan.Load.CatchUpMs))
	}
	return text
}

// lasting writes a time without the zeros behind: "5m", "1m30s".
func lasting(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// goals are the limits that the steps are judged by, in sentences.
func (r *RunReport) goals() []string {
	out := each(r.Goals, func(g tuning.Goal) string { return capital(g.String()) + "." })
	if hostOfRun(r.plan) {
		return out
	}
	return append(out, fmt.Sprintf("At least %s of the host idle; below that a step is inconclusive unless its limit is "+
		"shown to be the topology.", tuning.Percent(r.plan.MinHostIdle)))
}

// mostTroubles bounds what the first page lists; the trials list all.
const mostTroubles = 8

// troubles are the steps that were not OK, with what limited them, and the trials that could not be measured. The list
// is bounded by mostTroubles, since it stands on the first page; each trial lists all of its own.
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
				all = append(all, fmt.Sprintf("%s, %s (%s): %s.", t.name(), s.Name, t.verdictText(s),
					strings.TrimSuffix(strings.Join(s.why(), "; "), ".")))
			}
		}
	}
	if more := len(all) - mostTroubles; more > 0 {
		all = append(all[:mostTroubles], fmt.Sprintf("%d more; each trial below lists its own.", more))
	}
	return append(all, r.Notes...)
}

// starved puts the steps that a busy host left without a verdict into one sentence, and returns the other steps. They
// all have the same reason, and the finding of the busiest of them is the one that is quoted.
func (t TrialReport) starved() (sentences []string, rest []TrialStep) {
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
		sentences = append(sentences, fmt.Sprintf(
			"%s (inconclusive at %s): the figures are the host's and not the topology's; at its busiest %s.",
			t.name(), strings.Join(names, ", "), saysOf(least.Limitation, tuning.LimitedByHost)))
	}
	return sentences, rest
}

// saysOf is the finding about a limiter, or the text of the limitation where it has none.
func saysOf(l *tuning.Limitation, limiter tuning.Limiter) string {
	for _, f := range l.Findings {
		if f.Limiter == limiter {
			return f.Says
		}
	}
	return l.Text
}

// mostNamedSteps bounds how many other steps that were not OK the lead names.
const mostNamedSteps = 2

// trialStep is a step with its trial.
type trialStep struct {
	trial TrialReport
	step  TrialStep
}

// why is the verdict's reason in sentences: what was held, the two steps that bound it, each with its own reason, and
// the other steps that were not OK. A run whose record rate was missed answers nothing, so that comes before everything
// else.
func (r *RunReport) why() string {
	held := r.mostHeld()
	lastOK, firstFail := r.bounding()
	steps := 0
	var others []trialStep
	for _, t := range r.Trials {
		for _, s := range t.explained() {
			steps++
			bounds := firstFail != nil && t.Number == firstFail.trial.Number && s.Value == firstFail.step.Value &&
				s.Kind == firstFail.step.Kind
			if s.Verdict != tuning.OK && !bounds {
				others = append(others, trialStep{t, s})
			}
		}
	}
	switch {
	case r.unanswered != "":
		return capital(r.unanswered) + ". So the question is not answered: the steps were measured at another record " +
			"rate. Free the host of other work, or set load.records_per_second to a number. " + held
	case steps == 0:
		return "No step was measured."
	case !r.Finished:
		held = "The run has not ended. " + held
	}
	if firstFail == nil && len(others) == 0 {
		held += fmt.Sprintf("Every goal was met in %s.", counted(steps, "step"))
		if r.Verdict == tuning.Inconclusive && r.Finished {
			held += " The search ended at its last value without a FAIL, so that the capacity is not bounded: go on with " +
				"larger values."
		}
		return held
	}
	if lastOK != nil {
		held += fmt.Sprintf("Last OK: %s. ", r.metAt(*lastOK))
	}
	if firstFail != nil {
		held += "First FAIL: " + r.firstReason(*firstFail) + " "
	}
	return strings.TrimSpace(held + r.others(others))
}

// bounding are the steps between which the capacity lies: of the configuration that held the most, or, where none held
// anything, that failed latest. A timeline has no capacity, and so no such steps.
func (r *RunReport) bounding() (lastOK, firstFail *trialStep) {
	if r.Analysis == runstore.OfTimeline || len(r.Rows) == 0 {
		return nil, nil
	}
	most := slices.MaxFunc(r.Rows, func(a, b RowReport) int { return a.Capacity.Compare(b.Capacity) })
	find := func(value *float64, verdict tuning.Verdict) (found *trialStep) {
		for _, t := range r.Trials {
			if value == nil || t.Configuration != most.Configuration {
				continue
			}
			for _, s := range t.Steps {
				if s.Value == *value && s.Verdict == verdict && s.Kind != runstore.CostStep {
					found = &trialStep{t, s}
				}
			}
		}
		return found
	}
	return find(most.Capacity.LastOK, tuning.OK), find(most.Capacity.FirstFail, tuning.Fail)
}

// others are the further steps that were not OK: a few by name, each with its own reason, else how many of each
// verdict. The lead stands above everything, so it must stay short.
func (r *RunReport) others(all []trialStep) string {
	if len(all) <= mostNamedSteps {
		return strings.Join(each(all, r.firstReason), " ")
	}
	counts := map[tuning.Verdict]int{}
	for _, p := range all {
		counts[p.step.Verdict]++
	}
	var parts []string
	for _, v := range []tuning.Verdict{tuning.Fail, tuning.Limited, tuning.Inconclusive} {
		if n := counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return fmt.Sprintf("Of the other steps %s; each has its own reason below.", tuning.Listed(parts))
}

// at names a step, with its trial where there are several configurations.
func (r *RunReport) at(p trialStep) string {
	if len(r.Rows) > 1 {
		return p.trial.name() + ", " + p.step.Name
	}
	return p.step.Name
}

// metAt is a step that was OK, with what its goals were judged by. The share of failed queries is left out.
func (r *RunReport) metAt(p trialStep) string {
	var figures []string
	for _, f := range p.step.Figures {
		if f.Measured.Known() && f.Goal.Figure != tuning.FailedQueries {
			figures = append(figures, f.String())
		}
	}
	return r.at(p) + tuning.InBrackets(strings.Join(figures, ", "))
}

// firstReason is a step's first reason with its limiter as a sentence. The limiter is left out where the reason names
// it already.
func (r *RunReport) firstReason(p trialStep) string {
	s := p.step
	why, text := s.why(), string(s.Verdict)
	if len(why) > 0 {
		text = strings.TrimSuffix(why[0], ".")
	}
	if l := s.Limitation; l != nil && l.Known() && !strings.Contains(text, "limited by") {
		text += ", limited by " + limitedBy(*l)
	}
	return fmt.Sprintf("%s: %s.", capital(r.at(p)), text)
}

// mostHeld is the largest capacity of a configuration as a sentence, and which configurations have none since nothing
// of them was measured; "" where none held anything.
func (r *RunReport) mostHeld() string {
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
	if len(most) == 0 || r.Analysis == runstore.OfTimeline {
		return ""
	}
	// Configurations that held the same load may have failed at different ones: then only the lower bound is common.
	held := most[0].Capacity.Text()
	if slices.ContainsFunc(most, func(row RowReport) bool { return row.Capacity.Text() != held }) {
		held = tuning.Interval{LastOK: most[0].Capacity.LastOK}.Text()
	}
	text := "Capacity"
	switch {
	case len(most) > 1:
		text = capital(labelsOf(most)) + " held the most"
	case len(r.Rows) > 1:
		text = "The most was held by " + most[0].Label
	}
	text += fmt.Sprintf(": %s %s. ", held, r.axis())
	if len(unmeasured) > 0 && r.Finished {
		text += fmt.Sprintf("Not measured: %s. ", labelsOf(unmeasured))
	}
	return text
}

// labelsOf are the labels of configurations as a list in a sentence.
func labelsOf(rows []RowReport) string {
	return tuning.Listed(each(rows, func(row RowReport) string { return row.Label }))
}
