package compare

import (
	"fmt"
	"slices"
)

// Comparison is what changed between two runs.
type Comparison struct {
	Before Side `json:"before"`
	After  Side `json:"after"`
	// Configurations are those that both have; of two that have one each, these.
	Configurations []ConfigurationChange `json:"configurations"`
	Confidence     float64               `json:"confidence"`
	Notes          []string              `json:"notes"`
}

// Sides compares two runs; it is an error where they have no configuration in common.
func Sides(before, after Side, confidence float64) (*Comparison, error) {
	c := &Comparison{
		Before: before, After: after, Confidence: confidence, Configurations: []ConfigurationChange{},
		Notes: []string{},
	}
	for _, pair := range c.pairs() {
		change, notes := Configurations(pair[0], pair[1], confidence)
		c.Configurations, c.Notes = append(c.Configurations, change), append(c.Notes, notes...)
	}
	if len(c.Configurations) == 0 {
		return nil, fmt.Errorf("%s and %s have no configuration in common (%s against %s)",
			before.Directory, after.Directory, before.labels(), after.labels())
	}
	return c, nil
}

// pairs matches configurations by their labels; two that stand alone are a pair whatever they are called.
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

// changes are the figures for which all of some things hold, as sentences.
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

// Verdict is whether figures that can get worse clearly did, and why it is that in a sentence.
func (c *Comparison) Verdict() (verdict, why string) {
	worse := c.changes(func(f FigureChange) bool { return f.Clear && f.WorseBy(0) })
	better := c.changes(func(f FigureChange) bool { return f.Clear && f.Worse != "" && !f.WorseBy(0) })
	measured := c.changes(func(f FigureChange) bool { return f.Worse != "" && f.Ratio.Value.Known() })
	untellable := c.changes(func(f FigureChange) bool {
		return f.Worse != "" && f.Ratio.Value.Known() && !f.Change.Low.Known()
	})
	switch {
	case len(measured) == 0:
		return "nothing to compare", "No step was measured on both sides."
	case len(worse) > 0 && len(better) > 0:
		return "better and worse", fmt.Sprintf("Clearly worse: %s (of %d); clearly better: %s (of %d).", worse[0],
			len(worse), better[0], len(better))
	case len(worse) > 0:
		return "worse", fmt.Sprintf("Clearly worse: %s (of %d figures); none is clearly better.", worse[0], len(worse))
	case len(better) > 0:
		return "better", fmt.Sprintf("Clearly better: %s (of %d figures); none is clearly worse.", better[0],
			len(better))
	case len(untellable) == len(measured):
		return "cannot tell",
			"How much a launch differs from the next was not measured: launch each side more than once (steps.repeats)."
	}
	return "no clear change", "No figure that can get worse clearly changed."
}
