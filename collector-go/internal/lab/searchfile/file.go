// Package searchfile reads the two kinds of files of tune optimize, and formats the result of a search. A search file
// names a target and the settings that may be changed (docs/tune/search-file.md). A space file holds a space together
// with formulas or recorded trials, for a search without a cluster (docs/tune/search-file.md#space-file).
//
// The package owns fields, units and error positions. It must know no cluster and no clock, and it decides nothing
// about the search: it translates to optimize.Space, optimize.Target and optimize.Options. Start reading at File.
package searchfile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// maxFileBytes bounds a file.
const maxFileBytes = 1 << 20

// File is a search file: the target, the budget of the search, and the settings that may be changed. Pointers and zero
// values stand for fields that were left out; the methods translate them to tuning.Unknown or to defaults. A File is
// not changed after it was read.
type File struct {
	Name  string `yaml:"optimize"`
	Title string `yaml:"title"`
	About string `yaml:"about"`
	// Experiment is the file by which a trial on a cluster is launched and measured, relative to this one.
	Experiment textfile.Path `yaml:"experiment"`
	Target     Target        `yaml:"target"`
	Budget     Budget        `yaml:"budget"`
	TrialTime  Duration      `yaml:"trial_time"`
	Confidence Ratio         `yaml:"confidence"`
	Repeats    int           `yaml:"repeats"`
	Tolerance  Ratio         `yaml:"tolerance"`
	Noise      *Ratio        `yaml:"noise"`
	Settings

	path   string
	places *yamlfile.Places
}

// Target is the load to hold and the goals that define holding it. At least one goal is required. Fields are pointers,
// because 0 queries is a load and differs from none stated.
type Target struct {
	RecordsPerSecond *float64  `yaml:"records_per_second"`
	MiBPerSecond     *float64  `yaml:"mib_per_second"`
	Queries          *float64  `yaml:"queries"`
	Latency          *Duration `yaml:"latency"`
	Completeness     *Ratio    `yaml:"completeness"`
	CatchUp          *float64  `yaml:"catch_up"`
}

// Budget is how much may be tried; what is left out is no bound. The time counts the trials' own, not the time between
// them.
type Budget struct {
	Trials int      `yaml:"trials"`
	Time   Duration `yaml:"time"`
}

// DefaultTrialTime is how long a trial is taken to be where neither file states it: a minute of warm-up, five measured,
// two to launch. It only serves estimates and budgets: a trial on a cluster takes the time that it takes.
const DefaultTrialTime = Duration(8 * time.Minute)

// ReadFile reads a file of tune optimize. All faults come at once, with file, line, column and field. The experiment
// that it names is not read here.
func ReadFile(path string) (*File, error) {
	text, err := textfile.Read(path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	return parseFile(path, text)
}

// parseFile is ReadFile of a text. Values are read first; only if all could be read are they checked for their meaning.
func parseFile(path string, text []byte) (f *File, err error) {
	defaults := optimize.DefaultOptions()
	f = &File{path: path, Confidence: Ratio(defaults.Confidence), Repeats: defaults.Repeats}
	if f.places, err = yamlfile.Fields(path, text, f); err != nil {
		return nil, err
	}
	var faults []error
	if f.Name == "" {
		faults = append(faults, f.places.Fault("optimize", "is missing; give the search a name"))
	}
	if err := f.OptimizeTarget().Validate(); err != nil {
		faults = append(faults, f.places.Fault("target", "%s", err))
	}
	if err := f.Options().Validate(); err != nil {
		field := "budget"
		for _, name := range []string{"confidence", "repeats", "tolerance"} {
			if f.places.Given(name) {
				field = name
			}
		}
		faults = append(faults, f.places.Fault(field, "%s", err))
	}
	return f, errors.Join(append(faults, f.check(f.places)...)...)
}

// ExperimentPath is the path of the experiment's file as others open it; "" for none.
func (f *File) ExperimentPath() string { return f.Experiment.In(f.path) }

// Path is where the file was read from.
func (f *File) Path() string { return f.path }

// Fault is an error at a field of the file. Others use it for faults that show only together with another file.
func (f *File) Fault(field, format string, args ...any) error {
	return f.places.Fault(field, format, args...)
}

// Space is what may be tried, by the file itself. It fails without settings, which a search on recorded trials may
// leave out.
func (f *File) Space() (optimize.Space, error) {
	if len(f.Settings.Settings) == 0 {
		return optimize.Space{}, f.places.Fault("settings", "are missing; give what may be tried")
	}
	return f.Settings.space(), nil
}

// OptimizeTarget is the target as the search takes it. A goal or load that the file leaves out is Unknown there.
func (f *File) OptimizeTarget() optimize.Target {
	t := optimize.Target{
		RecordsPerSecond: figure(f.Target.RecordsPerSecond), MiBPerSecond: figure(f.Target.MiBPerSecond),
		Queries:   figure(f.Target.Queries),
		LatencyMs: tuning.Unknown, Completeness: tuning.Unknown, CatchUp: figure(f.Target.CatchUp),
	}
	if f.Target.Latency != nil {
		t.LatencyMs = tuning.Figure(float64(*f.Target.Latency) / float64(time.Millisecond))
	}
	if f.Target.Completeness != nil {
		t.Completeness = tuning.Figure(*f.Target.Completeness)
	}
	return t
}

// Options are how sure and how patient the search is. What the file leaves out has the defaults of package optimize, so
// that both have one place.
func (f *File) Options() optimize.Options {
	o := optimize.DefaultOptions()
	o.Confidence, o.Repeats, o.Tolerance = float64(f.Confidence), f.Repeats, float64(f.Tolerance)
	o.Budget = optimize.Budget{Trials: f.Budget.Trials, Seconds: time.Duration(f.Budget.Time).Seconds()}
	return o
}

// figure is Unknown for a number that was left out: 0 would be a load or a goal.
func figure(v *float64) tuning.Figure {
	if v == nil {
		return tuning.Unknown
	}
	return tuning.Figure(*v)
}

// trialTime is the space's, the file's or the usual one. The space's comes first.
func (f *File) trialTime(space Duration) Duration {
	for _, d := range []Duration{space, f.TrialTime} {
		if d > 0 {
			return d
		}
	}
	return DefaultTrialTime
}

// TrialSeconds is the file's trial time, or the usual one. A trial that has ended has its own time.
func (f *File) TrialSeconds() float64 { return time.Duration(f.trialTime(0)).Seconds() }

// limiters are the names that files use, as reports have them.
var limiters = []tuning.Limiter{
	tuning.LimitedByFilterCPU, tuning.LimitedByBoltCPU, tuning.LimitedByBoltBusy, tuning.LimitedByGC,
	tuning.LimitedByRestart, tuning.LimitedByPending,
	tuning.LimitedBySpouts, tuning.LimitedByPartitions, tuning.LimitedByDRPC, tuning.LimitedByEndpoint,
	tuning.LimitedByClient, tuning.LimitedByHost,
	tuning.LimitedByCollector, tuning.LimitedBySilence,
}

// Limiter is the name of one. It is a type of its own so that a misspelled name is reported with its line.
type Limiter tuning.Limiter

// Set reads a limiter's name; an error names the nearest.
func (l *Limiter) Set(text string) error {
	if !slices.Contains(limiters, tuning.Limiter(text)) {
		var names []string
		for _, known := range limiters {
			names = append(names, string(known))
		}
		return fmt.Errorf("there is no limiter %q; did you mean %q?", text, yamlfile.Nearest(text, names...))
	}
	*l = Limiter(text)
	return nil
}
