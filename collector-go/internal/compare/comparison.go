package compare

import (
	"encoding/json"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
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

// Regressions are the figures that clearly changed for the worse by more than a ratio, as sentences.
func (c *Comparison) Regressions(ratio float64) []string {
	return c.worse(ratio, func(f FigureChange) bool { return f.Clear })
}

// Untellable are the figures that changed for the worse by more than a ratio between two launches, of which nobody can
// tell whether it is more than launches differ by.
func (c *Comparison) Untellable(ratio float64) []string {
	return c.worse(ratio, func(f FigureChange) bool { return !f.Change.Low.Known() })
}

func (c *Comparison) worse(ratio float64, counts func(FigureChange) bool) (all []string) {
	for _, configuration := range c.Configurations {
		for _, s := range configuration.Steps {
			for _, f := range s.Figures {
				worse := f.Worse == "up" && f.Ratio.Value > tuning.Figure(ratio) ||
					f.Worse == "down" && f.Ratio.Value < tuning.Figure(-ratio)
				if worse && counts(f) {
					all = append(all, fmt.Sprintf("%s: %s %s", s.Name, f.Name, f.Text(c.Confidence)))
				}
			}
		}
	}
	return all
}

// JSON is the comparison as data; what is not known is null.
func (c *Comparison) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(c, "", "  ")
	return append(text, '\n'), err
}
