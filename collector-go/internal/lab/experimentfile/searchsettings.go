package experimentfile

import (
	"cmp"
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

// SearchSettings are the settings that a search may vary. A search section and a space file have the same fields, so
// that recorded trials can be searched with the settings of either. Cost replaces BaseCost and the costs of the
// settings.
type SearchSettings struct {
	Settings    []SearchSetting     `yaml:"settings"`
	BaseCost    float64             `yaml:"base_cost"`
	Cost        *optimize.Formula   `yaml:"cost"`
	CostUnit    string              `yaml:"cost_unit"`
	Constraints []*optimize.Formula `yaml:"constraints"`
	Start       []string            `yaml:"start"`
}

// SearchSetting is one setting with its values: a list, or a range of from, to and step or factor. As is its name in
// formulas and tables. Easier says what a proof may conclude from one value about another. Relieves is a pointer,
// because an empty list (it relieves nothing) differs from a list that was left out (the usual limiters).
type SearchSetting struct {
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

// Limiter is the name of a limiter. It is a type of its own so that a misspelled name is reported with its line.
type Limiter tuning.Limiter

// limiters are the limiters that files may name. Reports use the same names.
var limiters = []tuning.Limiter{
	tuning.LimitedByFilterCPU, tuning.LimitedByBoltCPU, tuning.LimitedByBoltBusy, tuning.LimitedByGC,
	tuning.LimitedByRestart, tuning.LimitedByPending, tuning.LimitedBySpouts, tuning.LimitedByPartitions,
	tuning.LimitedByDRPC, tuning.LimitedByEndpoint, tuning.LimitedByClient, tuning.LimitedByHost,
	tuning.LimitedByCollector, tuning.LimitedBySilence,
}

// Set reads the name of a limiter. Its error suggests the nearest name.
func (l *Limiter) Set(text string) error {
	if !slices.Contains(limiters, tuning.Limiter(text)) {
		return fmt.Errorf("unknown limiter %q; did you mean %q?", text,
			yamlfile.Nearest(text, tuning.Texts(limiters)...))
	}
	*l = Limiter(text)
	return nil
}

// maxValues is the largest number of values of a setting. More values mean most likely that the step is too small.
const maxValues = 1000

// relieved are the limiters that a setting relieves if the file does not say so. A setting is recognised by its name or
// by the text that it writes, and the first match counts. Any other setting relieves nothing.
var relieved = []struct {
	name     *regexp.Regexp
	limiters []Limiter
}{
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

// settings checks settings that could be read; prefix is put before each field. A file without settings is valid.
// settings also completes each setting, so that later code finds no missing fields.
func (c *checker) settings(s *SearchSettings, prefix string) {
	known := slices.Clone(loads)
	for i := range s.Settings {
		field, each := fmt.Sprintf("%ssettings[%d]", prefix, i), &s.Settings[i]
		if err := each.complete(); err != nil {
			c.fault(field, "%s", err)
		}
		c.when(slices.Contains(slices.Concat(known, optimize.Functions()), each.As) || !token.IsIdentifier(each.As),
			field+".as", "%q is taken or is not an identifier; use other letters, digits and underscores", each.As)
		known = append(known, each.As)
		other := slices.IndexFunc(s.Settings[:i], func(before SearchSetting) bool { return before.Name == each.Name })
		c.when(other >= 0 && (each.Written == "" || s.Settings[max(other, 0)].Written == ""), field+".name",
			"%s is listed twice; set `written` on both, for example \"-Xmx{}m\", to join their texts", each.Name)
	}
	if len(s.Settings) == 0 {
		return
	}
	c.names(prefix+"cost", s.Cost, known[len(loads):])
	for i, constraint := range s.Constraints {
		c.names(fmt.Sprintf("%sconstraints[%d]", prefix, i), constraint, known[len(loads):])
	}
	if _, err := s.start(); err != nil {
		c.fault(prefix+"start", "%s", err)
	}
}

// names checks the names in a formula when the file is read, because an unknown one would otherwise fail in the middle
// of a search. The formula may be missing.
func (c *checker) names(field string, f *optimize.Formula, known []string) {
	if f == nil {
		return
	}
	for _, name := range f.Names() {
		if !slices.Contains(known, name) {
			c.fault(field, "unknown name %q; did you mean %q?", name, yamlfile.Nearest(name, known...))
		}
	}
}

// names returns the names of the settings in formulas and tables, in their order. They are distinct, because check
// refuses a name that is taken.
func (s *SearchSettings) names() []string {
	return tuning.Each(s.Settings, func(each SearchSetting) string { return each.As })
}

// complete fills in the fields that a setting leaves out. It returns only the first error of a setting, because later
// checks rely on earlier ones.
func (s *SearchSetting) complete() error {
	if s.Name == "" {
		return errors.New("name is missing; use the name of the setting in Bullet or Storm")
	}
	s.As = cmp.Or(s.As, strings.NewReplacer(".", "_", "-", "_").Replace(s.Name))
	s.Easier = cmp.Or(s.Easier, string(optimize.Neither))
	known := []string{string(optimize.More), string(optimize.Less), string(optimize.Neither)}
	if !slices.Contains(known, s.Easier) {
		return oneOf("easier: ", s.Easier, known...)
	}
	if s.Written != "" && !strings.Contains(s.Written, "{}") {
		return fmt.Errorf("written: %q needs {} in place of the value", s.Written)
	}
	if s.Relieves == nil {
		s.Relieves = &[]Limiter{}
		for _, r := range relieved {
			if r.name.MatchString(s.Name) || r.name.MatchString(s.Written) {
				*s.Relieves = slices.Clone(r.limiters)
				break
			}
		}
	}
	if err := s.fill(); err != nil {
		return err
	}
	return s.checkValues()
}

// fill computes the values of a range. Values of a factor are rounded, and equal ones are merged. Afterwards the fields
// of the range are nil, so that a second check finds a plain list of values.
func (s *SearchSetting) fill() error {
	ranged := s.From != nil || s.To != nil || s.Step != nil || s.Factor != nil
	switch {
	case ranged == (len(s.Values) > 0):
		return errors.New("set either `values`, or `from` and `to` with `step` or `factor`")
	case !ranged:
		return nil
	case s.From == nil || s.To == nil || (s.Step == nil) == (s.Factor == nil):
		return errors.New("a range needs `from`, `to` and one of `step` and `factor`")
	case s.Step != nil && *s.Step <= 0, s.Factor != nil && (*s.Factor <= 1 || *s.From <= 0):
		return errors.New("`step` must be above 0, `factor` above 1, and `from` above 0 if there is a factor")
	}
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
			return fmt.Errorf("more than %d values; use a larger step", maxValues)
		}
		s.Values = tuning.Union(s.Values, strconv.FormatFloat(v, 'f', -1, 64))
	}
	s.From, s.To, s.Step, s.Factor = nil, nil, nil, nil
	if len(s.Values) == 0 {
		return errors.New("`from` is above `to`, so there are no values")
	}
	return nil
}

// plainValue returns a value as settings files have it, and its number. Numbers have all their digits and no exponent.
// The number of a word is NaN.
func plainValue(text string) (string, float64) {
	v, err := yamlfile.Number(text)
	if err != nil {
		return text, math.NaN()
	}
	return strconv.FormatFloat(v, 'f', -1, 64), v
}

// checkValues checks the values and costs of a setting. Ordered values must be numbers, because a proof compares them.
// A cost per unit needs numbers to multiply.
func (s *SearchSetting) checkValues() error {
	numbers := true
	for i, text := range s.Values {
		plain, v := plainValue(text)
		if slices.Contains(s.Values[:i], plain) {
			return fmt.Errorf("the value %s is listed twice", text)
		}
		s.Values[i], numbers = plain, numbers && !math.IsNaN(v)
	}
	switch {
	case !numbers && s.Easier != string(optimize.Neither):
		return fmt.Errorf("`easier: %s` needs values that are numbers", s.Easier)
	case len(s.Costs) > 0 && s.Cost != 0:
		return errors.New("set either `cost` (per unit) or `costs` (one per value), not both")
	case s.Cost != 0 && !numbers:
		return errors.New("`cost` is per unit, but not all values are numbers; set `costs` (one per value)")
	}
	return s.setting().Validate()
}

// start returns the configuration of the field start, or nil if there is none. Its values are in the order of the
// settings.
func (s *SearchSettings) start() (optimize.Point, error) {
	if len(s.Start) == 0 {
		return nil, nil
	}
	if len(s.Start) != len(s.Settings) {
		return nil, fmt.Errorf("%d values for %d settings; list one value per setting, in their order", len(s.Start),
			len(s.Settings))
	}
	var p optimize.Point
	for i, v := range s.Start {
		level := s.Settings[i].level(v)
		if level < 0 {
			return nil, fmt.Errorf("%s is not a value of %s (%s)", v, s.Settings[i].As,
				strings.Join(s.Settings[i].Values, ", "))
		}
		p = append(p, level)
	}
	return p, nil
}

// level returns the index of a value, or -1. Numbers are compared by value, so that 4 and 4.0 are the same.
func (s *SearchSetting) level(text string) int {
	plain, _ := plainValue(text)
	return slices.Index(s.Values, plain)
}

// setting converts a setting to package optimize. The number of a value that is a word is its index in the list;
// formulas use that number.
func (s *SearchSetting) setting() optimize.Setting {
	to := optimize.Setting{Name: s.Name, As: s.As, Easier: optimize.Easier(s.Easier), Costs: s.Costs,
		Written: s.Written}
	to.Relieves = tuning.Each(*s.Relieves, func(l Limiter) tuning.Limiter { return tuning.Limiter(l) })
	for i, text := range s.Values {
		_, v := plainValue(text)
		if math.IsNaN(v) {
			v = float64(i)
		}
		to.Values = append(to.Values, optimize.Value{Text: text, Number: v})
		if len(s.Costs) == 0 {
			to.Costs = append(to.Costs, s.Cost*v)
		}
	}
	return to
}

// space converts the settings to a space of package optimize. It must be called only after check.
func (s *SearchSettings) space() optimize.Space {
	out := optimize.Space{BaseCost: s.BaseCost, Cost: s.Cost, Constraints: s.Constraints}
	out.Settings = tuning.Each(s.Settings, func(one SearchSetting) optimize.Setting { return one.setting() })
	out.Start, _ = s.start() // cannot fail: check has called it
	return out
}

// Space returns the space of the search's own settings.
func (f *File) Space() optimize.Space { return f.Search.space() }
