package experimentfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// SpaceFile is a space file: the outcome of a trial of each configuration, by formulas or by a table of recorded
// trials. A search can be tried on it without a cluster.
type SpaceFile struct {
	Name   string `yaml:"space"`
	Source string `yaml:"source"`
	SearchSettings
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
	LatencyMs    *optimize.Formula `yaml:"latency_ms"`
	Completeness *optimize.Formula `yaml:"completeness"`
	CatchUp      *optimize.Formula `yaml:"catch_up"`
	Limiters     []LimiterShare    `yaml:"limiters"`
}

// LimiterShare is the used share of a limiter's capacity, a ratio. A simulated trial names the limiter with the largest
// share.
type LimiterShare struct {
	Limiter Limiter           `yaml:"limiter"`
	Used    *optimize.Formula `yaml:"used"`
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
// left out if the experiment file has them.
func ReadSpace(path string) (*SpaceFile, error) {
	text, err := textfile.Read(path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	return parseSpace(path, text)
}

// parseSpace reads a space file from its text. Formulas and rows are checked later, in Simulation, because they may use
// the settings of the experiment file.
func parseSpace(path string, text []byte) (s *SpaceFile, err error) {
	s = &SpaceFile{path: path}
	if s.places, err = yamlfile.Fields(path, text, s); err != nil {
		return nil, err
	}
	c := checker{places: s.places}
	c.when(s.Name == "", "space", "missing; name the space")
	c.when((s.Formula == nil) == (s.Table == nil), "formula", "set either `formula` or `table`")
	c.when(s.Seed < 0, "seed", "%d is below 0", s.Seed)
	c.settings(&s.SearchSettings, "")
	return s, errors.Join(c.faults...)
}

// Simulation returns a simulation of the trials in a space file, and the unit of its costs. The target always comes
// from the experiment file, so that one space can serve several searches. The settings and their costs come from the
// experiment file if it has any, else from the space file.
func (f *File) Simulation(from *SpaceFile) (s *optimize.Simulation, unit string, err error) {
	settings := &from.SearchSettings
	if len(f.Search.Settings) > 0 {
		settings = &f.Search.SearchSettings
	}
	if len(settings.Settings) == 0 {
		return nil, "", from.places.Fault("settings", "missing; list the settings to vary here or in %s", f.path)
	}
	if err := f.sameSettings(from); err != nil {
		return nil, "", err
	}
	trialTime := cmp.Or(from.TrialTime, f.Search.TrialTime, DefaultTrialTime)
	s = &optimize.Simulation{Space: settings.space(), Target: f.Target(), Noise: float64(from.Noise),
		NoiseUnstated: from.Unstated, Seed: uint64(from.Seed), TrialSeconds: time.Duration(trialTime).Seconds()}
	if from.Table != nil {
		s.Rows, err = from.rows(settings)
	} else {
		err = from.formulas(s, settings)
	}
	return s, settings.CostUnit, err
}

// sameSettings checks that the experiment file and the space file have the same settings, if both have some. Otherwise
// the rows of the table would be ambiguous.
func (f *File) sameSettings(from *SpaceFile) error {
	ours, theirs := f.Search.names(), from.names()
	if len(ours) == 0 || len(theirs) == 0 {
		return nil
	}
	c := checker{places: f.places}
	for i, name := range ours {
		c.when(!slices.Contains(theirs, name), fmt.Sprintf("search.settings[%d]", i),
			"%s has no setting %q; did you mean %q?", from.path, name, yamlfile.Nearest(name, theirs...))
	}
	c.when(len(c.faults) == 0 && len(ours) != len(theirs), "search.settings",
		"%d settings, but %s has %d (%s); list the same settings, or none here", len(ours), from.path, len(theirs),
		strings.Join(theirs, ", "))
	return errors.Join(c.faults...)
}

// formulas adds the formulas to a simulation. Every name in a formula must be a setting or a load that the target
// states. Each goal of the target must have a formula, because it could not be judged without one.
func (s *SpaceFile) formulas(into *optimize.Simulation, settings *SearchSettings) error {
	var known []string
	for i, load := range []tuning.Figure{into.Target.RecordsPerSecond, into.Target.MiBPerSecond, into.Target.Queries} {
		if load.Known() {
			known = append(known, loads[i])
		}
	}
	known = append(known, settings.names()...)
	c := checker{places: s.places}
	for _, figure := range []struct {
		field string
		given *optimize.Formula
		into  **optimize.Formula
		goal  tuning.Figure
	}{
		{"formula.latency_ms", s.Formula.LatencyMs, &into.Latency, into.Target.LatencyMs},
		{"formula.completeness", s.Formula.Completeness, &into.Completeness, into.Target.Completeness},
		{"formula.catch_up", s.Formula.CatchUp, &into.CatchUp, into.Target.CatchUp},
	} {
		*figure.into = figure.given
		c.names(figure.field, figure.given, known)
		c.when(figure.given == nil && figure.goal.Known(), figure.field, "missing; the target has a goal for it")
	}
	for i, l := range s.Formula.Limiters {
		field := fmt.Sprintf("formula.limiters[%d]", i)
		c.names(field+".used", l.Used, known)
		c.when(l.Used == nil || l.Limiter == "", field, "set both `limiter` and `used`")
		into.Shares = append(into.Shares, optimize.Share{Limiter: tuning.Limiter(l.Limiter), Used: l.Used})
	}
	return errors.Join(c.faults...)
}

// rows reads the table. It skips a row with a value that the space has but the search leaves out. A value that the
// space does not have either is an error. Errors in the columns are reported before any row is read, because cells
// under a wrong name would only repeat them.
func (s *SpaceFile) rows(settings *SearchSettings) (out []optimize.Row, err error) {
	known, c := slices.Concat(columns, settings.names()), &checker{places: s.places}
	for i, name := range s.Table.Columns {
		c.when(!slices.Contains(known, name) || slices.Contains(s.Table.Columns[:i], name),
			fmt.Sprintf("table.columns[%d]", i), "unknown or repeated column %q; did you mean %q?", name,
			yamlfile.Nearest(name, known...))
	}
	for _, name := range settings.names() {
		c.when(!slices.Contains(s.Table.Columns, name), "table.columns", "no column for the setting %s", name)
	}
	if len(c.faults) > 0 {
		return nil, errors.Join(c.faults...)
	}
	for i, cells := range s.Table.Rows {
		field := fmt.Sprintf("table.rows[%d]", i)
		if len(cells) != len(s.Table.Columns) {
			c.fault(field, "%d cells for %d columns (%s)", len(cells), len(s.Table.Columns),
				strings.Join(s.Table.Columns, ", "))
		} else if row, inSpace := s.row(c, settings, field, cells); inSpace {
			out = append(out, row)
		}
	}
	c.when(len(out)+len(c.faults) == 0, "table.rows", "no row has a configuration of the search")
	return out, errors.Join(c.faults...)
}

// row reads one row. inSpace is false if its configuration is not in the search's space. Figures of empty cells stay
// Unknown and never become 0.
func (s *SpaceFile) row(c *checker, settings *SearchSettings, field string, cells []string) (row optimize.Row,
	inSpace bool) {
	seconds := tuning.Unknown
	row = optimize.Row{Trial: optimize.Unmeasured(make(optimize.Point, len(settings.Settings))),
		RecordsPerSecond: tuning.Unknown, Queries: tuning.Unknown}
	row.Noise = tuning.Unknown
	into := map[string]*tuning.Figure{"records_per_second": &row.RecordsPerSecond, "queries": &row.Queries,
		"latency_ms": &row.LatencyMs, "completeness": &row.Completeness, "catch_up": &row.CatchUp, "noise": &row.Noise,
		"seconds": &seconds}
	inSpace = true
	for i, cell := range cells {
		name, at := s.Table.Columns[i], fmt.Sprintf("%s[%d]", field, i)
		setting, own := slices.Index(settings.names(), name), slices.Index(s.names(), name)
		switch {
		case setting >= 0:
			row.Point[setting] = settings.Settings[setting].level(cell)
			inSpace = inSpace && row.Point[setting] >= 0
			if own >= 0 && s.Settings[own].level(cell) < 0 {
				c.fault(at, "%s is not a value of %s (%s); correct the row or remove it", cell, name,
					strings.Join(s.Settings[own].Values, ", "))
			}
		case cell == "":
		case into[name] != nil:
			v, err := yamlfile.Number(cell)
			c.when(err != nil || v < 0, at, "%s: %q is not a number of at least 0; write \"\" if it is unknown", name, cell)
			*into[name] = tuning.Figure(v)
		case name == "verdict":
			row.Verdict = tuning.Verdict(cell)
			c.oneOf(at, cell, tuning.Texts([]tuning.Verdict{tuning.OK, tuning.Fail, tuning.Inconclusive,
				tuning.Limited})...)
		default:
			var l Limiter
			if err := l.Set(cell); err != nil {
				c.fault(at, "%s", err)
			}
			row.Limiter = tuning.Limiter(l)
		}
	}
	row.Seconds = float64(seconds)
	return row, inSpace
}

// Recorded returns a space file whose rows are trials at the file's target; Simulation can replay them. The text is
// written line by line and not marshalled, so that each row is one line with its cells in the order of the columns.
func (f *File) Recorded(source string, trials []optimize.Trial) []byte {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("space: %s", cell(f.Experiment))
	line("source: %s", strconv.Quote(source))
	line("table:\n  columns: [%s]\n  rows:", strings.Join(append(f.Search.names(), columns...), ", "))
	space, target := f.Search.space(), f.Target()
	for _, t := range trials {
		var cells []string
		for i, level := range t.Point {
			cells = append(cells, cell(space.Settings[i].Values[level].Text))
		}
		limiter := t.Limiter
		if !slices.Contains(limiters, limiter) {
			limiter = "" // ReadSpace would refuse it
		}
		for _, v := range []any{target.RecordsPerSecond, target.Queries, t.LatencyMs, t.Completeness, t.CatchUp,
			t.Noise, t.Verdict, limiter, tuning.Figure(t.Seconds)} {
			if figure, is := v.(tuning.Figure); is && figure.Known() {
				// all digits, so that a search on the recorded trials makes the same decisions
				cells = append(cells, strconv.FormatFloat(float64(figure), 'g', -1, 64))
			} else if is {
				cells = append(cells, `""`)
			} else {
				cells = append(cells, strconv.Quote(fmt.Sprint(v)))
			}
		}
		line("    - [%s]", strings.Join(cells, ", "))
	}
	return []byte(text.String())
}

// cell formats a text for a flow sequence in YAML: a number as it is, any other text in quotes. Words are always
// quoted, because some, such as no and null, have a different meaning in YAML.
func cell(text string) string {
	if _, err := yamlfile.Number(text); err == nil {
		return text
	}
	return strconv.Quote(text)
}
