package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// machine is what one machine of the topology's has to give: this one's on the local cluster, else what is known of the
// cluster's.
func (r *RunReport) machine() tuning.Machine {
	if hostOfRun(r.plan) {
		return clusterMachine(r.Manifest.Cluster)
	}
	m := tuning.Machine{CPUCores: r.Manifest.Machine.UsableCores, MemoryMiB: inMiB(r.Manifest.Machine.MemoryBytes)}
	if !m.CPUCores.Known() || m.CPUCores <= 0 {
		m.CPUCores = Figure(max(1, r.Manifest.Machine.Cores))
	}
	return m
}

// clusterMachine is one of the cluster's machines; unknown where it is not stated.
func clusterMachine(c *runstore.Cluster) tuning.Machine {
	switch {
	case c == nil || c.Cores <= 0:
		return tuning.UnknownMachine()
	case !c.UsableCores.Known() || c.UsableCores <= 0:
		return tuning.Machine{CPUCores: Figure(c.Cores), MemoryMiB: inMiB(c.MemoryBytes)}
	}
	return tuning.Machine{CPUCores: c.UsableCores, MemoryMiB: inMiB(c.MemoryBytes)}
}

func inMiB(bytes int64) Figure {
	if bytes <= 0 {
		return Unknown
	}
	return Figure(bytes) / (1 << 20)
}

// measured is a configuration at one place of the axis, over all its launches.
type measured struct {
	value    float64
	verdicts []tuning.Verdict
	steps    []*StepReport
	// attempts are each time that it was measured well enough to be a point of what a query costs, mirrored those for
	// that alone.
	attempts, mirrored []*StepReport
}

// last keeps, of each trial, the last attempt at each place, and puts those of a configuration together.
func (r *RunReport) measured(configuration int) (out []measured) {
	for _, t := range r.Trials {
		if t.Configuration != configuration || t.Report == nil {
			continue
		}
		for _, s := range t.lastAttempts() {
			if s.Kind == runstore.CostStep {
				continue
			}
			i := slices.IndexFunc(out, func(m measured) bool { return m.value == s.Value })
			if i < 0 {
				i = len(out)
				out = append(out, measured{value: s.Value})
			}
			out[i].verdicts = append(out[i].verdicts, t.verdictAt(s))
			if step := t.Report.stepAt(s.StartMs); step != nil && s.Kind == runstore.LoadStep {
				out[i].steps = append(out[i].steps, step)
				out[i].attempts = append(out[i].attempts, t.attempts(s)...)
			}
		}
	}
	slices.SortFunc(out, func(a, b measured) int { return cmp.Compare(a.value, b.value) })
	return out
}

// attempts are the steps at a step's place that were OK: a load that was measured more than once in a launch states how
// far the topology drifts.
func (t TrialReport) attempts(last TrialStep) (all []*StepReport) {
	for _, s := range t.Steps {
		step := t.Report.stepAt(s.StartMs)
		if s.Kind == last.Kind && s.Value == last.Value && s.Verdict == tuning.OK && step != nil {
			all = append(all, step)
		}
	}
	return all
}

// verdict is one for all launches: what they agree on, else inconclusive.
func (m measured) verdict() tuning.Verdict { return tuning.Agreed(m.verdicts) }

// usedCores are those that all workers used; 0 where nobody measured it.
func (m measured) usedCores() Figure {
	used := m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute / Figure(minuteMs) })
	if !(used > 0) {
		return 0
	}
	return used
}

func (m measured) mean(figure func(*StepReport) Figure) Figure {
	var all []Figure
	for _, s := range m.steps {
		all = append(all, figure(s))
	}
	return runstore.Average(all)
}

// size is what a configuration takes: what it asks of the scheduler, or, where it reported nothing, the CPU that it
// used at most.
type size struct {
	cores, memoryMiB Figure
	filterBolts      int
	note             string
	// used is what its workers used at the last step that held, the mean of its launches; unknown where nobody
	// measured.
	used Figure
}

// measuredCores are what it used, beside what it asks for, which nothing but a scheduler goes by.
func (s size) measuredCores() (Figure, string) {
	if !s.used.Known() || !(s.used > 0) {
		return s.cores, s.note
	}
	note := "cores are those that the workers used at the last step that held"
	if s.note == "" && s.cores.Known() {
		note += fmt.Sprintf(", %s, beside %s declared", tuning.Digits(s.used), tuning.Digits(s.cores))
	}
	return s.used, note
}

// lastOK is the trial's step that held the most; nil where none did.
func (t TrialReport) lastOK() (last *TrialStep) {
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Verdict == tuning.OK && s.Kind == runstore.LoadStep &&
			(last == nil || s.Value >= last.Value) {
			last = s
		}
	}
	return last
}

// busyMost is the share of a core that a component's busiest instance took at the last step that held; 0 where it is
// not known.
func (r *RunReport) busyMost(configuration int, component string) (most Figure) {
	for _, t := range r.Trials {
		if t.Configuration != configuration {
			continue
		}
		if last := t.lastOK(); last != nil && last.Evidence != nil {
			for _, b := range last.Evidence.Bolts {
				if b.Component == component && b.BusyMost > most {
					most = b.BusyMost
				}
			}
		}
	}
	return most
}

func (r *RunReport) size(configuration int) size {
	s := size{cores: Unknown, memoryMiB: Unknown}
	used := Unknown
	var held []Figure
	for _, t := range r.Trials {
		if t.Configuration != configuration {
			continue
		}
		s.filterBolts = max(s.filterBolts, filterBoltsOf(t))
		if last := t.lastOK(); last != nil {
			held = append(held, last.CPUCores)
		}
		for _, step := range t.Steps {
			used = tuning.Greater(used, step.CPUCores)
		}
		if t.Report == nil || t.Report.Requested == nil {
			continue
		}
		resources, err := t.Report.Requested.Resources(tuning.Machine{CPUCores: 1, MemoryMiB: Unknown})
		if err == nil && resources.Totals.CPUCores > 0 {
			s.cores, s.memoryMiB = resources.Totals.CPUCores, resources.Totals.TotalMemoryMiB
		}
	}
	s.used = runstore.Average(held)
	if !s.cores.Known() && used.Known() {
		s.cores, s.note = used, "the topology reported no CPU that it asks of the scheduler: cores are those that its "+
			"workers used at most"
	}
	return s
}

const filterParallelism = "bullet.topology.filter.bolt.parallelism"

// filterBoltsOf is how many filter bolts the trial had: by the topology itself, by its settings, or by the evidence.
func filterBoltsOf(t TrialReport) (bolts int) {
	if t.Report != nil && t.Report.Requested != nil {
		for _, c := range t.Report.Requested.Components {
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

// components are what a configuration consists of, CPU and heap by instance; none where its topology reported none.
func (r *RunReport) components(configuration int) (all []tuning.Component) {
	for _, t := range r.Trials {
		if t.Configuration != configuration || t.Report == nil || t.Report.Requested == nil {
			continue
		}
		for _, c := range t.Report.Requested.Components {
			all = append(all, tuning.Component{
				Name:           r.componentName(t, c.Name),
				Parallelism:    max(1, c.Parallelism),
				CPUCoresEach:   c.CPUCoresTotal / Figure(max(1, c.Parallelism)),
				CPUCoresTotal:  Unknown,
				OnHeapMiB:      c.OnHeapMiB,
				OffHeapMiB:     c.OffHeapMiB,
				TotalMemoryMiB: Unknown,
				BusyMost:       r.busyMost(configuration, c.Name),
			})
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

// componentName distinguishes the DSL's spout that stands alone from Bullet's own: Bullet calls both DataSource, and
// they have settings of their own.
func (r *RunReport) componentName(t TrialReport, name string) string {
	if name == "DataSource" && strings.EqualFold(r.setting(t, dslSpoutEnable), "true") &&
		!strings.EqualFold(r.setting(t, dslBoltEnable), "true") {
		return "DSL spout"
	}
	return name
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

// concurrency judges each configuration's steps along the axis of queries; none on another axis.
func (r *RunReport) concurrency() (all []NamedConcurrency, err error) {
	for _, row := range r.Rows {
		c, err := r.concurrencyOf(row.Configuration)
		if err != nil {
			return nil, err
		}
		if c != nil {
			c.Label = row.Label
			all = append(all, *c)
		}
	}
	return all, nil
}

// concurrencyOf judges a configuration's steps; nil on another axis, or where none has its CPU.
func (r *RunReport) concurrencyOf(configuration int) (*NamedConcurrency, error) {
	if r.Axis != runstore.Queries {
		return nil, nil
	}
	var rows []tuning.ConcurrencyRow
	for _, m := range r.withCosts(configuration) {
		if step := m.concurrency(); step.AverageCPUMsPerMinute.Known() {
			rows = append(rows, step)
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	c, err := tuning.AnalyzeConcurrency(rows, goalsOf(r.plan), tuning.DefaultConfidence)
	if err != nil {
		return nil, err
	}
	return &NamedConcurrency{Concurrency: c, rows: rows}, nil
}

// withCosts are the places that the search for the capacity measured, and those of the loads that were measured for
// what a query costs alone.
func (r *RunReport) withCosts(configuration int) []measured {
	all := r.measured(configuration)
	for value, cost := range r.costs(configuration) {
		i := slices.IndexFunc(all, func(m measured) bool { return m.value == value })
		if i < 0 {
			i = len(all)
			all = append(all, measured{value: value, verdicts: []tuning.Verdict{tuning.Inconclusive},
				steps: cost.steps})
			if len(cost.mirrored) > 0 {
				all[i].verdicts[0] = tuning.OK
			}
		}
		all[i].mirrored = cost.mirrored
	}
	slices.SortFunc(all, func(a, b measured) int { return cmp.Compare(a.value, b.value) })
	return all
}

// costs are the loads that were measured for the cost, by their places; those that were OK are its points.
func (r *RunReport) costs(configuration int) map[float64]measured {
	all := map[float64]measured{}
	for _, t := range r.reported() {
		for _, s := range t.Steps {
			step := t.Report.stepAt(s.StartMs)
			if t.Configuration != configuration || s.Kind != runstore.CostStep || step == nil {
				continue
			}
			m := all[s.Value]
			if m.steps = append(m.steps, step); s.Verdict == tuning.OK {
				m.mirrored = append(m.mirrored, step)
			}
			all[s.Value] = m
		}
	}
	return all
}

// concurrency is the place as a row: the means of its launches, with each time that it was measured.
func (m measured) concurrency() tuning.ConcurrencyRow {
	return tuning.ConcurrencyRow{Queries: int(m.value), Verdict: m.verdict(),
		AverageCPUMsPerMinute: m.mean(func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }),
		AverageResultSize:     m.mean(func(s *StepReport) Figure { return s.AverageResultSize }),
		Workers:               m.mean(func(s *StepReport) Figure { return Figure(s.Workers) }),
		TotalCPUMsPerMinute:   m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }),
		AverageGCMsPerMinute:  m.mean(func(s *StepReport) Figure { return s.AverageGCMsPerMinute }),
		Launches:              launchCosts(m.attempts), Mirrored: launchCosts(m.mirrored)}
}

// launchCosts are a run's, none where no step was OK: not those of a table, which are nil.
func launchCosts(steps []*StepReport) []tuning.LaunchCost {
	all := []tuning.LaunchCost{}
	for _, s := range steps {
		all = append(all, tuning.LaunchCost{
			AverageCPUMsPerMinute: s.AverageCPUMsPerMinute, TotalCPUMsPerMinute: s.TotalCPUMsPerMinute,
			Slices: s.slices,
		})
	}
	return all
}
