package compare

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Comparison is the result of comparing two runs. It is also the JSON document of a comparison, so its JSON keys are a
// public format. Slices are never nil, so that they are written as [] and not as null.
type Comparison struct {
	Before Operand `json:"before"`
	After  Operand `json:"after"`
	// Configurations are those that both operands have. If each operand has exactly one, these two are compared, even
	// with different labels.
	Configurations []ConfigurationChange `json:"configurations"`
	Confidence     float64               `json:"confidence"`
	Notes          []string              `json:"notes"`
}

// Operands compares two runs. It returns an error if they have no configuration in common.
func Operands(before, after Operand, confidence float64) (*Comparison, error) {
	c := &Comparison{
		Before: before, After: after, Confidence: confidence, Configurations: []ConfigurationChange{},
		Notes: []string{},
	}
	for _, pair := range c.pairs() {
		change, notes := Configurations(pair[0], pair[1], confidence)
		c.Configurations, c.Notes = append(c.Configurations, change), append(c.Notes, notes...)
	}
	if len(c.Configurations) == 0 {
		return nil, fmt.Errorf("%s and %s have no configuration in common (%s and %s)",
			before.Directory, after.Directory, before.labels(), after.labels())
	}
	return c, nil
}

// pairs matches configurations by their labels. If each operand has exactly one configuration, these two are compared
// whatever their labels are. A configuration without a partner is named in the notes.
func (c *Comparison) pairs() (pairs [][2]Configuration) {
	if len(c.Before.Configurations) == 1 && len(c.After.Configurations) == 1 {
		return [][2]Configuration{{c.Before.Configurations[0], c.After.Configurations[0]}}
	}
	for _, before := range c.Before.Configurations {
		if after, found := c.After.labelled(before.Label); found {
			pairs = append(pairs, [2]Configuration{before, after})
		} else {
			c.Notes = append(c.Notes, fmt.Sprintf("configuration %q is only in %s", before.Label, c.Before.Directory))
		}
	}
	for _, after := range c.After.Configurations {
		if _, found := c.Before.labelled(after.Label); !found {
			c.Notes = append(c.Notes, fmt.Sprintf("configuration %q is only in %s", after.Label, c.After.Directory))
		}
	}
	return pairs
}

// changes returns a sentence for each figure that meets all given conditions.
func (c *Comparison) changes(all ...func(FigureChange) bool) (texts []string) {
	for _, configuration := range c.Configurations {
		for _, s := range configuration.Steps {
			for _, f := range s.Figures {
				if !slices.ContainsFunc(all, func(holds func(FigureChange) bool) bool { return !holds(f) }) {
					texts = append(texts, fmt.Sprintf("%s: %s %s", s.Name, f.Name, f.Text(c.Confidence)))
				}
			}
		}
	}
	return texts
}

// Verdict summarises the changes of all figures that can get worse, and returns a sentence with the reason. Only clear
// changes count. If no figure has an interval, the verdict is "cannot tell" and not "no clear change", because the
// variation between launches is unknown.
func (c *Comparison) Verdict() (verdict, why string) {
	worse := c.changes(func(f FigureChange) bool { return f.Clear && f.WorseBy(0) })
	better := c.changes(func(f FigureChange) bool { return f.Clear && f.Worse != "" && !f.WorseBy(0) })
	measured := c.changes(func(f FigureChange) bool { return f.Worse != "" && f.Ratio.Value.Known() })
	untellable := c.changes(func(f FigureChange) bool {
		return f.Worse != "" && f.Ratio.Value.Known() && !f.Change.Low.Known()
	})
	switch {
	case len(measured) == 0:
		return "nothing to compare", "No step was measured in both runs."
	case len(worse) > 0 && len(better) > 0:
		return "better and worse", fmt.Sprintf("Clearly worse: %s (one of %d figures). Clearly better: %s (one of %d).", worse[0],
			len(worse), better[0], len(better))
	case len(worse) > 0:
		return "worse", fmt.Sprintf("Clearly worse: %s (one of %d figures). No figure is clearly better.", worse[0], len(worse))
	case len(better) > 0:
		return "better", fmt.Sprintf("Clearly better: %s (one of %d figures). No figure is clearly worse.", better[0],
			len(better))
	case len(untellable) == len(measured):
		return "cannot tell", "The variation between launches is unknown: launch each configuration more than once (steps.repeats)."
	}
	return "no clear change", "No figure that can get worse clearly changed."
}

// LeastLaunches is the number of baseline launches that a proof of a regression needs. Two launches say too little
// about the variation: at 95% and one degree of freedom, Student's t is 12.7.
const LeastLaunches = 3

// GuardVerdict is the result of a comparison with a baseline. NotProvable differs from NoneProven: it means that the
// data could not have shown a regression, so a pass would be worthless.
type GuardVerdict string

// The verdicts of a guard.
const (
	Regressed   GuardVerdict = "regression"
	NotProvable GuardVerdict = "not provable"
	NoneProven  GuardVerdict = "no regression proven"
)

// Guard says whether figures are worse than those of a baseline by more than the allowed ratio. A regression must be
// proven: its whole interval must lie beyond the ratio. Otherwise the normal variation between launches would raise
// false alarms.
type Guard struct {
	// Allowed is the ratio by which a figure may get worse.
	Allowed float64      `json:"allowed_ratio"`
	Verdict GuardVerdict `json:"verdict"`
	// Regressions are sentences. They name the figures whose whole interval is worse than allowed, and the capacities
	// that are lower than allowed.
	Regressions []string `json:"regressions"`
	// NotProvable says, for each figure that could not be compared, why a regression could not be proven.
	NotProvable []string `json:"not_provable"`
}

// Guard compares the operand After with the baseline Before and returns the verdict.
func (c *Comparison) Guard(allowed float64) Guard {
	g := Guard{Allowed: allowed, Regressions: []string{}, NotProvable: []string{}}
	compared := false
	for _, configuration := range c.Configurations {
		suffix := ""
		if len(c.Configurations) > 1 {
			suffix = " (" + configuration.After + ")"
		}
		for _, s := range configuration.Steps {
			compared = g.step(s, suffix, c.Confidence) || compared
		}
		g.capacity(configuration, suffix)
	}
	if !compared {
		g.NotProvable = append(g.NotProvable,
			"no figure that can get worse was measured in both runs; run both with the same steps")
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

// step judges the figures of one step. It reports whether any figure could be compared.
func (g *Guard) step(s StepChange, suffix string, confidence float64) (compared bool) {
	fewest := LeastLaunches
	for _, f := range s.Figures {
		if f.Worse == "" || !f.Change.Value.Known() {
			continue
		}
		compared = true
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
			fmt.Sprintf("%s%s: the baseline was launched %s, but a proof needs %d launches (steps.repeats: %d)",
				s.Name, suffix, tuning.Times(fewest), LeastLaunches, LeastLaunches))
	}
	return compared
}

// capacity judges the capacity. It is proven worse if a load failed that is lower than the load that the baseline held,
// by more than the allowed ratio.
func (g *Guard) capacity(c ConfigurationChange, suffix string) {
	if c.Capacity == nil || c.LaunchesBefore < LeastLaunches {
		return // step has already reported too few launches
	}
	held, failed := c.Capacity.Before.LastOK, c.Capacity.After.FirstFail
	if held != nil && failed != nil && *failed <= *held*(1-g.Allowed) {
		g.Regressions = append(g.Regressions, fmt.Sprintf("capacity%s: %s", suffix, c.Capacity.Text()))
	}
}

// Text returns the verdict of the guard as a sentence without its full stop.
func (g Guard) Text() string {
	text := fmt.Sprintf("Guard at %s: %s", tuning.Percent(tuning.Figure(g.Allowed)), g.Verdict)
	if g.Verdict == Regressed {
		return text + fmt.Sprintf(" of %d figures", len(g.Regressions))
	}
	return text
}
