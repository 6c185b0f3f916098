// Package searchfile reads the two kinds of files of tune optimize, and formats the result of a search. A search file
// has a target and the settings that may be changed (docs/tune/search-file.md). A space file has a space with formulas
// or recorded trials, for a search without a cluster (docs/tune/search-file.md#space-file).
//
// The package defines fields, units and error positions. It must not use a cluster or a clock, and it decides nothing
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

// maxFileBytes is the largest size of a file.
const maxFileBytes = 1 << 20

// File is a search file: the target, the budget of the search, and the settings that may be changed. A nil pointer or a
// zero value means that the field was left out; the methods translate it to tuning.Unknown or to a default. A File is
// immutable after it was read.
type File struct {
	Name  string `yaml:"optimize"`
	Title string `yaml:"title"`
	About string `yaml:"about"`
	// Experiment is the experiment file that launches and measures a trial on a cluster, relative to this file.
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

// Target is the load and the goals that must be met under it. At least one goal is required. The fields are pointers,
// because 0 queries is a load and differs from an unknown number of queries.
type Target struct {
	RecordsPerSecond *float64  `yaml:"records_per_second"`
	MiBPerSecond     *float64  `yaml:"mib_per_second"`
	Queries          *float64  `yaml:"queries"`
	Latency          *Duration `yaml:"latency"`
	Completeness     *Ratio    `yaml:"completeness"`
	CatchUp          *float64  `yaml:"catch_up"`
}

// Budget limits the trials and the time of a search. A field that is left out is no limit. The time counts only the
// trials themselves and not the time between them.
type Budget struct {
	Trials int      `yaml:"trials"`
	Time   Duration `yaml:"time"`
}

// DefaultTrialTime is the assumed duration of a trial if neither file states one: one minute of warm-up, five measured
// minutes and two minutes to launch. It is used only for estimates and budgets and does not limit a trial.
const DefaultTrialTime = Duration(8 * time.Minute)

// ReadFile reads a search file. It reports all errors at once, with file, line, column and field. It does not read the
// experiment file that the search file names.
func ReadFile(path string) (*File, error) {
	text, err := textfile.Read(path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	return parseFile(path, text)
}

// parseFile reads a search file from its text. It checks the meaning of values only if all of them could be read.
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
		// The error of Validate does not name a field, so it is reported at the last of these fields that the file has.
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

// ExperimentPath returns the path of the experiment file relative to the working directory, or "" if there is none.
func (f *File) ExperimentPath() string { return f.Experiment.In(f.path) }

// Path returns the path of the search file.
func (f *File) Path() string { return f.path }

// Fault returns an error at a field of the file. Other packages use it for errors that show only in combination with
// another file.
func (f *File) Fault(field, format string, args ...any) error {
	return f.places.Fault(field, format, args...)
}

// Space returns the space of the file's own settings. It fails if the file has none. A search on recorded trials may
// leave the settings out.
func (f *File) Space() (optimize.Space, error) {
	if len(f.Settings.Settings) == 0 {
		return optimize.Space{}, f.places.Fault("settings", "are missing; give what may be tried")
	}
	return f.Settings.space(), nil
}

// OptimizeTarget returns the target in the form of package optimize. A goal or load that the file leaves out is
// Unknown.
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

// Options returns the options of the search. Fields that the file leaves out have the defaults of package optimize, so
// that there is only one place for them.
func (f *File) Options() optimize.Options {
	o := optimize.DefaultOptions()
	o.Confidence, o.Repeats, o.Tolerance = float64(f.Confidence), f.Repeats, float64(f.Tolerance)
	o.Budget = optimize.Budget{Trials: f.Budget.Trials, Seconds: time.Duration(f.Budget.Time).Seconds()}
	return o
}

// figure returns Unknown for a nil pointer, because 0 would be a load or a goal.
func figure(v *float64) tuning.Figure {
	if v == nil {
		return tuning.Unknown
	}
	return tuning.Figure(*v)
}

// trialTime returns the trial time of the space, of the file, or the default, in this order.
func (f *File) trialTime(space Duration) Duration {
	for _, d := range []Duration{space, f.TrialTime} {
		if d > 0 {
			return d
		}
	}
	return DefaultTrialTime
}

// TrialSeconds returns the trial time of the file or the default, in s. It is only an estimate; a finished trial has
// its own time.
func (f *File) TrialSeconds() float64 { return time.Duration(f.trialTime(0)).Seconds() }

// limiters are the names of limiters that files may use. Reports use the same names.
var limiters = []tuning.Limiter{
	tuning.LimitedByFilterCPU, tuning.LimitedByBoltCPU, tuning.LimitedByBoltBusy, tuning.LimitedByGC,
	tuning.LimitedByRestart, tuning.LimitedByPending,
	tuning.LimitedBySpouts, tuning.LimitedByPartitions, tuning.LimitedByDRPC, tuning.LimitedByEndpoint,
	tuning.LimitedByClient, tuning.LimitedByHost,
	tuning.LimitedByCollector, tuning.LimitedBySilence,
}

// Limiter is the name of a limiter. It is a type of its own so that a misspelled name is reported with its line.
type Limiter tuning.Limiter

// Set reads the name of a limiter. Its error suggests the nearest name.
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
