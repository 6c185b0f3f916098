// Package optimize searches for the cheapest configuration that holds a target load. Its input is a space of settings
// with costs, a target, and the trials so far. Its output is the next trial, or the best configuration with a proof.
//
// A proof rests on monotonicity: some settings never make the load harder to hold, such as more filter bolts. If a
// configuration fails, every configuration that is no easier fails too and needs no trial. The best is proven when each
// cheaper configuration is ruled out in this way. A statistical model (surrogate) only orders the trials; no proof
// depends on it, so a bad model costs trials and never correctness.
//
// The package keeps no state between two calls: everything follows from the trials that it is given, which makes a
// search resumable. It must know no clock, no file and no cluster; searchrunner runs the trials. Simulation produces
// trials from formulas or recorded rows, for tests and for `tune optimize --simulate`.
//
// Start reading at Space and Search.Next in search.go; knowledge.decide holds the order of decisions.
package optimize

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// MaxPoints bounds the configurations of a space: each is looked at before each trial.
const MaxPoints = 100_000

// Easier is the direction in which a setting never makes the load harder to hold. The user states it, and every proof
// depends on it. A wrong direction shows as a contradiction between two verdicts, which the search repeats and, if it
// persists, reports as open.
type Easier string

// The directions.
const (
	// Neither is a setting of which nothing is known: one value proves nothing of another.
	Neither Easier = "neither"
	// More is a setting of which more never makes it worse, such as filter bolts.
	More Easier = "more"
	// Less is a setting of which less never makes it worse, such as a sample rate.
	Less Easier = "less"
)

// Value is a place on a setting's axis.
type Value struct {
	// Text is the value as a settings file has it.
	Text string
	// Number is the value in formulas; the place in the list, from 0, where Text is no number.
	Number float64
}

// Setting is one dimension of a space: a list of values, what each costs, and how they relate to the load.
type Setting struct {
	// Name is Bullet's or Storm's, such as bullet.topology.filter.bolt.parallelism; As is what formulas call it.
	Name, As string
	// Values are distinct. They ascend unless Easier is Neither.
	Values []Value
	// Costs are what each value costs, in the unit of the space's costs.
	Costs []float64
	// Easier is the monotonicity that proofs rest on.
	Easier Easier
	// Relieves are the limiters that more (or, with Less, less) of the setting helps against.
	Relieves []tuning.Limiter
	// Written is how a value stands in the setting, "{}" in its place, such as "-Xmx{}m"; "" for the value alone. What
	// several settings of one Name write is joined by spaces.
	Written string
}

// Point is a configuration: the index of a value for each setting, in the space's order.
type Point []int

// Space is the set of configurations that a search may try: the product of the settings' values, without those that
// violate a constraint. It must be small enough to enumerate (MaxPoints).
type Space struct {
	Settings []Setting
	// BaseCost is what any configuration costs beside its settings.
	BaseCost float64
	// Cost, where it is not nil, is a configuration's cost in the place of BaseCost and the settings' own.
	Cost *Formula
	// Constraints hold (are not 0) for each configuration that may be tried.
	Constraints []*Formula
	// Start is tried first, nil for none: where the topology is today.
	Start Point
}

// Validate returns an error that names what makes no sense of it.
func (s Space) Validate() error {
	if len(s.Settings) == 0 {
		return errors.New("the space has no settings; give at least one with its values")
	}
	points := 1
	for _, each := range s.Settings {
		if err := each.validate(); err != nil {
			return fmt.Errorf("setting %s: %w", each.Name, err)
		}
		if points *= len(each.Values); points > MaxPoints {
			return fmt.Errorf("the space has more than %d configurations; take larger steps or fewer settings",
				MaxPoints)
		}
	}
	if s.Start == nil {
		return nil
	}
	if len(s.Start) != len(s.Settings) {
		return fmt.Errorf("the start has %d values for %d settings", len(s.Start), len(s.Settings))
	}
	for i, level := range s.Start {
		if level < 0 || level >= len(s.Settings[i].Values) {
			return fmt.Errorf("the start has no value %d of %s", level, s.Settings[i].Name)
		}
	}
	return nil
}

func (s Setting) validate() error {
	switch {
	case len(s.Values) == 0:
		return errors.New("there are no values")
	case len(s.Costs) != len(s.Values):
		return fmt.Errorf("%d costs for %d values", len(s.Costs), len(s.Values))
	case !slices.Contains([]Easier{More, Less, Neither}, s.Easier):
		return fmt.Errorf("%q is none of more, less, neither", s.Easier)
	}
	for _, cost := range s.Costs {
		if math.IsNaN(cost) || math.IsInf(cost, 0) {
			return errors.New("a cost is not a number")
		}
	}
	ascends := slices.IsSortedFunc(s.Values, func(a, b Value) int { return int(math.Copysign(1, a.Number-b.Number)) })
	if s.Easier != Neither && !ascends {
		return errors.New("the values must ascend")
	}
	return nil
}

// CostOf is what a configuration costs.
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

// Variables are a configuration's numbers under the names that formulas use.
func (s Space) Variables(p Point) map[string]float64 {
	all := map[string]float64{}
	for i, level := range p {
		all[s.Settings[i].As] = s.Settings[i].Values[level].Number
	}
	return all
}

// Text is a configuration in a line: "filter=4 heap=1024".
func (s Space) Text(p Point) string {
	var all []string
	for i, level := range p {
		all = append(all, s.Settings[i].As+"="+s.Settings[i].Values[level].Text)
	}
	return strings.Join(all, " ")
}

// Configured is a configuration by the settings' names, its values as numbers where they are.
func (s Space) Configured(p Point) map[string]any {
	all := map[string]any{}
	for i, level := range p {
		each, text := s.Settings[i], s.Settings[i].Values[level].Text
		if each.Written != "" {
			text = strings.ReplaceAll(each.Written, "{}", text)
		}
		if before, joined := all[each.Name]; joined {
			text = fmt.Sprintf("%v %s", before, text)
		}
		all[each.Name] = text
		if n, err := number(text); err == nil {
			all[each.Name] = n
		}
	}
	return all
}

// At is the configuration with values by what formulas call the settings, as Texts gives them; false where it is none
// of the space.
func (s Space) At(texts map[string]string) (Point, bool) {
	p := Point{}
	for _, each := range s.Settings {
		level := slices.IndexFunc(each.Values, func(v Value) bool { return v.Text == texts[each.As] })
		if level < 0 {
			return nil, false
		}
		p = append(p, level)
	}
	return p, len(texts) == len(p)
}

// Texts are a configuration's values by what formulas call the settings.
func (s Space) Texts(p Point) map[string]string {
	all := map[string]string{}
	for i, level := range p {
		all[s.Settings[i].As] = s.Settings[i].Values[level].Text
	}
	return all
}
