package experimentfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Search makes an experiment a search (tune optimize). Its trials are not a grid: they are chosen one after the other,
// to find the cheapest configuration that holds the target. Every trial has one step at the target's load.
type Search struct {
	Target     Target   `yaml:"target"`
	Budget     Budget   `yaml:"budget"`
	TrialTime  Duration `yaml:"trial_time"`
	Confidence Ratio    `yaml:"confidence"`
	Repeats    int      `yaml:"repeats"`
	Tolerance  Ratio    `yaml:"tolerance"`
	Noise      Share    `yaml:"noise"`
	SearchSettings
}

// Target is the load and the goals that must be met under it. At least one goal is required.
type Target struct {
	RecordsPerSecond Number `yaml:"records_per_second"`
	MiBPerSecond     Number `yaml:"mib_per_second"`
	Queries          Number `yaml:"queries"`
	Latency          Limit  `yaml:"latency"`
	Completeness     Limit  `yaml:"completeness"`
	CatchUp          Limit  `yaml:"catch_up"`
}

// Budget limits the trials and the time of a search. A field that is left out is no limit. The time counts only the
// trials themselves and not the time between them.
type Budget struct {
	Trials int      `yaml:"trials"`
	Time   Duration `yaml:"time"`
}

// DefaultTrialTime is the assumed duration of a simulated trial if no file states one: one minute of warm-up, five
// measured minutes and two minutes to launch. It does not limit a trial.
const DefaultTrialTime = Duration(8 * time.Minute)

// ReadSearch reads an experiment file that has a search section. If launch is true, the file must also be able to run
// trials. A file without a launch can only be simulated.
func ReadSearch(path string, launch bool) (*File, []byte, error) {
	f, text, err := read(path)
	switch {
	case err != nil:
		return nil, nil, err
	case f.Search == nil:
		return nil, nil, f.places.Fault("search", "missing; tune optimize needs the settings to vary and the target, see docs/tune/search-file.md. To run the experiment itself, use tune run")
	case launch:
		if err := f.launchable(); err != nil {
			return nil, nil, err
		}
		if len(f.Search.Settings) == 0 {
			return nil, nil, f.places.Fault("search.settings", "missing; list the settings to vary")
		}
		return f, text, f.checkNames()
	}
	return f, text, nil
}

// launchable returns an error if the file has no launch.
func (f *File) launchable() error {
	if f.simulated() {
		return f.places.Fault("launch", "missing; without it, only tune optimize --simulate can use the file")
	}
	return nil
}

// simulated reports whether the file describes a search whose trials can only be simulated.
func (f *File) simulated() bool { return f.Search != nil && !f.places.Given("launch") }

// aim fills in what follows from the search section: one step at the target's load, and the target's goals in place of
// the file's own goals for the same figures. The search itself decides which configuration to repeat.
func (f *File) aim() {
	s := f.Search
	if s == nil {
		return
	}
	defaults := optimize.DefaultOptions()
	if !f.places.Given("search.confidence") {
		s.Confidence = Ratio(defaults.Confidence)
	}
	if !f.places.Given("search.repeats") {
		s.Repeats = defaults.Repeats
	}
	f.Analysis = cmp.Or(f.Analysis, string(runstore.OfQueries))
	target := s.Target
	if target.RecordsPerSecond.Given {
		f.Load.RecordsPerSecond = Rate{PerSecond: target.RecordsPerSecond.Value}
	} else if target.MiBPerSecond.Given && f.Records.MeanSize > 0 {
		f.Load.RecordsPerSecond = Rate{PerSecond: target.MiBPerSecond.Value * (1 << 20) / float64(f.Records.MeanSize)}
	}
	f.Steps.Values, f.Steps.Confirm, f.Steps.InconclusiveRepeats = []float64{float64(f.Load.Queries)}, false, 0
	if target.Queries.Given {
		f.Steps.Values[0], f.Load.Queries = target.Queries.Value, int(target.Queries.Value)
	}
	f.targetGoals(target)
}

// targetGoals adds the target's goals. Its latency is the limit of the file's first latency goal, or of the mean filter
// latency if there is none.
func (f *File) targetGoals(target Target) {
	latency := Goal{Figure: string(tuning.FilterLatency), Statistic: string(tuning.Mean)}
	isLatency := func(g Goal) bool { return tuning.GoalFigure(g.Figure).Unit() == "ms" }
	if i := slices.IndexFunc(f.Goals, isLatency); i >= 0 {
		latency = f.Goals[i]
		if target.Latency.Given {
			f.Goals = slices.Delete(f.Goals, i, i+1)
		}
	}
	f.latency = latency.goal()
	latency.AtMost, latency.AtLeast, latency.field = target.Latency, Limit{}, "search.target.latency"
	for _, g := range []struct {
		given bool
		goal  Goal
	}{
		{target.Latency.Given, latency},
		{target.Completeness.Given, Goal{Figure: string(tuning.Completeness), AtLeast: target.Completeness,
			field: "search.target.completeness"}},
		{target.CatchUp.Given, Goal{Figure: string(tuning.CatchUp), AtLeast: target.CatchUp,
			field: "search.target.catch_up"}},
	} {
		if !g.given {
			continue
		}
		f.Goals = slices.DeleteFunc(f.Goals, func(own Goal) bool {
			return own.Figure == g.goal.Figure && !isLatency(own)
		})
		f.Goals = append(f.Goals, g.goal)
	}
}

// notWithSearch are the fields that say which trials and steps there are. A search decides that itself.
var notWithSearch = []string{"on_fail", "grid", "steps.kind", "steps.axis", "steps.values", "steps.search",
	"steps.confirm", "steps.expected_capacity", "steps.repeats", "steps.inconclusive_repeats"}

// search checks the search section.
func (c *checker) search() {
	f, s := c.file, c.file.Search
	if s == nil {
		return
	}
	for _, field := range notWithSearch {
		c.when(f.places.Given(field), field,
			"cannot be combined with search, which chooses the configurations and their repeats; remove it")
	}
	for i, g := range f.Goals {
		c.when(g.Figure == string(tuning.CapacityFigure), fmt.Sprintf("goals[%d].figure", i),
			"a search measures no capacity; remove the goal")
	}
	if err := f.Target().Validate(); err != nil {
		c.fault("search.target", "%s", err)
	}
	c.when(!(s.Confidence > 0.5 && s.Confidence < 1), "search.confidence", "must be above 50%% and below 100%%")
	c.atLeast("search.repeats", float64(s.Repeats), 1)
	c.when(s.Tolerance >= 1, "search.tolerance", "must be below 100%%")
	c.atLeast("search.budget.trials", float64(s.Budget.Trials), 0)
	c.when(!f.simulated() && f.Load.RecordsPerSecond.Calibrated && !f.noSource(), "search.target.records_per_second",
		"missing; set a rate, because all trials need the same one")
	c.settings(&s.SearchSettings, "search.")
}

// Target returns the search's target. A load or goal that the file omits is Unknown.
func (f *File) Target() optimize.Target {
	t := f.Search.Target
	return optimize.Target{RecordsPerSecond: t.RecordsPerSecond.figure(), MiBPerSecond: t.MiBPerSecond.figure(),
		Queries: t.Queries.figure(), LatencyMs: t.Latency.figure(), Completeness: t.Completeness.figure(),
		CatchUp: t.CatchUp.figure()}
}

// LatencyGoal returns the goal whose measured figure is the latency of a trial.
func (f *File) LatencyGoal() tuning.Goal { return f.latency }

// Options returns the options of the search.
func (f *File) Options() optimize.Options {
	o, s := optimize.DefaultOptions(), f.Search
	o.Confidence, o.Repeats, o.Tolerance = float64(s.Confidence), s.Repeats, float64(s.Tolerance)
	o.Budget = optimize.Budget{Trials: s.Budget.Trials, Seconds: time.Duration(s.Budget.Time).Seconds()}
	return o
}

// SearchPlan returns the plan of a search's run. It has no trials, because they are added while it runs.
func (f *File) SearchPlan() runstore.Plan {
	plan := f.Plan()
	plan.EndEarly, plan.Trials = true, []runstore.PlannedTrial{}
	return plan
}

// LaunchPlan returns a plan with which a cluster can be started for all trials of a search: its trial has the most
// workers of any configuration.
func (f *File) LaunchPlan() runstore.Plan {
	plan := f.Plan()
	for _, each := range f.Search.space().Settings {
		for _, v := range each.Values {
			n := workers(Settings{{Key: each.Name, Value: v.Text}})
			plan.Trials[0].Workers = max(plan.Trials[0].Workers, n)
		}
	}
	return plan
}

// TrialSeconds returns the approximate duration of a trial, in s.
func (f *File) TrialSeconds() float64 {
	about, _ := f.LaunchPlan().Estimate()
	return time.Duration(cmp.Or(f.Search.TrialTime, Duration(about))).Seconds()
}

// SearchTrial returns the trial of a configuration. Its settings replace those of the topology, whether or not these
// have the prefix with which Bullet passes settings on to Storm.
func (f *File) SearchTrial(p optimize.Point) runstore.PlannedTrial {
	space, trial := f.Search.space(), f.configurations()[0]
	trial.Label = space.Text(p)
	for i, level := range p {
		text := space.Settings[i].Values[level].Text
		_, number := plainValue(text)
		trial.Point = append(trial.Point,
			runstore.Coordinate{Axis: space.Settings[i].As, Label: text, Value: tuning.Figure(number)})
	}
	texts := space.Texts(p)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		trial.Settings = slices.DeleteFunc(trial.Settings, func(own runstore.Entry) bool {
			return withoutPrefix(own.Key) == withoutPrefix(name)
		})
		trial.Settings = append(trial.Settings, runstore.Entry{Key: name, Value: texts[name]})
		trial.Workers = cmp.Or(workers(Settings{{Key: name, Value: texts[name]}}), trial.Workers)
	}
	return trial
}

// SearchPoint returns the configuration of a trial. It returns false if the search no longer has that configuration.
func (f *File) SearchPoint(t runstore.PlannedTrial) (optimize.Point, bool) {
	values := map[string]string{}
	for _, c := range t.Point {
		values[c.Axis] = c.Label
	}
	return f.Search.space().At(values)
}

func withoutPrefix(setting string) string { return strings.TrimPrefix(setting, plugininfo.Custom) }

// SameTerms reports whether trials of two files are comparable: they have the same target, load, goals and launch. The
// settings to vary, their costs and the budget may differ.
func (f *File) SameTerms(other *File) bool {
	terms := func(f *File) string {
		plan := f.Plan()
		plan.Title, plan.About, plan.Caveats = "", "", nil
		text, _ := json.Marshal([]any{f.Target(), plan}) // both can be marshalled: they are also stored
		return string(text)
	}
	return other.Search != nil && terms(f) == terms(other)
}

// knownSettings are settings that a search may vary. Settings of the Bullet YAML and of topology.settings are known,
// too.
var knownSettings = []string{
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

// checkNames refuses a setting whose name looks like a misspelled known name. Nothing would read such a setting, so all
// its values would be the same configuration.
func (f *File) checkNames() error {
	text, err := textfile.Read(f.Conf(), textfile.Most)
	if err != nil {
		return fmt.Errorf("%s: topology.conf: %w", f.path, err)
	}
	conf := map[string]any{}
	if err := yamlfile.Decode(text, &conf); err != nil {
		return fmt.Errorf("%s: %w", f.Conf(), err)
	}
	names := slices.Clone(knownSettings)
	for name := range conf {
		names = append(names, withoutPrefix(name))
	}
	for _, each := range f.Topology.Settings {
		names = append(names, withoutPrefix(each.Key))
	}
	for i, each := range f.Search.Settings {
		name := withoutPrefix(each.Name)
		if meant := yamlfile.Meant(name, names...); meant != name && meant != "" {
			return f.places.Fault(fmt.Sprintf("search.settings[%d].name", i), "unknown setting %q; did you mean %q?",
				each.Name, strings.TrimSuffix(each.Name, name)+meant)
		}
	}
	return nil
}
