package predict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// World holds the comparable steps of one or more runs.
type World struct {
	From         []string
	Observations []Observation
	// Base is the last of its sources. A question uses its settings unless it has its own.
	Base *Source
	// LimitMs is the last latency limit of its sources in ms, or 0 if they have none.
	LimitMs float64
}

// Worlds groups the observations of all sources by world, in the order of the sources.
func Worlds(sources []*Source) (all []*World) {
	byName := map[string]*World{}
	for _, s := range sources {
		for _, o := range s.Observations {
			w := byName[o.World]
			if w == nil {
				w = &World{}
				byName[o.World], all = w, append(all, w)
			}
			w.Observations = append(w.Observations, o)
			if w.Base = s; s.LimitMs > 0 {
				w.LimitMs = s.LimitMs
			}
			w.From = tuning.Union(w.From, s.Name)
		}
	}
	return all
}

// Open reads paths. Each is a run directory, a directory of runs, or a table. gridRecords is the record rate for a
// table of queries that has none; it may be unknown.
func Open(gridRecords tuning.Figure, paths ...string) (all []*Source, err error) {
	for _, path := range paths {
		sources, err := open(path, gridRecords)
		if err != nil {
			return nil, err
		}
		all = append(all, sources...)
	}
	return all, nil
}

// open reads a CSV file, a run, a trial of a run, or a directory of runs. A run that cannot be read is an error.
func open(path string, gridRecords tuning.Figure) ([]*Source, error) {
	if about, err := os.Stat(path); err != nil || !about.IsDir() {
		s, err := OfTable(path, gridRecords)
		return []*Source{s}, err
	}
	run, err := runstore.ReadAny(path)
	runs := []*runstore.Run{run}
	if errors.Is(err, runstore.ErrNoRun) {
		var unreadable []error
		runs, unreadable, err = runstore.List(path)
		if err == nil && len(runs)+len(unreadable) == 0 { // a search's directory has its trials in a subdirectory
			if below, others, wrong := runstore.List(filepath.Join(path, runstore.TrialsDir)); wrong == nil {
				runs, unreadable = below, others
			}
		}
		if err == nil {
			err = errors.Join(unreadable...)
		}
		if err == nil && len(runs) == 0 {
			err = fmt.Errorf("%s is neither a run directory nor a directory of runs; name an output of tune run, or a CSV file",
				path)
		}
	}
	if err != nil {
		return nil, err
	}
	var all []*Source
	for _, run := range runs {
		s, err := OfRun(run)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// LeftOut returns, in brackets, how many steps of each source were left out and why. It returns "" if none were.
func LeftOut(sources []*Source) string {
	var all []string
	for _, s := range sources {
		for _, why := range slices.Sorted(maps.Keys(s.LeftOut)) {
			all = append(all, fmt.Sprintf("%s of %s: %s", tuning.Counted(s.LeftOut[why], "step"), s.Name, why))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (left out: " + strings.Join(all, "; ") + ")"
}

// Scenario is a question as a user asks it. Whatever it leaves out is taken from the world. Its settings come from a
// file or from the world, and Over has the user's changes.
type Scenario struct {
	Label string
	// Settings are all settings of a topology, or nil for those of the world's base. Over are overrides.
	Settings, Over Settings
	// Workers and HeapMiB are those of a local launch. They are 0 if the settings have them.
	Workers, HeapMiB float64
	Queries          float64
	Records          tuning.Figure
	LimitMs          float64
	Machine          tuning.Machine
}

// Question returns the question that a scenario asks about this world. ignored are the changed settings that are not in
// the model; the caller must name them beside the figures.
func (w *World) Question(a Scenario) (q Question, ignored []string, err error) {
	settings, setup := w.Base.Settings, w.Base.Setup
	if a.Settings != nil {
		settings = a.Settings
		setup = settings.Whole()
	}
	if ignored, err = settings.Check(a.Over); err != nil {
		return q, nil, err
	}
	settings = settings.Over(a.Over)
	setup = a.Over.kinds(settings).Setup(setup)
	setup.Workers, setup.HeapMiB = cmp.Or(max(0, a.Workers), setup.Workers), cmp.Or(max(0, a.HeapMiB), setup.HeapMiB)
	q = Question{Label: a.Label, Load: Load{a.Queries, a.Records}, Setup: setup, LimitMs: cmp.Or(a.LimitMs, w.LimitMs),
		Machine: a.Machine, Request: settings.Request(setup, a.Machine)}
	if !q.Load.RecordsPerSecond.Known() {
		q.Load.RecordsPerSecond = w.Base.Records
	}
	return q, ignored, nil
}

// kinds returns the settings together with those that decide which components exist, which are taken from all settings.
func (s Settings) kinds(all Settings) Settings {
	own := Settings{}.Over(s)
	for _, name := range []string{dslSpout + ".enable", dslBolt + ".enable"} {
		if v := all.get(name); v != "" {
			own[name] = v
		}
	}
	return own
}

// Answer has the predictions of one world. Answers of different worlds are never combined, because their steps are not
// comparable.
type Answer struct {
	// From are the runs and tables of the world. Steps is the number of their steps.
	From        []string      `json:"from"`
	Steps       int           `json:"steps"`
	Predictions []*Prediction `json:"predictions"`
}

// Answers has the answers of all worlds. A world that cannot answer becomes a note. It is an error only if no world can
// answer.
type Answers struct {
	Answers    []Answer `json:"answers"`
	Confidence float64  `json:"confidence"`
	Notes      []string `json:"notes"`
}

// Predict asks every world all questions. It returns an error if none of them can answer.
func Predict(worlds []*World, asked []Scenario, confidence float64) (*Answers, error) {
	out := &Answers{Answers: []Answer{}, Confidence: confidence, Notes: []string{}}
	for _, w := range worlds {
		m, err := Fit(w.Observations, confidence)
		if err != nil {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %v", strings.Join(w.From, ", "), err))
			continue
		}
		answer := Answer{From: w.From, Steps: len(w.Observations)}
		for _, a := range asked {
			q, ignored, err := w.Question(a)
			if err != nil {
				return nil, err
			}
			if err := m.answers(q); err != nil {
				out.Notes = append(out.Notes, fmt.Sprintf("%s: %v", strings.Join(w.From, ", "), err))
				continue
			}
			p := m.Predict(q)
			for _, name := range ignored {
				p.Notes = append(p.Notes,
					fmt.Sprintf("%s is not in the model, so the prediction ignores its change", name))
			}
			answer.Predictions = append(answer.Predictions, p)
		}
		if len(answer.Predictions) > 0 {
			out.Answers = append(out.Answers, answer)
		}
	}
	if len(out.Answers) == 0 {
		return nil, fmt.Errorf("nothing can be predicted: %s", cmp.Or(strings.Join(out.Notes, "; "), ErrTooFew.Error()))
	}
	return out, nil
}

// Reach says how far one quantity of a question lies outside the measured range.
type Reach struct {
	What   string  `json:"what"`
	Wanted float64 `json:"asked"`
	Least  float64 `json:"least_measured"`
	Most   float64 `json:"most_measured"`
	// Times is the asked value over the largest measured one, or the smallest measured one over the asked value. It is
	// 1 within the measured range and unknown if the quantity was never measured.
	Times tuning.Figure `json:"times"`

	load bool // whether it is a load and not a setting
}

// perDoubling is the additional relative scatter of a prediction for each doubling beyond the measurements. There the
// model assumes that costs add up and that more bolts hold more, which was not measured. With 0.1 the interval of the
// tuning document's row of 28 filter bolts, predicted from its rows of 4, 8 and 20, missed it.
const perDoubling = 0.2

// Text describes the reach in a sentence without its full stop.
func (r Reach) Text() string {
	switch {
	case !r.Times.Known():
		return fmt.Sprintf("%s %s: never measured", tuning.Digits(tuning.Figure(r.Wanted)), r.What)
	case r.Wanted > r.Most:
		return fmt.Sprintf("%s %s: %.3g times the largest measured value, %s", tuning.Digits(tuning.Figure(r.Wanted)), r.What,
			float64(r.Times), tuning.Digits(tuning.Figure(r.Most)))
	}
	return fmt.Sprintf("%s %s: the smallest measured value, %s, is %.3g times as large", tuning.Digits(tuning.Figure(r.Wanted)), r.What,
		tuning.Digits(tuning.Figure(r.Least)), float64(r.Times))
}

// dimension is a quantity in which steps differ. of returns 0 or unknown if its value is not known. A load below the
// smallest measured one adds no scatter, but a setting does; see scatter.
type dimension struct {
	what string
	load bool
	of   func(Load, Setup) float64
}

// dimensions returns the loads, workers, heap and executors that a question can have. The sum of executors is a
// dimension only if steps know the executors of more than one component.
func dimensions(of []Observation, asked Setup) (all []dimension) {
	all = []dimension{
		{"queries", true, func(l Load, _ Setup) float64 { return l.Queries }},
		{"records/s", true, func(l Load, _ Setup) float64 { return float64(l.RecordsPerSecond) }},
		{"workers", false, func(_ Load, s Setup) float64 { return s.Workers }},
		{"of max spout pending", false, func(_ Load, s Setup) float64 { return s.Pending }},
		{"MiB of a worker's heap", false, func(_ Load, s Setup) float64 { return s.HeapMiB }},
	}
	known := 0
	for _, o := range of {
		known = max(known, len(o.Setup.Executors))
	}
	if len(asked.Executors) > 1 && known != 1 { // steps that know a single component have no sum
		all = append(all, dimension{"executors in total", false, func(_ Load, s Setup) float64 { return s.all() }})
	}
	names := map[string]float64{}
	maps.Copy(names, asked.Executors)
	for _, o := range of {
		maps.Copy(names, o.Setup.Executors)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, dimension{name + " executors", false, func(_ Load, s Setup) float64 {
			return s.Executors[name]
		}})
	}
	return all
}

// reach returns the quantities of a question that lie outside the measured range, the farthest first. An unknown
// quantity counts as inside.
func reach(of []Observation, l Load, s Setup) []Reach {
	out := []Reach{}
	for _, d := range dimensions(of, s) {
		asked := d.of(l, s)
		if !(asked > 0) {
			continue
		}
		r := Reach{What: d.what, load: d.load, Wanted: asked, Least: math.Inf(1), Times: 1}
		for _, o := range of {
			if v := d.of(o.Load, o.Setup); v > 0 {
				r.Least, r.Most = min(r.Least, v), max(r.Most, v)
			}
		}
		switch {
		case r.Most == 0:
			r.Least, r.Times = 0, tuning.Unknown
		case asked > r.Most*(1+beside):
			r.Times = tuning.Figure(asked / r.Most)
		case asked < r.Least*(1-beside):
			r.Times = tuning.Figure(r.Least / asked)
		default:
			continue
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Reach) int { return cmp.Compare(b.rank(), a.rank()) })
	return out
}

// beside is the relative tolerance of loads and settings. Rates are never held exactly.
const beside = 0.02

// rank returns the sort key of a Reach. A quantity that was never measured comes first.
func (r Reach) rank() float64 {
	if !r.Times.Known() {
		return math.Inf(1)
	}
	return float64(r.Times)
}

// scatter returns the additional standard deviation of a prediction's logarithm. A load below the smallest measured one
// adds nothing, because larger loads already show its costs. The variances of all other quantities are added, as for
// independent causes.
func scatter(all []Reach) float64 {
	squares := 0.0
	for _, r := range all {
		if r.Times.Known() && (r.Wanted > r.Most || !r.load) {
			doublings := math.Log2(float64(r.Times))
			squares += perDoubling * perDoubling * doublings * doublings
		}
	}
	return math.Sqrt(squares)
}

// Scenarios returns the questions about a file: all configurations and steps of an experiment, or the configuration of
// a file with Bullet's settings. Without a file ("") it is the configuration of the runs. base has what the user set.
// If queries are given, they replace the steps.
func Scenarios(path string, base Scenario, queries []float64) ([]Scenario, error) {
	if path == "" {
		return loads(base, queries, 0), nil
	}
	settings, err := settingsOf(path)
	if err != nil {
		return nil, err
	}
	if _, is := settings["experiment"]; is {
		return ofExperiment(path, base, queries)
	}
	base.Settings = settings
	return loads(base, queries, 0), nil
}

// settingsOf reads a file with settings.
func settingsOf(path string) (Settings, error) {
	entries, err := measure.Settings(path, nil)
	return runstore.Mapped(entries), err
}

// loads asks for each number of queries, or for the others if there are none.
func loads(base Scenario, queries []float64, others ...float64) (all []Scenario) {
	if len(queries) == 0 {
		queries = others
	}
	for _, n := range queries {
		base.Queries = n
		all = append(all, base)
	}
	return all
}

func ofExperiment(path string, base Scenario, queries []float64) (all []Scenario, err error) {
	file, _, err := experimentfile.Read(path)
	if err != nil {
		return nil, err
	}
	conf, err := settingsOf(file.Conf())
	if err != nil {
		return nil, fmt.Errorf("%s: topology.conf: %w", path, err)
	}
	plan := file.Plan()
	for _, t := range plan.Trials {
		if t.Repeat > 1 {
			continue
		}
		a := base
		a.Label, a.Settings = t.Label, conf.Over(runstore.Mapped(t.Settings))
		a.Workers, a.HeapMiB = float64(t.Workers), float64(t.WorkerHeapMiB)
		if !a.Records.Known() && plan.Load.RecordsPerSecond > 0 {
			a.Records = plan.Load.RecordsPerSecond
		}
		a.Queries = float64(plan.Load.Queries)
		all = append(all, steps(a, plan.Axis, t, queries, base.Records.Known())...)
	}
	return all, nil
}

// steps returns the scenarios of a trial's steps. If the user fixed the record rate, it replaces that of the steps.
func steps(a Scenario, axis runstore.Axis, t runstore.PlannedTrial, queries []float64, fixed bool) (all []Scenario) {
	if axis == runstore.RecordsPerSecond && !fixed {
		for _, s := range t.Steps {
			a.Records = tuning.Figure(s.Value)
			all = append(all, loads(a, queries, a.Queries)...)
		}
		return all
	}
	var values []float64
	if axis == runstore.Queries {
		values = tuning.Each(t.Steps, func(s runstore.PlannedStep) float64 { return s.Value })
	}
	if len(values) == 0 {
		values = []float64{a.Queries}
	}
	return loads(a, queries, values...)
}
