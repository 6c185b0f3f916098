package predict

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

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
	s := &Source{Name: run.Dir, Records: tuning.Unknown, LeftOut: map[string]int{}}
	for _, g := range run.Plan.Goals {
		if g.Figure == tuning.FilterLatency && g.Statistic == tuning.Mean && g.AtMost > 0 {
			s.LimitMs = float64(g.AtMost)
		}
	}
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
