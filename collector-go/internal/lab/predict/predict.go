// Package predict predicts CPU, garbage collection, heap, latency and capacity of a configuration that was never run,
// under a load that was never applied. It fits a model to measured steps and returns each figure with an interval.
//
// The package contains the model, its validation by leaving steps out, and the text of both. It must not know how steps
// are run. It has no side effects; only observe.go, tables.go and world.go read files. All random draws are seeded, so
// that the same steps give the same figures to the last digit. Otherwise two reports of the same data would differ.
//
// Steps are comparable only within a world: the same machine, records, query and versions. Every model is fitted to one
// world. Start reading at Observation in this file, then Fit and Model.Predict in model.go. Validation is in check.go.
package predict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Load is the load of one step. Queries is 0 and RecordsPerSecond is unknown if the source does not state them.
type Load struct {
	Queries          float64       `json:"queries"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
}

// Setup is the part of a configuration that the model uses: executors, workers, heap. An unknown quantity is 0. Setups
// are compared by their text (key), so two steps are repeats only if all these fields are equal.
type Setup struct {
	// Executors has the number of executors of each component. HeapMiB is the largest heap of one worker.
	Executors map[string]float64 `json:"executors"`
	Workers   float64            `json:"workers,omitempty"`
	HeapMiB   float64            `json:"heap_mib,omitempty"`
	// Pending is max spout pending. No figure depends on it, but steps that differ in it are not repeats.
	Pending float64 `json:"max_spout_pending,omitempty"`
}

// filterBolts returns the number of filter bolt executors, which match records with queries.
func (s Setup) filterBolts() float64 { return s.Executors[tuning.FilterBolt] }

// all returns the number of executors of all components.
func (s Setup) all() (sum float64) {
	for _, n := range s.Executors {
		sum += n
	}
	return sum
}

// With returns a copy of the setup with another number of executors of a component.
func (s Setup) With(component string, executors float64) Setup {
	all := map[string]float64{}
	maps.Copy(all, s.Executors)
	all[component], s.Executors = executors, all
	return s
}

// Figure is the name of a figure that is predicted for a step.
type Figure string

// The figures. BusyOf returns the figure of a component's busy cores.
const (
	CPU     Figure = "CPU of all workers"
	GC      Figure = "GC of all workers"
	Heap    Figure = "heap used, all workers"
	Latency Figure = "filter latency, mean"
	// WorkerCPU is for tables that have only the mean of a worker. CoresHeld and MemoryHeld are the resource requests
	// of configurations that held a data volume.
	WorkerCPU  Figure = "CPU, mean of a worker"
	CoresHeld  Figure = "CPU asked for"
	MemoryHeld Figure = "memory asked for"
)

// busyPrefix is the prefix of the figures that BusyOf returns.
const busyPrefix = "busy cores of "

// BusyOf returns the figure for how many cores' time the executors of a component spend executing.
func BusyOf(component string) Figure { return Figure(busyPrefix + component) }

// Unit returns the unit of the figure: MiB, ms, or cores for every other figure.
func (f Figure) Unit() string {
	switch f {
	case Heap, MemoryHeld:
		return "MiB"
	case Latency:
		return "ms"
	}
	return "cores"
}

// Observation is one measured step, reduced to what the model uses. World, Launch and Configuration are opaque keys:
// steps of one launch share a random deviation, and steps with the same configuration and load are repeats of each
// other.
type Observation struct {
	// World names what must be equal for steps to be comparable: machine, records, query, versions.
	World string
	// Launch names one launch of a topology; all its steps deviate in common from those of another launch.
	// Configuration names the settings.
	Launch, Configuration string
	// Step is the name of the step for people.
	Step  string
	Load  Load
	Setup Setup
	// Measured are the figures that were measured.
	Measured map[Figure]float64
}

// repeats reports whether two observations have the same configuration and about the same load. The loads may differ by
// 2% of queries and 10% of records, because a calibrated rate differs from run to run.
func (o Observation) repeats(other Observation) bool {
	near := func(a, b, within float64) bool { return math.Abs(a-b) <= within*math.Max(a, b) }
	return o.World == other.World && o.Configuration == other.Configuration &&
		near(o.Load.Queries, other.Load.Queries, 0.02) &&
		(near(float64(o.Load.RecordsPerSecond), float64(other.Load.RecordsPerSecond), 0.1) ||
			!o.Load.RecordsPerSecond.Known() && !other.Load.RecordsPerSecond.Known())
}

// positive reports whether a figure has a finite logarithm, which the model needs.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// Source holds the steps of one run or one table. A run is one source in one world. A directory of runs gives a source
// for each run.
type Source struct {
	Name         string
	Observations []Observation
	// Settings and Setup are those of the first configuration. Questions change settings relative to them. Settings is
	// nil for a table.
	Settings Settings
	Setup    Setup
	// Records is the record rate of the first step; it is unknown if no rate is known. LimitMs is the latency limit in
	// ms, or 0 if there is none.
	Records tuning.Figure
	LimitMs float64
	// LeftOut counts the steps that could not be used, by reason.
	LeftOut map[string]int
}

// The reasons for leaving out a step.
const (
	starved  = "inconclusive, affected by the host or the measurement"
	outside  = "limited by something outside the topology"
	timeline = "timelines, which run one query after the other"
)

// OfRun reads the steps of a run directory. The latency limit is the limit of the goal for the mean filter latency.
// Trials without steps are skipped. Steps that say nothing about the topology are counted in LeftOut.
func OfRun(run *runstore.Run) (*Source, error) {
	s := &Source{Name: run.Dir, Records: tuning.Unknown, LeftOut: map[string]int{},
		LimitMs: float64(tuning.Greater(0, tuning.MeanLatencyLimit(run.Plan.Goals)))}
	for _, t := range run.Trials {
		if len(t.Steps) == 0 {
			continue
		}
		settings, setup, err := configured(run, t)
		if err != nil {
			return nil, err
		}
		if s.Settings == nil {
			s.Settings, s.Setup = settings, setup
		}
		figures, err := t.Figures()
		if err != nil {
			return nil, err
		}
		for _, step := range t.Steps {
			s.add(run, t, step, setup, figures)
		}
	}
	if len(s.Observations) > 0 {
		s.Records = s.Observations[0].Load.RecordsPerSecond
	}
	return s, nil
}

// configured returns the settings and the setup of a trial. Values that the topology reported take precedence over the
// settings.
func configured(run *runstore.Run, t runstore.Trial) (Settings, Setup, error) {
	settings := Settings{}
	for _, e := range run.Manifest.BulletSettings {
		settings[strings.TrimPrefix(e.Key, "-c ")] = e.Value
	}
	settings = settings.Over(runstore.Mapped(t.Settings))
	setup := settings.Whole()
	if len(settings) == 0 {
		setup = Setup{}
	}
	setup.Workers = cmp.Or(max(0, float64(t.Workers)), setup.Workers)
	setup.HeapMiB = cmp.Or(max(0, float64(t.WorkerHeapMiB)), setup.HeapMiB)
	reported, err := t.ReportedConfig()
	if err != nil {
		return nil, setup, err
	}
	if reported != nil && reported.HeapLimitBytes > 0 {
		setup.HeapMiB = float64(reported.HeapLimitBytes) / (1 << 20)
	}
	if e := t.Steps[0].Evidence; e != nil {
		for _, b := range e.Bolts {
			if b.Executors > 0 {
				setup = setup.With(b.Component, float64(b.Executors))
			}
		}
	}
	if setup.filterBolts() == 0 { // a table that was stored as a run
		var bolts float64
		if n, _ := fmt.Sscanf(t.Label, "%g filter bolts", &bolts); n == 1 {
			setup = setup.With(tuning.FilterBolt, bolts)
		}
	}
	return settings, setup, nil
}

// add adds a step, or counts it in LeftOut. FAIL steps are kept, because they are as informative about the topology as
// others.
func (s *Source) add(run *runstore.Run, t runstore.Trial, step runstore.Step, setup Setup, figures *runstore.Figures) {
	switch {
	case step.Verdict == tuning.Inconclusive:
		s.LeftOut[starved]++
		return
	case step.Verdict == tuning.Limited:
		s.LeftOut[outside]++
		return
	case step.Kind == runstore.TimelineStep:
		s.LeftOut[timeline]++
		return
	}
	o := Observation{
		World: world(run), Launch: fmt.Sprintf("%s %d.%d", run.Manifest.ID, t.Number, step.Launch),
		Configuration: key(setup), Step: fmt.Sprintf("%s, %s, %s %s",
			filepath.Base(run.Dir), t.Label, tuning.Digits(tuning.Figure(step.Value)), run.Plan.Axis.Unit()),
		Load: Load{float64(step.Queries), step.RecordsPerSecond}, Setup: setup, Measured: map[Figure]float64{},
	}
	if !(o.Load.RecordsPerSecond > 0) {
		o.Load.RecordsPerSecond = tuning.Unknown
	}
	o.put(CPU, step.CPUCores)
	for _, f := range step.Figures {
		if f.Goal.Figure == tuning.FilterLatency && f.Goal.Statistic == tuning.Mean {
			o.put(Latency, f.Measured)
		}
	}
	if step.Evidence != nil {
		for _, b := range step.Evidence.Bolts {
			o.put(BusyOf(b.Component), b.BusyMean*b.Executors)
		}
	}
	o.addSeries(runstore.Span{From: step.MeasuredFromMs, To: step.EndMs}, figures)
	if len(o.Measured) > 0 {
		s.Observations = append(s.Observations, o)
	}
}

// addSeries adds the figures that come from the time series of the trial. GC and heap leave out workers without CPU
// data in the step. The latency of the series is used only if no goal measured it.
func (o *Observation) addSeries(measured runstore.Span, figures *runstore.Figures) {
	if figures == nil {
		return
	}
	used := figures.Usage(measured)
	o.put(GC, runstore.Total(used.GC))
	o.put(Heap, runstore.Total(used.HeapBytes)/(1<<20))
	if _, has := o.Measured[Latency]; !has {
		o.put(Latency, runstore.Average(figures.FilterLatencyMs(measured)))
	}
}

// put stores a figure if it is positive and finite, because the model works with logarithms.
func (o *Observation) put(figure Figure, v tuning.Figure) {
	if positive(float64(v)) {
		o.Measured[figure] = float64(v)
	}
}

// world returns the key of the runs whose steps are comparable: the machines, the records, the query and how it is
// submitted.
func world(run *runstore.Run) string {
	m, l := run.Manifest, run.Plan.Load
	hardware := fmt.Sprintf("%s, %d cores", m.Machine.CPUModel, m.Machine.Cores)
	if c := m.Cluster; c != nil && run.Plan.Launch == runstore.CommandLaunch {
		hardware = fmt.Sprintf("%s, %d cores", c.CPUModel, c.Cores)
	}
	return fmt.Sprintf("%s; %s of %s bytes; %s %s of %d records or %d ms, %s/s; Storm %s", hardware, m.Records.Schema(),
		tuning.Digits(m.Records.MeanRecordBytes),
		l.Submit, l.Class+l.BQL, l.QueryLimit, l.QueryDurationMs, tuning.Digits(l.MatchingPerSecond), m.Versions.Storm)
}

// key returns a text that is equal for equal setups. This works because fmt prints maps in the order of their keys.
func key(s Setup) string { return fmt.Sprint(s.Executors, s.Workers, s.HeapMiB, s.Pending) }

// OfTable reads a CSV file: filter bolts by queries, data volumes, or steps of simultaneous queries (as for tune
// analyze). The columns decide which it is. gridRecords is the record rate for a table that has none; it may be
// unknown. A table does not say on which machine it was measured, so each file is a world of its own. Each
// configuration of a file is a launch.
func OfTable(path string, gridRecords tuning.Figure) (*Source, error) {
	s := &Source{Name: path, Records: tuning.Unknown, LeftOut: map[string]int{}}
	about, err := csvtable.About(path)
	if err != nil {
		if _, rows, other := csvtable.Concurrency(path); other == nil {
			s.addConcurrency(rows, gridRecords)
			return s, nil
		}
		return nil, err
	}
	switch about {
	case csvtable.OfQueries:
		table, err := csvtable.Queries(path)
		if err != nil {
			return nil, err
		}
		if !table.RecordsPerS.Known() {
			table.RecordsPerS = gridRecords
		}
		s.addQueries(table)
	case csvtable.OfData:
		_, rows, err := csvtable.Data(path, csvtable.CPUEach)
		if err != nil {
			return nil, err
		}
		s.addVolumes(rows)
	default:
		return nil, fmt.Errorf("%s is a table of %s and has no steps; name a table of filter bolts by queries, data volumes or simultaneous queries",
			path, about)
	}
	return s, nil
}

// row adds a row of the table as an observation and returns it. The pointer is valid until the next call.
func (s *Source) row(configuration string, load Load, setup Setup, measured map[Figure]float64) *Observation {
	s.Observations = append(s.Observations, Observation{World: s.Name, Launch: s.Name + " " + configuration,
		Configuration: configuration, Load: load, Setup: setup, Measured: measured,
		Step: fmt.Sprintf("%s, line %d", filepath.Base(s.Name), len(s.Observations)+2)})
	return &s.Observations[len(s.Observations)-1]
}

// addQueries adds each point of the grid as a step. Points whose verdict says nothing about the topology are counted in
// LeftOut.
func (s *Source) addQueries(table *csvtable.QueryTable) {
	s.Records = table.RecordsPerS
	for _, p := range table.Points {
		if p.Verdict == tuning.Inconclusive || p.Verdict == tuning.Limited {
			s.LeftOut[starved]++
			continue
		}
		s.Setup = Setup{}.With(tuning.FilterBolt, float64(p.FilterBolts))
		s.row(fmt.Sprintf("%d filter bolts", p.FilterBolts), Load{float64(p.Queries), table.RecordsPerS}, s.Setup,
			map[Figure]float64{Latency: p.LatencyMs})
	}
}

// addVolumes adds each volume with the configuration that held it. Only the first row of a volume is used, because it
// has the totals. The figures are requested and not used resources, except for a column of used cores.
func (s *Source) addVolumes(rows []tuning.DataRow) {
	seen := map[float64]bool{}
	for _, r := range rows {
		if seen[r.RecordsPerS] {
			continue
		}
		seen[r.RecordsPerS] = true
		o := s.row(fmt.Sprintf("for %s records/s", tuning.Digits(tuning.Figure(r.RecordsPerS))),
			Load{0, tuning.Figure(r.RecordsPerS)}, Setup{}, map[Figure]float64{})
		o.put(CoresHeld, tuning.Figure(r.TotalCPUCores))
		o.put(CPU, tuning.Figure(r.UsedCPUCores))
		o.put(MemoryHeld, tuning.Figure(r.TotalMemoryMiB))
	}
}

// addConcurrency adds the rows as steps of one configuration, because such a table varies only the queries.
func (s *Source) addConcurrency(rows []tuning.ConcurrencyRow, records tuning.Figure) {
	s.Records = records
	const msPerCore = 60_000
	for _, r := range rows {
		if r.Verdict == tuning.Inconclusive || r.Verdict == tuning.Limited {
			s.LeftOut[starved]++
			continue
		}
		setup := Setup{Workers: float64(tuning.Greater(0, r.Workers))}
		o := s.row("the table's", Load{float64(r.Queries), records}, setup, map[Figure]float64{})
		o.put(WorkerCPU, r.AverageCPUMsPerMinute/msPerCore)
		o.put(CPU, r.TotalCPUMsPerMinute/msPerCore)
	}
}
