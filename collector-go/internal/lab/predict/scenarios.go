package predict

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

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
