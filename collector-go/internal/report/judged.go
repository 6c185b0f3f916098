package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Judged is what follows from all trials of a run together. What the run's analysis is not is null.
type Judged struct {
	Queries *tuning.Queries `json:"queries,omitempty"`
	Data    *tuning.Data    `json:"data,omitempty"`
	// Concurrency is of one configuration each, in the rows' order.
	Concurrency []NamedConcurrency `json:"concurrency,omitempty"`
	// Costs are the same of a run about queries per core, whose steps are judged by their latency.
	Costs     []NamedConcurrency `json:"costs,omitempty"`
	Timelines []NamedTimeline    `json:"timelines,omitempty"`
	// Sizing is the configuration for the largest load that the run held.
	Sizing *RunSizing `json:"sizing,omitempty"`
	// Repeats are how far the launches of one configuration are apart, where it had several.
	Repeats []Repeated `json:"repeats,omitempty"`

	tables Tables
	// mostRecordsBy is the label of the configuration that held mostRecords a second.
	mostRecords   float64
	mostRecordsBy string
	notes         []string
}

// NamedConcurrency is the judgement of one configuration's steps.
type NamedConcurrency struct {
	Label string `json:"label"`
	*tuning.Concurrency

	rows []tuning.ConcurrencyRow
}

// NamedTimeline is that of one trial.
type NamedTimeline struct {
	Label string `json:"label"`
	*tuning.Timeline

	configuration int
}

func (r *RunReport) judged() (j Judged) {
	var err error
	switch r.Analysis {
	case rundir.OfQueries:
		j.tables.Points = r.queryPoints(&j)
		if len(j.tables.Points) > 0 {
			j.Queries, err = tuning.AnalyzeQueries(j.tables.Points, r.queryGoals())
		}
		var cost error
		j.Costs, cost = r.concurrency()
		err = errors.Join(err, cost)
	case rundir.OfData:
		j.tables.Volumes = r.volumes(&j)
		if len(j.tables.Volumes) > 0 {
			j.Data, err = tuning.AnalyzeData(j.tables.Volumes, tuning.DefaultConfidence)
		}
	case rundir.OfConcurrency:
		j.Concurrency, err = r.concurrency()
	case rundir.OfTimeline:
		j.Timelines = r.timelines()
	}
	j.Repeats = r.repeats()
	if err != nil {
		j.notes = append(j.notes, fmt.Sprintf("the trials together could not be judged: %v", err))
	}
	j.Sizing = r.sizing(&j)
	return j
}

// timelines are those of each trial; of a step that was repeated the last one.
func (r *RunReport) timelines() (all []NamedTimeline) {
	for i := range r.Trials {
		t := &r.Trials[i]
		at := map[float64]int{}
		for _, s := range t.Steps {
			if s.timeline == nil {
				continue
			}
			named := NamedTimeline{t.name(), s.timeline, t.Configuration}
			if i, before := at[s.Value]; before {
				all[i] = named
				continue
			}
			at[s.Value] = len(all)
			all = append(all, named)
		}
	}
	return all
}

// latencyLimit is that of the goal about the filter latency, the document's where there is none.
func (r *RunReport) latencyLimit() float64 {
	for _, g := range r.Goals {
		if g.Figure == tuning.FilterLatency && g.AtMost.Known() {
			return float64(g.AtMost)
		}
	}
	return tuning.DefaultGoals().FilterLatencyLimitMs
}

// measured is a configuration at one place of the axis, over all its launches.
type measured struct {
	value    float64
	verdicts []tuning.Verdict
	steps    []*StepReport
}

// last keeps, of each trial, the last attempt at each place, and puts those of a configuration together.
func (r *RunReport) measured(configuration int) (out []measured) {
	for _, t := range r.Trials {
		if t.Configuration != configuration || t.Report == nil {
			continue
		}
		last := map[string]TrialStep{}
		for _, s := range t.Steps {
			last[fmt.Sprint(s.Kind, s.Value)] = s
		}
		for _, s := range last {
			i := slices.IndexFunc(out, func(m measured) bool { return m.value == s.Value })
			if i < 0 {
				i = len(out)
				out = append(out, measured{value: s.Value})
			}
			out[i].verdicts = append(out[i].verdicts, s.Verdict)
			if step := t.Report.stepAt(s.StartMs); step != nil && s.Kind == rundir.LoadStep {
				out[i].steps = append(out[i].steps, step)
			}
		}
	}
	slices.SortFunc(out, func(a, b measured) int { return cmp.Compare(a.value, b.value) })
	return out
}

func (r *Report) stepAt(startMs int64) *StepReport {
	for i := range r.Steps {
		if r.Steps[i].StartMs == startMs {
			return &r.Steps[i]
		}
	}
	return nil
}

// verdict is one for all launches: what they agree on, else inconclusive.
func (m measured) verdict() tuning.Verdict {
	for _, v := range m.verdicts {
		if v != m.verdicts[0] {
			return tuning.Inconclusive
		}
	}
	return m.verdicts[0]
}

func (m measured) mean(figure func(*StepReport) Figure) Figure {
	var all []Figure
	for _, s := range m.steps {
		all = append(all, figure(s))
	}
	return average(all)
}

// size is what a configuration takes: what it asks of the scheduler, or, where it told nothing, the CPU that it used at most.
type size struct {
	cores, memoryMiB Figure
	filterBolts      int
	note             string
}

func (r *RunReport) size(configuration int) size {
	s := size{cores: Unknown, memoryMiB: Unknown}
	used := Unknown
	for _, t := range r.Trials {
		if t.Configuration != configuration {
			continue
		}
		s.filterBolts = max(s.filterBolts, filterBoltsOf(t))
		for _, step := range t.Steps {
			if step.CPUCores.Known() && !(step.CPUCores <= used) {
				used = step.CPUCores
			}
		}
		if t.Report == nil || t.Report.Asked == nil {
			continue
		}
		if resources, err := t.Report.Asked.resources(tuning.Machine{CPUCores: 1, MemoryMiB: Unknown}); err == nil && resources.Totals.CPUCores > 0 {
			s.cores, s.memoryMiB = resources.Totals.CPUCores, resources.Totals.TotalMemoryMiB
		}
	}
	if !s.cores.Known() && used.Known() {
		s.cores, s.note = used, "the topology told no CPU that it asks of the scheduler: cores are those that its workers used at most"
	}
	return s
}

const filterParallelism = "bullet.topology.filter.bolt.parallelism"

// filterBoltsOf is how many filter bolts the trial had: by the topology itself, by its settings, or by the evidence.
func filterBoltsOf(t TrialReport) (bolts int) {
	if t.Report != nil && t.Report.Asked != nil {
		for _, c := range t.Report.Asked.Components {
			if c.Name == tuning.FilterBolt {
				return c.Parallelism
			}
		}
	}
	for _, e := range t.Settings {
		if e.Key == filterParallelism {
			fmt.Sscan(e.Value, &bolts)
		}
	}
	return bolts
}

func (r *RunReport) queryPoints(j *Judged) (points []tuning.QueryPoint) {
	if r.Axis != rundir.Queries {
		j.note("the steps are of " + r.axis() + ", not of simultaneous queries: they tell no capacity over filter bolts")
		return nil
	}
	var rates []Figure
	for _, row := range r.Rows {
		size := r.size(row.Configuration)
		j.note(size.note)
		if size.filterBolts == 0 || !(size.cores > 0) {
			j.note(fmt.Sprintf("%s: how many filter bolts or cores it had is not known: left out of the fit", row.Label))
			continue
		}
		for _, m := range r.measured(row.Configuration) {
			latency := m.mean(func(s *StepReport) Figure { return s.FilterLatencyMeanMs })
			if m.verdict() == tuning.OK {
				rates = append(rates, m.mean(func(s *StepReport) Figure { return s.RecordsPerSecond }))
			}
			if latency.Known() {
				points = append(points, tuning.QueryPoint{FilterBolts: size.filterBolts, Queries: int(m.value), LatencyMs: float64(latency),
					TopologyCPUCores: size.cores, TopologyMemoryMiB: size.memoryMiB, Verdict: m.verdict()})
			}
		}
	}
	j.tables.RecordsPerS = average(rates)
	return points
}

func (j *Judged) note(text string) {
	if text != "" && !slices.Contains(j.notes, text) {
		j.notes = append(j.notes, text)
	}
}

// volumes takes, for each rate, the smallest configuration that held it: a row for each of its components.
func (r *RunReport) volumes(j *Judged) (rows []tuning.DataRow) {
	best := map[float64]tuning.DataRow{}
	configurations := map[float64]int{}
	for _, row := range r.Rows {
		size := r.size(row.Configuration)
		j.note(size.note)
		for _, m := range r.measured(row.Configuration) {
			records, volume := m.mean(func(s *StepReport) Figure { return s.RecordsPerSecond }), m.mean(func(s *StepReport) Figure { return s.MiBPerSecond })
			if m.verdict() != tuning.OK || !(size.cores > 0) || !(records > 0) || !(volume > 0) {
				continue
			}
			if held, found := best[m.value]; !found || float64(size.cores) < held.TotalCPUCores {
				memory := size.memoryMiB
				if !(memory > 0) {
					memory = Unknown
				}
				best[m.value] = tuning.DataRow{DataMiBPerS: float64(volume), RecordsPerS: float64(records), TotalCPUCores: float64(size.cores), TotalMemoryMiB: float64(memory)}
				configurations[m.value] = row.Configuration
			}
		}
	}
	for value, volume := range best {
		if volume.RecordsPerS >= j.mostRecords {
			j.mostRecords, j.mostRecordsBy = volume.RecordsPerS, r.label(configurations[value])
		}
		rows = append(rows, withComponents(volume, r.components(configurations[value]))...)
	}
	slices.SortStableFunc(rows, func(a, b tuning.DataRow) int { return cmp.Compare(a.RecordsPerS, b.RecordsPerS) })
	return rows
}
