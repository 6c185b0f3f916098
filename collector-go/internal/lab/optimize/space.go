// Package optimize searches for the cheapest configuration that holds a target load. Its input is a space of settings
// with costs, a target, and the trials so far. Its output is the next trial, or the best configuration with a proof.
//
// A proof relies on monotonicity: some settings never make the load harder to hold, such as more filter bolts. If a
// configuration fails, every configuration that is not easier fails too and needs no trial. The best configuration is
// proven when every cheaper one is ruled out in this way. A statistical model (surrogate) only ranks the trials. No
// proof depends on it, so a bad model costs extra trials and never correctness.
//
// The package keeps no state between two calls: everything follows from the trials that the caller passes, so a search
// can be resumed. It must not use a clock, files or a cluster; package runner runs the trials. Simulation produces
// trials from formulas or recorded rows, for tests and for `tune optimize --simulate`.
//
// Start reading at Space and Search.Next in search.go. knowledge.decide contains the order of decisions.
package optimize

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// MaxPoints is the largest number of configurations of a space. The search visits every configuration before each
// trial.
const MaxPoints = 100_000

// Easier is the direction in which a setting never makes the load harder to hold. The user states it, and every proof
// depends on it. A wrong direction shows as two verdicts that contradict each other. The search repeats these trials
// and, if the contradiction remains, reports it as open.
type Easier string

// The directions.
const (
	// Neither is the direction of a setting without a known effect: one value proves nothing about another.
	Neither Easier = "neither"
	// More is the direction of a setting whose larger values never make the load harder to hold, such as filter bolts.
	More Easier = "more"
	// Less is the direction of a setting whose smaller values never make the load harder to hold, such as a sample
	// rate.
	Less Easier = "less"
)

// Value is one value of a setting.
type Value struct {
	// Text is the value as it is written in a settings file.
	Text string
	// Number is the value that formulas use. If Text is not a number, it is the index in the list, from 0.
	Number float64
}

// Setting is one dimension of a space: a list of values, the cost of each, and their effect on the load.
type Setting struct {
	// Name is the setting of Bullet or Storm, such as bullet.topology.filter.bolt.parallelism. As is its name in
	// formulas.
	Name, As string
	// Values are distinct. They ascend unless Easier is Neither.
	Values []Value
	// Costs has the cost of each value, in the unit of the space's costs.
	Costs []float64
	// Easier is the monotonicity that proofs rely on.
	Easier Easier
	// Relieves are the limiters that a larger value (with Less, a smaller value) of the setting relieves.
	Relieves []tuning.Limiter
	// Written is the text of the setting with "{}" in the place of the value, such as "-Xmx{}m". It is "" if the value
	// is the whole text. The texts of several settings with the same Name are joined by spaces.
	Written string
}

// Point is a configuration. It has the index of a value for each setting, in the order of the space's settings.
type Point []int

// Space is the set of configurations that a search may try: all combinations of the settings' values that meet the
// constraints. It must be small enough to enumerate (MaxPoints).
type Space struct {
	Settings []Setting
	// BaseCost is added to the costs of the settings' values.
	BaseCost float64
	// Cost is the whole cost of a configuration. If it is not nil, it replaces BaseCost and the costs of the values.
	Cost *Formula
	// Constraints must all have a value other than 0, or a configuration is not tried.
	Constraints []*Formula
	// Start is the configuration that is tried first, for example the one in production. nil means none.
	Start Point
}

// Validate returns an error that names what is wrong with the space.
func (s Space) Validate() error {
	if len(s.Settings) == 0 {
		return errors.New("no settings to vary; list at least one with its values")
	}
	points := 1
	for _, each := range s.Settings {
		if err := each.Validate(); err != nil {
			return fmt.Errorf("setting %s: %w", each.Name, err)
		}
		if points *= len(each.Values); points > MaxPoints {
			return fmt.Errorf("more than %d configurations; use larger steps or fewer settings", MaxPoints)
		}
	}
	return nil
}

// Validate returns an error that names what is wrong with the setting.
func (s Setting) Validate() error {
	switch {
	case len(s.Values) == 0:
		return errors.New("no values")
	case len(s.Costs) != len(s.Values):
		return fmt.Errorf("%d costs for %d values", len(s.Costs), len(s.Values))
	case !slices.Contains([]Easier{More, Less, Neither}, s.Easier):
		return fmt.Errorf("%q is not one of more, less, neither", s.Easier)
	}
	for _, cost := range s.Costs {
		if math.IsNaN(cost) || math.IsInf(cost, 0) {
			return errors.New("a cost is not a finite number")
		}
	}
	ascends := slices.IsSortedFunc(s.Values, func(a, b Value) int { return int(math.Copysign(1, a.Number-b.Number)) })
	if s.Easier != Neither && !ascends {
		return errors.New("values must be in ascending order, or `easier` must be neither")
	}
	return nil
}

// CostOf returns the cost of a configuration. It fails if the formula has no value for it.
func (s Space) CostOf(p Point) (float64, error) {
	if s.Cost != nil {
		return s.Cost.Value(s.Variables(p))
	}
	cost := s.BaseCost
	for i, level := range p {
		cost += s.Settings[i].Costs[level]
	}
	return cost, nil
}

// Variables returns the numbers of a configuration under the names that formulas use.
func (s Space) Variables(p Point) map[string]float64 {
	all := map[string]float64{}
	for i, level := range p {
		all[s.Settings[i].As] = s.Settings[i].Values[level].Number
	}
	return all
}

// Text returns a configuration in one line: "filter=4 heap=1024".
func (s Space) Text(p Point) string {
	var all []string
	for i, level := range p {
		all = append(all, s.Settings[i].As+"="+s.Settings[i].Values[level].Text)
	}
	return strings.Join(all, " ")
}

// Texts returns a configuration by the names of the settings, as settings files have the values. Settings with the same
// name are joined.
func (s Space) Texts(p Point) map[string]string {
	all := map[string]string{}
	for i, level := range p {
		each, text := s.Settings[i], s.Settings[i].Values[level].Text
		if each.Written != "" {
			text = strings.ReplaceAll(each.Written, "{}", text)
		}
		if before, joined := all[each.Name]; joined {
			text = before + " " + text
		}
		all[each.Name] = text
	}
	return all
}

// Configured is Texts with numbers where the values are numbers.
func (s Space) Configured(p Point) map[string]any {
	all := map[string]any{}
	for name, text := range s.Texts(p) {
		all[name] = text
		if n, err := yamlfile.Number(text); err == nil {
			all[name] = n
		}
	}
	return all
}

// At returns the configuration with the given values, by the settings' names in formulas. It returns false if the space
// has no such configuration.
func (s Space) At(values map[string]string) (Point, bool) {
	p := Point{}
	for _, each := range s.Settings {
		level := slices.IndexFunc(each.Values, func(v Value) bool { return v.Text == values[each.As] })
		if level < 0 {
			return nil, false
		}
		p = append(p, level)
	}
	return p, len(values) == len(p)
}
