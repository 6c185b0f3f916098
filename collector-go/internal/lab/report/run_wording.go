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
	text := fmt.Sprintf("Experiment %s, begun at %s: %d of %d trials finished.", r.Experiment, moment(r.StartedMs),
		done, len(r.Trials))
	if !r.Finished {
		text = strings.TrimSuffix(text,
			".") + ", and the run has not ended: go on with bullet-metrics tune run --resume."
	}
	return strings.TrimSpace(strings.Join(strings.Fields(r.About), " ") + " " + text)
}

// Answer is what the run came to in lines, beside its verdict and its capacity: what a query costs, and what limited
// each configuration.
func (r *RunReport) Answer() (lines []string) {
	for _, c := range slices.Concat(r.Judged.Concurrency, r.Judged.Costs) {
		for _, line := range costFindings(c.Concurrency) {
			lines = append(lines, "  "+c.Label+": "+strings.ToLower(line[:1])+line[1:])
		}
	}
	for _, row := range r.Rows {
		known := slices.DeleteFunc(slices.Clone(row.Limiters), func(name string) bool {
			return name == noLimiter || name == unknownLimiter
		})
		switch {
		case len(known) > 0:
			lines = append(lines, "  "+row.Label+": limited by "+strings.Join(known, ", "))
		case slices.Contains(row.Limiters, unknownLimiter):
			lines = append(lines, "  "+row.Label+
				": what limited it is not known: evidence is missing or contradicts itself; the report names it")
		case row.Capacity.LastOK != nil || slices.Contains(row.Limiters, noLimiter):
			lines = append(lines, "  "+row.Label+": nothing was at its limit")
		}
	}
	return lines
}

func (r *RunReport) steps() string {
	text := fmt.Sprintf(
		"Each step is measured for %s after a warm-up of %s that counts for nothing; steps are searched by %q, over "+
			"%s.",
		lasting(r.plan.SustainMs), lasting(r.plan.WarmUpMs), r.plan.Search, r.axis())
	if f := r.plan.Load.CatchUpFactor; f.Known() {
		text += fmt.Sprintf(" After it %s times its records are offered for %s.", tuning.Digits(f),
			lasting(r.plan.Load.CatchUpMs))
	}
	return text
}

// lasting writes a time without the zeros behind: "5m", "1m30s".
func lasting(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	if short, found := strings.CutSuffix(text, "m0s"); found {
		text = short + "m"
	}
	if short, found := strings.CutSuffix(text, "h0m"); found {
		text = short + "h"
	}
	return text
}

func (r *RunReport) goals() (out []string) {
	for _, g := range r.Goals {
		text := g.String()
		out = append(out, capital(text)+".")
	}
	if hostOfRun(r.plan) {
		return out
	}
	return append(out, fmt.Sprintf(
		"At least %s of the host idle; below that a step is inconclusive unless its limit is shown to be the "+
			"topology.",
		tuning.Percent(r.plan.MinHostIdle)))
}

// mostTroubles bounds what the first page lists; the trials list all.
const mostTroubles = 8

// troubles are the steps that were not OK, with what limited them, and the trials that could not be measured.
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

// starved puts the steps that a busy host left without a verdict into one sentence, and gives the others.
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

// saysOf is the finding about a limiter.
func saysOf(l *tuning.Limitation, limiter tuning.Limiter) string {
	for _, f := range l.Findings {
		if f.Limiter == limiter {
			return f.Says
		}
	}
	return l.Text
}
