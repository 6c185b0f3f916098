package searchfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// Space is a space file: it says what a trial of each configuration gives, by formulas or by a table. Both are used to
// simulate trials, so that a search can be tried and tested without a cluster.
type Space struct {
	Name   string `yaml:"space"`
	Source string `yaml:"source"`
	Settings
	Formula   *Formulas `yaml:"formula"`
	Table     *Table    `yaml:"table"`
	Noise     Ratio     `yaml:"noise"`
	Unstated  bool      `yaml:"noise_unstated"`
	Seed      int       `yaml:"seed"`
	TrialTime Duration  `yaml:"trial_time"`

	path   string
	places *yamlfile.Places
}

// Formulas compute the figures of a trial. A figure without a formula is unknown in every trial.
type Formulas struct {
	LatencyMs    *Formula `yaml:"latency_ms"`
	Completeness *Formula `yaml:"completeness"`
	CatchUp      *Formula `yaml:"catch_up"`
	Limiters     []Share  `yaml:"limiters"`
}

// Share is the used share of a limiter's capacity, a ratio. A simulated trial names the limiter with the largest share.
type Share struct {
	Limiter Limiter `yaml:"limiter"`
	Used    Formula `yaml:"used"`
}

// Table holds measured trials: a row of cells for each, in the order of the columns. Cells stay text until the settings
// are known, because the values of a setting may be words.
type Table struct {
	Columns []string   `yaml:"columns"`
	Rows    [][]string `yaml:"rows"`
}

// columns are the columns of a table beside the settings. Each may be left out; its cells are then unknown.
var columns = []string{"records_per_second", "queries", "latency_ms", "completeness", "catch_up", "noise", "verdict",
	"limiter", "seconds"}

// ReadSpace reads a space file. It reports all errors at once, with file, line, column and field. The settings may be
// left out if the search file has them.
func ReadSpace(path string) (*Space, error) {
	text, err := textfile.Read(path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	return parseSpace(path, text)
}

// parseSpace reads a space file from its text. Formulas and rows are checked later, in Simulation, because they may use
// the settings of the search file.
func parseSpace(path string, text []byte) (s *Space, err error) {
	s = &Space{path: path}
	if s.places, err = yamlfile.Fields(path, text, s); err != nil {
		return nil, err
	}
	var faults []error
	if s.Name == "" {
		faults = append(faults, s.places.Fault("space", "is missing; give the space a name"))
	}
	if (s.Formula == nil) == (s.Table == nil) {
		faults = append(faults, s.places.Fault("formula", "give either a formula or a table of what trials give"))
	}
	if s.Seed < 0 {
		faults = append(faults, s.places.Fault("seed", "must be at least 0"))
	}
	return s, errors.Join(append(faults, s.check(s.places)...)...)
}

// Simulation returns a simulation of the trials in a space file. The target always comes from the search file, so that
// one space can serve several searches. The settings come from the search file if it has any, else from the space file.
func (f *File) Simulation(from *Space) (*optimize.Simulation, error) {
	settings := &from.Settings
	if len(f.Settings.Settings) > 0 {
		settings = &f.Settings
	}
	if len(settings.Settings) == 0 {
		return nil, from.places.Fault("settings", "are missing; give what may be tried here or in %s", f.path)
	}
	if err := f.sameSettings(from); err != nil {
		return nil, err
	}
	s := &optimize.Simulation{Space: settings.space(), Target: f.OptimizeTarget(), Noise: float64(from.Noise),
		NoiseUnstated: from.Unstated,
		Seed:          uint64(from.Seed), TrialSeconds: time.Duration(f.trialTime(from.TrialTime)).Seconds()}
	if from.Table != nil {
		rows, err := from.rows(settings)
		s.Rows = rows
		return s, err
	}
	return s, from.formulas(s, settings)
}

// sameSettings checks that the search file and the space file have the same settings, if both have some. Otherwise the
// rows of the table would be ambiguous.
func (f *File) sameSettings(from *Space) error {
	if len(f.Settings.Settings) == 0 || len(from.Settings.Settings) == 0 {
		return nil
	}
	names, faults := from.names(), []error{}
	for i, each := range f.Settings.Settings {
		if !slices.Contains(names, each.As) {
			faults = append(faults, f.places.Fault(fmt.Sprintf("settings[%d]", i),
				"%s has no setting %q; did you mean %q?", from.path, each.As, yamlfile.Nearest(each.As, names...)))
		}
	}
	if len(faults) == 0 && len(names) != len(f.Settings.Settings) {
		faults = append(faults,
			f.places.Fault("settings", "there are %d, and %d in %s: %s; give the same, or none here",
				len(f.Settings.Settings), len(names), from.path, strings.Join(names, ", ")))
	}
	return errors.Join(faults...)
}

// formulas adds the formulas to a simulation. Every name in a formula must be a setting or a load that the target
// states. Each goal of the target must have a formula, because it could not be judged without one.
func (s *Space) formulas(into *optimize.Simulation, settings *Settings) error {
	known := []string{}
	for i, load := range []tuning.Figure{into.Target.RecordsPerSecond, into.Target.MiBPerSecond, into.Target.Queries} {
		if load.Known() {
			known = append(known, loads[i])
		}
	}
	known = append(known, settings.names()...)
	var faults []error
	use := func(field string, f *Formula) *optimize.Formula {
		if f == nil || f.Formula == nil {
			return nil
		}
		faults = append(faults, unknownNames(s.places, field, *f, known)...)
		return f.Formula
	}
	into.Latency = use("formula.latency_ms", s.Formula.LatencyMs)
	into.Completeness = use("formula.completeness", s.Formula.Completeness)
	into.CatchUp = use("formula.catch_up", s.Formula.CatchUp)
	for i, l := range s.Formula.Limiters {
		field := fmt.Sprintf("formula.limiters[%d]", i)
		share := optimize.Share{Limiter: tuning.Limiter(l.Limiter), Used: use(field+".used", &l.Used)}
		if share.Used == nil || share.Limiter == "" {
			faults = append(faults, s.places.Fault(field, "give a limiter, and as used how much of it is used"))
		}
		into.Shares = append(into.Shares, share)
	}
	for _, goal := range []struct {
		field string
		has   bool
		given *optimize.Formula
	}{
		{"latency_ms", into.Target.LatencyMs.Known(), into.Latency},
		{"completeness", into.Target.Completeness.Known(), into.Completeness},
		{"catch_up", into.Target.CatchUp.Known(), into.CatchUp},
	} {
		if goal.has && goal.given == nil {
			faults = append(faults,
				s.places.Fault("formula."+goal.field, "is missing, and the target has a goal for it"))
		}
	}
	return errors.Join(faults...)
}

// rows reads the table. It skips a row with a value that the space has but the search leaves out. A value that the
// space does not have either is an error. Errors in the columns are reported before any row is read, because cells
// under a wrong name would only repeat them.
func (s *Space) rows(settings *Settings) (out []optimize.Row, err error) {
	known := slices.Concat(columns, settings.names())
	var faults []error
	for i, name := range s.Table.Columns {
		if !slices.Contains(known, name) || slices.Contains(s.Table.Columns[:i], name) {
			faults = append(faults, s.places.Fault(fmt.Sprintf("table.columns[%d]", i),
				"unknown column %q, or one that is there twice; did you mean %q?", name,
				yamlfile.Nearest(name, known...)))
		}
	}
	for _, name := range settings.names() {
		if !slices.Contains(s.Table.Columns, name) {
			faults = append(faults, s.places.Fault("table.columns", "the setting %s has no column", name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	for i, cells := range s.Table.Rows {
		field := fmt.Sprintf("table.rows[%d]", i)
		if len(cells) != len(s.Table.Columns) {
			faults = append(faults, s.places.Fault(field, "%d cells for %d columns: %s", len(cells),
				len(s.Table.Columns), strings.Join(s.Table.Columns, ", ")))
			continue
		}
		row, may, err := s.row(settings, field, cells)
		faults = append(faults, err)
		if may {
			out = append(out, row)
		}
	}
	if len(out) == 0 && errors.Join(faults...) == nil {
		faults = append(faults, s.places.Fault("table.rows", "there is no row of a configuration that may be tried"))
	}
	return out, errors.Join(faults...)
}

// setting returns the space file's own setting with a name, or nil. The search file may have fewer values than this
// setting.
func (s *Space) setting(as string) *Setting {
	i := slices.IndexFunc(s.Settings.Settings, func(each Setting) bool { return each.As == as })
	if i < 0 {
		return nil
	}
	return &s.Settings.Settings[i]
}

// row reads one row. may is false if its configuration is not in the search's space. Figures of empty cells stay
// Unknown and never become 0.
func (s *Space) row(settings *Settings, field string, cells []string) (row optimize.Row, may bool, err error) {
	unknown := tuning.Unknown
	row = optimize.Row{Point: make(optimize.Point, len(settings.Settings)), RecordsPerSecond: unknown, Queries: unknown,
		Latency:      unknown,
		Completeness: unknown, CatchUp: unknown, Noise: unknown, Seconds: unknown}
	into := map[string]*tuning.Figure{"records_per_second": &row.RecordsPerSecond, "queries": &row.Queries,
		"latency_ms":   &row.Latency,
		"completeness": &row.Completeness, "catch_up": &row.CatchUp, "noise": &row.Noise, "seconds": &row.Seconds}
	may = true
	var faults []error
	for i, cell := range cells {
		name, place := s.Table.Columns[i], fmt.Sprintf("%s[%d]", field, i)
		setting := slices.IndexFunc(settings.Settings, func(each Setting) bool { return each.As == name })
		switch {
		case setting >= 0:
			row.Point[setting] = settings.Settings[setting].level(cell)
			may = may && row.Point[setting] >= 0
			if own := s.setting(name); own != nil && own.level(cell) < 0 {
				faults = append(faults, s.places.Fault(place,
					"%s is no value of %s, which has %s: correct the row, or leave it out", cell, name,
					strings.Join(own.Values, ", ")))
			}
		case cell == "":
		case into[name] != nil:
			v, is := number(cell)
			if !is || v < 0 {
				faults = append(faults,
					s.places.Fault(place, "%s: %q is not a number of at least 0; write \"\" for what is not known",
						name, cell))
			}
			*into[name] = tuning.Figure(v)
		case name == "verdict":
			row.Verdict = tuning.Verdict(cell)
			if !slices.Contains([]tuning.Verdict{tuning.OK, tuning.Fail, tuning.Inconclusive, tuning.Limited},
				row.Verdict) {
				faults = append(faults, s.places.Fault(place, "%q is none of OK, FAIL, inconclusive, limited", cell))
			}
		default:
			var l Limiter
			if err := l.Set(cell); err != nil {
				faults = append(faults, s.places.Fault(place, "%s", err))
			}
			row.Limiter = tuning.Limiter(l)
		}
	}
	return row, may, errors.Join(faults...)
}

// Unit returns the unit of costs, from the search file if it has settings, else from the space file. It is "" if none
// is stated. The unit is only a label; no cost is converted.
func (f *File) Unit(from *Space) string {
	if len(f.Settings.Settings) > 0 {
		return f.CostUnit
	}
	return from.CostUnit
}
