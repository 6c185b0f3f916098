package compare

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// LeastLaunches is the least number of baseline launches with which a regression can be proven. The variation of two
// launches is hardly known: Student's t of 95% is 12.7 for one degree of freedom.
const LeastLaunches = 3

// GuardVerdict is the result of a comparison with a baseline. NotProvable differs from NoneProven: with it, the data
// could not have shown a regression, so a pass would be worthless.
type GuardVerdict string

// The verdicts of a guard.
const (
	Regressed   GuardVerdict = "regression"
	NotProvable GuardVerdict = "not provable"
	NoneProven  GuardVerdict = "no regression proven"
)

// Guard says whether figures are worse than those of a baseline by more than the allowed ratio. A regression must be
// proven: the whole interval has to lie beyond the ratio, so that variation between launches raises no false alarm.
type Guard struct {
	// Allowed is by how much a figure may get worse, as a ratio.
	Allowed float64      `json:"allowed_ratio"`
	Verdict GuardVerdict `json:"verdict"`
	// Regressions are the figures whose whole interval is worse than allowed, and capacities that lie below it, as
	// sentences.
	Regressions []string `json:"regressions"`
	// NotProvable is why of some figures a regression could not be proven.
	NotProvable []string `json:"not_provable"`
}

// Guard judges the side After against the baseline Before.
func (c *Comparison) Guard(allowed float64) Guard {
	g := Guard{Allowed: allowed, Regressions: []string{}, NotProvable: []string{}}
	judged := false
	for _, configuration := range c.Configurations {
		suffix := ""
		if len(c.Configurations) > 1 {
			suffix = " (" + configuration.After + ")"
		}
		for _, s := range configuration.Steps {
			judged = g.step(s, suffix, c.Confidence) || judged
		}
		g.capacity(configuration, suffix)
	}
	if !judged {
		g.NotProvable = append(g.NotProvable,
			"no figure that can get worse was measured on both sides: run both with the same steps")
	}
	switch {
	case len(g.Regressions) > 0:
		g.Verdict = Regressed
	case len(g.NotProvable) > 0:
		g.Verdict = NotProvable
	default:
		g.Verdict = NoneProven
	}
	return g
}

// step judges a step's figures, and reports whether there are any.
func (g *Guard) step(s StepChange, suffix string, confidence float64) (judged bool) {
	fewest := LeastLaunches
	for _, f := range s.Figures {
		if f.Worse == "" || !f.Change.Value.Known() {
			continue
		}
		judged = true
		switch {
		case f.LaunchesBefore < LeastLaunches:
			fewest = min(fewest, f.LaunchesBefore)
		case f.ProvenWorseBy(g.Allowed):
			g.Regressions = append(g.Regressions, fmt.Sprintf("%s%s: %s %s", s.Name, suffix, f.Name,
				f.Text(confidence)))
		case f.WorseBy(g.Allowed) && !f.Change.Low.Known():
			g.NotProvable = append(g.NotProvable, fmt.Sprintf("%s%s: %s %s: %s", s.Name, suffix, f.Name,
				f.Text(confidence), f.Note))
		}
	}
	if fewest < LeastLaunches {
		g.NotProvable = append(g.NotProvable,
			fmt.Sprintf("%s%s: the baseline was launched %s, and a regression takes %d launches of it (steps.repeats: %d)",
				s.Name, suffix, times(fewest), LeastLaunches, LeastLaunches))
	}
	return judged
}

// capacity judges the capacity: proven worse is one that failed at less than what the baseline held.
func (g *Guard) capacity(c ConfigurationChange, suffix string) {
	if c.Capacity == nil || c.LaunchesBefore < LeastLaunches {
		return // the steps state that
	}
	held, failed := c.Capacity.Before.LastOK, c.Capacity.After.FirstFail
	if held != nil && failed != nil && *failed <= *held*(1-g.Allowed) {
		g.Regressions = append(g.Regressions, fmt.Sprintf("capacity%s: %s", suffix, c.Capacity.Text()))
	}
}

// ProvenWorseBy reports whether the whole interval is worse by more than a ratio.
func (f FigureChange) ProvenWorseBy(ratio float64) bool {
	switch f.Worse {
	case "up":
		return f.Clear && f.Ratio.Low > tuning.Figure(ratio)
	case "down":
		return f.Clear && f.Ratio.High < tuning.Figure(-ratio)
	}
	return false
}

// Text is what the guard found, in a sentence without its full stop.
func (g Guard) Text() string {
	text := fmt.Sprintf("Guard at %s: %s", tuning.Percent(tuning.Figure(g.Allowed)), g.Verdict)
	if g.Verdict == Regressed {
		return text + fmt.Sprintf(" of %d figures", len(g.Regressions))
	}
	return text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
