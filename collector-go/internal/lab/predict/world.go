package predict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
