package searchfile

import (
	"errors"
	"fmt"
	"go/token"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// Settings are the settings that a search may change. Search files and space files have the same fields, so that a
// recorded space can be searched with the settings of either. Cost replaces BaseCost and the costs of the settings.
type Settings struct {
	Settings    []Setting `yaml:"settings"`
	BaseCost    float64   `yaml:"base_cost"`
	Cost        *Formula  `yaml:"cost"`
	CostUnit    string    `yaml:"cost_unit"`
	Constraints []Formula `yaml:"constraints"`
	Start       []string  `yaml:"start"`
}

// Setting is one setting with its values: a list, or a range of from, to and step or factor. As is its name in formulas
// and tables. Easier says what a proof may conclude from one value about another. Relieves is a pointer, because an
// empty list (it relieves nothing) differs from a list that was left out (the usual limiters).
type Setting struct {
	Name     string     `yaml:"name"`
	As       string     `yaml:"as"`
	Values   []string   `yaml:"values"`
	From     *float64   `yaml:"from"`
	To       *float64   `yaml:"to"`
	Step     *float64   `yaml:"step"`
	Factor   *float64   `yaml:"factor"`
	Cost     float64    `yaml:"cost"`
	Costs    []float64  `yaml:"costs"`
	Easier   string     `yaml:"easier"`
	Relieves *[]Limiter `yaml:"relieves"`
	Written  string     `yaml:"written"`
}

// maxValues is the largest number of values of a setting. More values mean most likely that the step is too small.
const maxValues = 1000

// relief says which limiters a setting relieves. The setting is recognised by its name or by the text that it writes.
type relief struct {
	name     *regexp.Regexp
	limiters []Limiter
}

// relieved are the limiters for settings that state none. The first match counts. Any other setting relieves nothing,
// unless the file says so.
var relieved = []relief{
	{regexp.MustCompile(`filter\.bolt\.parallelism$`), []Limiter{Limiter(tuning.LimitedByFilterCPU)}},
	{regexp.MustCompile(`bolt\.parallelism$`), []Limiter{Limiter(tuning.LimitedByBoltCPU), Limiter(tuning.LimitedByBoltBusy)}},
	{regexp.MustCompile(`spout\.parallelism$`), []Limiter{Limiter(tuning.LimitedBySpouts)}},
	{regexp.MustCompile(`max\.spout\.pending$`), []Limiter{Limiter(tuning.LimitedByPending)}},
	{regexp.MustCompile(`partitions$`), []Limiter{Limiter(tuning.LimitedByPartitions)}},
	{regexp.MustCompile(`heap|-Xmx\{\}`), []Limiter{Limiter(tuning.LimitedByGC), Limiter(tuning.LimitedByRestart)}},
}

// loads are the names of the load in formulas. No setting may have such a name, because a formula could not distinguish
// the two.
var loads = []string{"records_per_second", "mib_per_second", "queries"}

// check returns the errors of settings that could be read. A file without settings is valid. check also completes each
// setting, so that later code finds no missing fields.
func (s *Settings) check(places *yamlfile.Places) (faults []error) {
	known := slices.Clone(loads)
	for i := range s.Settings {
		field := fmt.Sprintf("settings[%d]", i)
		each := &s.Settings[i]
		if err := each.complete(); err != nil {
			faults = append(faults, places.Fault(field, "%s", err))
		}
		if slices.Contains(known, each.As) || slices.Contains(optimize.Functions(), each.As) ||
			!token.IsIdentifier(each.As) {
			faults = append(faults,
				places.Fault(field+".as",
					"%q is taken, or is not a word of letters, digits and underscores; give another", each.As))
		}
		known = append(known, each.As)
		other := slices.IndexFunc(s.Settings[:i], func(before Setting) bool { return before.Name == each.Name })
		if other >= 0 && (each.Written == "" || s.Settings[other].Written == "") {
			faults = append(faults,
				places.Fault(field+".name",
					"%s is there twice; give both a written, such as \"-Xmx{}m\": what they write is joined",
					each.Name))
		}
	}
	formulas := map[string]*Formula{"cost": s.Cost}
	for i := range s.Constraints {
		formulas[fmt.Sprintf("constraints[%d]", i)] = &s.Constraints[i]
	}
	for field, f := range formulas {
		if f != nil && len(s.Settings) > 0 {
			faults = append(faults, unknownNames(places, field, *f, known[len(loads):])...)
		}
	}
	if len(s.Start) > 0 {
		if _, err := s.start(); err != nil {
			faults = append(faults, places.Fault("start", "%s", err))
		}
	}
	return faults
}

// unknownNames returns an error for each name in a formula that does not exist. The names are checked when the file is
// read, because an unknown name would otherwise fail in the middle of a search.
func unknownNames(places *yamlfile.Places, field string, f Formula, known []string) (faults []error) {
	for _, name := range f.Names() {
		if !slices.Contains(known, name) {
			faults = append(faults, places.Fault(field, "there is no %q; did you mean %q?", name,
				yamlfile.Nearest(name, known...)))
		}
	}
	return faults
}

// names returns the names of the settings in formulas and tables, in their order. They are distinct, because check
// refuses a name that is taken.
func (s *Settings) names() (all []string) {
	for _, each := range s.Settings {
		all = append(all, each.As)
	}
	return all
}

// complete fills in the fields that a setting leaves out. It returns only the first error of a setting, because later
// checks rely on earlier ones.
func (s *Setting) complete() error {
	if s.Name == "" {
		return errors.New("name is missing; give Bullet's or Storm's name of the setting")
	}
	if s.As == "" {
		s.As = strings.NewReplacer(".", "_", "-", "_").Replace(s.Name)
	}
	if s.Easier == "" {
		s.Easier = string(optimize.Neither)
	}
	if known := []string{string(optimize.More), string(optimize.Less), string(optimize.Neither)}; !slices.Contains(
		known, s.Easier) {
		return fmt.Errorf("easier: %q is none of %s; did you mean %q?", s.Easier, strings.Join(known, ", "),
			yamlfile.Nearest(s.Easier, known...))
	}
	if s.Written != "" && !strings.Contains(s.Written, "{}") {
		return fmt.Errorf("written: %q has no {} in the place of the value", s.Written)
	}
	if s.Relieves == nil {
		s.Relieves = &[]Limiter{}
		fits := func(r relief) bool { return r.name.MatchString(s.Name) || r.name.MatchString(s.Written) }
		if i := slices.IndexFunc(relieved, fits); i >= 0 {
			*s.Relieves = slices.Clone(relieved[i].limiters)
		}
	}
	return s.fill()
}

// fill computes the values of a range. Values of a factor are rounded, and equal ones are merged. Afterwards the fields
// of the range are nil, so that a second check finds a plain list of values.
func (s *Setting) fill() error {
	ranged := s.From != nil || s.To != nil || s.Step != nil || s.Factor != nil
	switch {
	case ranged == (len(s.Values) > 0):
		return errors.New("give either values, or from and to with a step or a factor")
	case ranged && (s.From == nil || s.To == nil || (s.Step == nil) == (s.Factor == nil)):
		return errors.New("from, to and one of step and factor belong together")
	case s.Step != nil && *s.Step <= 0, s.Factor != nil && (*s.Factor <= 1 || *s.From <= 0):
		return errors.New("a step must be above 0, a factor above 1, and what is multiplied above 0")
	case ranged:
		for i := 0; ; i++ {
			v := 0.0
			if s.Step != nil {
				v = *s.From + float64(i)**s.Step
			} else {
				v = math.Round(*s.From * math.Pow(*s.Factor, float64(i)))
			}
			// The tolerance absorbs rounding errors, so that the value of to itself is included.
			if v > *s.To*(1+1e-12) {
				break
			}
			if i >= maxValues {
				return fmt.Errorf("there are more than %d values; take a larger step", maxValues)
			}
			if text := strconv.FormatFloat(v, 'g', -1, 64); !slices.Contains(s.Values, text) {
				s.Values = append(s.Values, text)
			}
		}
		s.From, s.To, s.Step, s.Factor = nil, nil, nil, nil
	}
	if len(s.Values) == 0 {
		return errors.New("from lies above to: there are no values")
	}
	return s.checkValues()
}

// checkValues checks the values and costs of a setting. Ordered values must be ascending numbers, because a proof
// compares them by their positions. A cost per unit needs numbers to multiply.
func (s *Setting) checkValues() error {
	numbers := true
	for i, v := range s.Values {
		_, is := number(v)
		numbers = numbers && is
		if slices.Contains(s.Values[:i], v) {
			return fmt.Errorf("the value %s is there twice; keep one", v)
		}
	}
	ascending := numbers && slices.IsSortedFunc(s.Values, func(a, b string) int {
		x, _ := number(a)
		y, _ := number(b)
		return int(math.Copysign(1, x-y))
	})
	switch {
	case s.Easier != string(optimize.Neither) && !ascending:
		return fmt.Errorf("with easier: %s the values must be numbers that ascend", s.Easier)
	case len(s.Costs) > 0 && len(s.Costs) != len(s.Values):
		return fmt.Errorf("costs has %d numbers for %d values", len(s.Costs), len(s.Values))
	case len(s.Costs) > 0 && s.Cost != 0:
		return errors.New("give either cost, of a unit, or costs, of each value")
	case s.Cost != 0 && !numbers:
		return errors.New("cost is of a unit, and the values are not all numbers; give costs, of each value")
	}
	return nil
}

// start returns the configuration of the field start, or nil if there is none. Its values are in the order of the
// settings.
func (s *Settings) start() (optimize.Point, error) {
	if len(s.Start) == 0 {
		return nil, nil
	}
	if len(s.Start) != len(s.Settings) {
		return nil, fmt.Errorf("it has %d values for %d settings; give one for each, in their order", len(s.Start),
			len(s.Settings))
	}
	var p optimize.Point
	for i, v := range s.Start {
		level := s.Settings[i].level(v)
		if level < 0 {
			return nil, fmt.Errorf("%s is no value of %s; there are %s", v, s.Settings[i].As,
				strings.Join(s.Settings[i].Values, ", "))
		}
		p = append(p, level)
	}
	return p, nil
}

// level returns the index of a value, or -1. Numbers are compared by value, so that 4 and 4.0 are the same.
func (s *Setting) level(text string) int {
	return slices.IndexFunc(s.Values, func(v string) bool {
		x, numeric := number(v)
		y, other := number(text)
		return v == text || numeric && other && x == y
	})
}

// space converts the settings to a space of package optimize. It must be called only after check. The number of a value
// that is a word is its index in the list; formulas use that number.
func (s *Settings) space() optimize.Space {
	out := optimize.Space{BaseCost: s.BaseCost}
	for _, each := range s.Settings {
		to := optimize.Setting{Name: each.Name, As: each.As, Easier: optimize.Easier(each.Easier), Costs: each.Costs,
			Written: each.Written}
		for _, l := range *each.Relieves {
			to.Relieves = append(to.Relieves, tuning.Limiter(l))
		}
		for i, text := range each.Values {
			v, is := number(text)
			if !is {
				v = float64(i)
			}
			to.Values = append(to.Values, optimize.Value{Text: text, Number: v})
			if len(each.Costs) == 0 {
				to.Costs = append(to.Costs, each.Cost*v)
			}
		}
		out.Settings = append(out.Settings, to)
	}
	if s.Cost != nil {
		out.Cost = s.Cost.Formula
	}
	for _, c := range s.Constraints {
		out.Constraints = append(out.Constraints, c.Formula)
	}
	out.Start, _ = s.start() // cannot fail: check has called it
	return out
}
