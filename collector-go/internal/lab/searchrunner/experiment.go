package searchrunner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/searchfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Search combines a search file with the experiment file that measures its trials. It turns each configuration of the
// space into an experiment with one load step at the target. It is immutable after Open.
type Search struct {
	File  *searchfile.File
	Space optimize.Space
	// Text is the content of the experiment file.
	Text []byte
	base *experimentfile.File
	// latency is the goal whose limit is the target's latency.
	latency tuning.Goal
}

// Open reads the experiment file of a search file and checks that trials can be run with both. It reports all errors
// with file, line and field.
func Open(file *searchfile.File) (*Search, error) {
	if file.Experiment == "" {
		return nil, file.Fault("experiment",
			"is missing: trials on a cluster are launched and measured by an experiment's file; name one, or a space given as data with --simulate")
	}
	space, err := file.Space()
	if err != nil {
		return nil, err
	}
	base, text, err := experimentfile.Read(file.ExperimentPath())
	if err != nil {
		return nil, err
	}
	s := &Search{File: file, Space: space, Text: text, base: base}
	if err := s.aim(); err != nil {
		return nil, err
	}
	return s, s.checkNames()
}

// aim changes the experiment to a single step at the target load: no grid, no capacity search, no repeats. The search
// itself decides which configuration to repeat. All trials must have the same record rate, so a calibrated rate is
// refused.
func (s *Search) aim() error {
	x, target := s.base, s.File.OptimizeTarget()
	rate := target.RecordsPerSecond
	if !rate.Known() && target.MiBPerSecond.Known() && x.Records.MeanSize > 0 {
		rate = target.MiBPerSecond * (1 << 20) / tuning.Figure(x.Records.MeanSize)
	}
	switch {
	case rate.Known():
		x.Load.RecordsPerSecond = experimentfile.Rate{PerSecond: float64(rate)}
	case x.Load.RecordsPerSecond.Calibrated && x.Load.Source != runstore.SourceNone:
		return s.File.Fault("target.records_per_second",
			"is missing, and %s calibrates the rate: give one, the same for all trials", s.File.ExperimentPath())
	}
	if target.CatchUp.Known() && x.Steps.CatchUp.Factor == 0 {
		return s.File.Fault("target.catch_up",
			"steps.catch_up is missing in %s: say there how many more records are offered, and for how long",
			s.File.ExperimentPath())
	}
	queries := float64(x.Load.Queries)
	if target.Queries.Known() {
		queries = float64(target.Queries)
	}
	s.goals(target)
	x.Test, x.Grid, x.OnFail = 0, nil, experimentfile.FailFails
	x.Steps.Kind, x.Steps.Axis, x.Steps.Search, x.Steps.Values = string(runstore.LoadStep), string(runstore.Queries),
		string(tuning.FullSearch), []float64{queries}
	x.Steps.Confirm, x.Steps.ExpectedCapacity, x.Steps.Repeats, x.Steps.InconclusiveRepeats = false, 0, 1, 0
	if err := x.Check(); err != nil {
		return fmt.Errorf("%s: target: as a step of its experiment: %w", s.File.Path(), err)
	}
	return nil
}

// goals adds the target's goals to the experiment and keeps the experiment's goals for other figures. The target's
// latency becomes the limit of the experiment's first latency goal, or of the mean filter latency if there is none.
func (s *Search) goals(target optimize.Target) {
	latency := experimentfile.Goal{Figure: string(tuning.FilterLatency), Statistic: string(tuning.Mean)}
	var goals []experimentfile.Goal
	isFirst := true
	for _, g := range s.base.Goals {
		switch figure := tuning.GoalFigure(g.Figure); {
		case target.LatencyMs.Known() && figure.Unit() == "ms" && isFirst:
			latency.Figure, latency.Statistic, isFirst = g.Figure, g.Statistic, false
		case target.Completeness.Known() && figure == tuning.Completeness, target.CatchUp.Known() &&
			figure == tuning.CatchUp, figure == tuning.CapacityFigure:
		default:
			goals = append(goals, g)
		}
	}
	if latency.Statistic == "" {
		latency.Statistic = string(tuning.GoalFigure(latency.Figure).Statistics()[0])
	}
	s.latency = tuning.Goal{Figure: tuning.GoalFigure(latency.Figure), Statistic: tuning.Statistic(latency.Statistic)}
	if target.LatencyMs.Known() {
		latency.AtMost = experimentfile.LimitOf(target.LatencyMs)
		goals = append(goals, latency)
	}
	if target.Completeness.Known() {
		goals = append(goals, experimentfile.Goal{Figure: string(tuning.Completeness),
			AtLeast: experimentfile.LimitOf(target.Completeness)})
	}
	if target.CatchUp.Known() {
		goals = append(goals, experimentfile.Goal{Figure: string(tuning.CatchUp),
			AtLeast: experimentfile.LimitOf(target.CatchUp)})
	}
	s.base.Goals = goals
}

// Base returns the experiment at the target load, without the settings of a configuration.
func (s *Search) Base() *experimentfile.File { return s.base }

// Experiment returns the experiment of one configuration.
func (s *Search) Experiment(p optimize.Point) *experimentfile.File {
	x := *s.base
	x.Topology.Settings = slices.Clone(s.base.Topology.Settings)
	configured := s.Space.Configured(p)
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		x.Topology.Settings = slices.DeleteFunc(x.Topology.Settings, func(other experimentfile.Setting) bool {
			return plain(other.Key) == plain(name)
		})
		x.Topology.Settings = append(x.Topology.Settings,
			experimentfile.Setting{Key: name, Value: valueText(configured[name])})
	}
	return &x
}

// plain returns the name of a setting without the prefix with which Bullet passes settings on to Storm.
func plain(name string) string { return strings.TrimPrefix(name, plugininfo.Custom) }

func valueText(v any) string {
	if n, is := v.(float64); is {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// Plan returns the plan of one trial. Its topology has the number of the trial in its name.
func (s *Search) Plan(o Order) runstore.Plan {
	plan := s.Experiment(o.Point).Plan()
	plan.EndEarly = true
	plan.Topology = fmt.Sprintf("%s-%03d", plan.Topology, o.Number)
	trial := &plan.Trials[0]
	trial.Label, trial.Point = o.Label, nil
	for i, level := range o.Point {
		value := tuning.Unknown
		if v, err := strconv.ParseFloat(s.Space.Settings[i].Values[level].Text, 64); err == nil {
			value = tuning.Figure(v)
		}
		trial.Point = append(trial.Point, runstore.Coordinate{Axis: s.Space.Settings[i].As,
			Label: s.Space.Settings[i].Values[level].Text, Value: value})
	}
	return plan
}

// LaunchPlan returns a plan with which a cluster can be started for all trials: it has the most workers that any
// configuration has.
func (s *Search) LaunchPlan() runstore.Plan {
	p := make(optimize.Point, len(s.Space.Settings))
	for i, each := range s.Space.Settings {
		if plain(each.Name) == "topology.workers" {
			for level, v := range each.Values {
				if v.Number > each.Values[p[i]].Number {
					p[i] = level
				}
			}
		}
	}
	return s.Plan(Order{Point: p, Label: s.Space.Text(p)})
}

// TrialSeconds returns the approximate duration of a trial, in s, from the search file or else from the plan of the
// experiment.
func (s *Search) TrialSeconds() float64 {
	if s.File.TrialTime > 0 {
		return s.File.TrialSeconds()
	}
	about, _ := s.LaunchPlan().Estimate()
	return about.Seconds()
}

// terms are the properties that all trials of a directory must share to be comparable: target, load, goals and launch.
// The space is not among them, so a user may add values to a setting and keep the trials.
type terms struct {
	Target optimize.Target `json:"target"`
	Plan   runstore.Plan   `json:"plan"`
}

func (s *Search) terms() terms {
	plan := s.base.Plan()
	plan.Title, plan.About, plan.Caveats = "", "", nil
	return terms{s.File.OptimizeTarget(), plan}
}

func (s *Search) termsText() ([]byte, error) { return json.MarshalIndent(s.terms(), "", " ") }

// Load reads the trials of a search's directory in their order, or none if there is no directory. It returns an error
// if the trials were run with other terms, because their figures are not comparable.
func (s *Search) Load(dir string) ([]Kept, error) {
	before, err := os.ReadFile(filepath.Join(dir, TermsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Load(dir)
	} else if err != nil {
		return nil, err
	}
	now, err := s.termsText()
	switch {
	case err != nil:
		return nil, err
	case string(before) != string(now):
		return nil, fmt.Errorf("%s has trials with another target, load or launch than %s has now; give another directory with --out, or restore the file",
			dir, s.File.Path())
	}
	return Load(dir)
}

// known are settings that a search may change. Settings in Bullet's YAML and in the experiment file are known, too.
var known = []string{
	"bullet.topology.dsl.spout.parallelism", "bullet.topology.dsl.bolt.parallelism",
	"bullet.topology.bullet.spout.parallelism", "bullet.topology.query.spout.parallelism",
	"bullet.topology.filter.bolt.parallelism", "bullet.topology.join.bolt.parallelism",
	"bullet.topology.result.bolt.parallelism", "bullet.topology.loop.bolt.parallelism",
	"bullet.topology.replay.bolt.parallelism", "topology.workers", "topology.acker.executors",
	"topology.max.spout.pending", "topology.worker.childopts", "topology.worker.gc.childopts",
	"topology.worker.max.heap.size.mb", "topology.executor.receive.buffer.size", "topology.transfer.buffer.size",
	"topology.producer.batch.size", "topology.transfer.batch.size",
	"topology.batch.flush.interval.millis", "topology.stats.sample.rate",
}

// mostEdits is the largest edit distance at which a name counts as a misspelling of a known one.
const mostEdits = 2

// checkNames refuses a setting whose name looks like a misspelled known name. Nothing would read such a setting, so all
// its values would be the same configuration.
func (s *Search) checkNames() error {
	text, err := textfile.Read(s.base.Conf(), textfile.Most)
	if err != nil {
		return fmt.Errorf("%s: topology.conf: %w", s.File.ExperimentPath(), err)
	}
	conf := map[string]any{}
	if err := yamlfile.Decode(text, &conf); err != nil {
		return fmt.Errorf("%s: %w", s.base.Conf(), err)
	}
	names := slices.Clone(known)
	for name := range conf {
		names = append(names, plain(name))
	}
	for _, each := range s.base.Topology.Settings {
		names = append(names, plain(each.Key))
	}
	for i, each := range s.Space.Settings {
		name := plain(each.Name)
		nearest := yamlfile.Nearest(name, names...)
		if name != nearest && levenshtein.ComputeDistance(name, nearest) <= mostEdits {
			return s.File.Fault(fmt.Sprintf("settings[%d].name", i), "nobody reads %q; did you mean %q?", each.Name,
				strings.TrimSuffix(each.Name, name)+nearest)
		}
	}
	return nil
}
