package compare

import (
	"fmt"
	"slices"
)

// Comparison is the result of comparing two runs. It is also the JSON document of a comparison, so the JSON keys are a
// format. Slices are never nil, so that they are written as [] and not as null.
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

// pairs matches configurations by their labels. If each side has exactly one configuration, these two are compared
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

// changes lists, as sentences, the figures for which every given condition holds.
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

// Verdict summarises the figures for which one direction is worse, with a sentence that says why. Only a clear change
// counts. If no figure has an interval the verdict is "cannot tell" and not "no clear change", since nothing is known
// about the variation between launches.
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
