package report

import (
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Tables are a run's figures as tune analyze and tune size take them: what its report is judged from and what its CSV files hold. Those
// that the run's analysis has not are empty.
type Tables struct {
	// Points are filter bolts by queries, with the steps' verdicts; RecordsPerS is the records a second of those that held, averaged.
	Points      []tuning.QueryPoint
	RecordsPerS Figure
	// QueryGoals are what the points were judged by.
	QueryGoals tuning.QueryGoals
	// Volumes are, for each rate, the components of the smallest configuration that held it.
	Volumes []tuning.DataRow
	// Concurrency are the steps of each configuration.
	Concurrency []ConfigurationSteps
	// Notes are what must be known of them.
	Notes []string
}

// ConfigurationSteps are one configuration's steps of simultaneous queries, with the goals that they were judged by.
type ConfigurationSteps struct {
	Label string
	Rows  []tuning.ConcurrencyRow
	// ExpectedResultSize is the records of a complete answer, Tolerance the share of them that may be missing on average.
	ExpectedResultSize, Tolerance float64
}

func (c NamedConcurrency) table() ConfigurationSteps {
	return ConfigurationSteps{Label: c.Label, Rows: c.rows, ExpectedResultSize: float64(c.ExpectedResultSize), Tolerance: max(0, 1-float64(c.SmallestResultSize/c.ExpectedResultSize))}
}

// Tables are the run's.
func (r *RunReport) Tables() Tables {
	t := r.Judged.tables
	for _, c := range slices.Concat(r.Judged.Concurrency, r.Judged.Costs) {
		t.Concurrency = append(t.Concurrency, c.table())
	}
	t.QueryGoals, t.Notes = r.queryGoals(), append([]string{}, r.Judged.notes...)
	if !r.Finished {
		t.Notes = append(t.Notes, "the run has not ended: its table is as far as it came")
	}
	return t
}

// queryGoals are what a grid of queries is judged by.
func (r *RunReport) queryGoals() tuning.QueryGoals {
	return tuning.QueryGoals{LimitMs: r.latencyLimit(), Headroom: tuning.DefaultHeadroom, Confidence: tuning.DefaultConfidence}
}

// Class is the class of the run's queries.
func (r *RunReport) Class() string { return r.plan.Load.Class }

// Verdicts count the run's measured steps by their verdicts, of those measured again the last.
func (r *RunReport) Verdicts() map[tuning.Verdict]int {
	counts := map[tuning.Verdict]int{}
	for _, t := range r.Trials {
		for _, s := range t.lastAttempts() {
			counts[s.Verdict]++
		}
	}
	return counts
}

// Resources are what a topology asks of the scheduler, added up and audited; an error where it cannot be.
func (a *Asked) Resources(machine tuning.Machine) (*tuning.Resources, error) {
	return a.resources(machine)
}

// components are what a configuration consists of, CPU and heap by instance; none where its topology did not tell.
func (r *RunReport) components(configuration int) (all []tuning.Component) {
	for _, t := range r.Trials {
		if t.Configuration != configuration || t.Report == nil || t.Report.Asked == nil {
			continue
		}
		for _, c := range t.Report.Asked.Components {
			all = append(all, tuning.Component{Name: r.componentName(t, c.Name), Parallelism: max(1, c.Parallelism), CPUCoresEach: c.CPUCoresTotal / Figure(max(1, c.Parallelism)),
				CPUCoresTotal: Unknown, OnHeapMiB: c.OnHeapMiB, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: Unknown})
		}
		return all
	}
	return nil
}

// The settings that make DataSource the DSL's.
const (
	dslSpoutEnable = "bullet.topology.dsl.spout.enable"
	dslBoltEnable  = "bullet.topology.dsl.bolt.enable"
)

// label is what people call a configuration.
func (r *RunReport) label(configuration int) string {
	for _, row := range r.Rows {
		if row.Configuration == configuration {
			return row.Label
		}
	}
	return ""
}

// componentName tells the DSL's spout that stands alone from Bullet's own: Bullet calls both DataSource, and they have settings of their own.
func (r *RunReport) componentName(t TrialReport, name string) string {
	if name == "DataSource" && strings.EqualFold(r.setting(t, dslSpoutEnable), "true") && !strings.EqualFold(r.setting(t, dslBoltEnable), "true") {
		return "DSL spout"
	}
	return name
}

// setting is the trial's own, else the run's.
func (r *RunReport) setting(t TrialReport, key string) (value string) {
	for _, entries := range [][]rundir.Entry{r.Manifest.BulletSettings, t.Settings} {
		for _, e := range entries {
			if e.Key == key {
				value = e.Value
			}
		}
	}
	return value
}

// withComponents is a volume as its table has it: a row for each component, or one without where none is known.
func withComponents(volume tuning.DataRow, components []tuning.Component) (rows []tuning.DataRow) {
	if len(components) == 0 {
		return []tuning.DataRow{volume}
	}
	for _, c := range components {
		volume.Component = c
		rows = append(rows, volume)
	}
	return rows
}
