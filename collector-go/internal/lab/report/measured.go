package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// machine returns the resources of one machine of the topology: this machine for a local cluster, else the machines
// that the experiment states for the cluster.
func (r *RunReport) machine() tuning.Machine {
	of := r.Manifest.Machine
	if c := r.Manifest.Cluster; hostOfRun(r.plan) {
		if c == nil || c.Cores <= 0 {
			return tuning.UnknownMachine()
		}
		of = c.Machine()
	}
	m := tuning.Machine{CPUCores: of.UsableCores, MemoryMiB: positive(Figure(of.MemoryBytes)) / mib}
	if !positive(m.CPUCores).Known() {
		m.CPUCores = Figure(max(1, of.Cores))
	}
	return m
}

// measured holds the results of one configuration at one value of the axis, over all its launches.
type measured struct {
	value float64
	// verdicts has one for each launch. tried has those of all attempts in all launches.
	verdicts []tuning.Verdict
	tried    []tuning.Verdict
	steps    []*StepReport
	// attempts are the attempts at a load step that were OK, and mirrored are the OK steps that were measured only for
	// the cost. Both are points of the cost per query.
	attempts, mirrored []*StepReport
	// forCost means that this value was measured only for the cost. steps are then the cost steps.
	forCost bool
}

// places are the values of the axis that a configuration was measured at. They are unordered until sorted is called.
type places []measured

// at returns the place for a value and adds it if necessary. The pointer is valid until the next call.
func (p *places) at(value float64) *measured {
	i := slices.IndexFunc(*p, func(m measured) bool { return m.value == value })
	if i < 0 {
		i = len(*p)
		*p = append(*p, measured{value: value})
	}
	return &(*p)[i]
}

// sorted sorts the places by value, in place, and returns them. The analyses rely on this order.
func (p places) sorted() []measured {
	slices.SortFunc(p, func(a, b measured) int { return cmp.Compare(a.value, b.value) })
	return p
}

// measured combines the trials of a configuration. It uses the last attempt of each trial at each value.
func (r *RunReport) measured(configuration int) []measured {
	var all places
	for _, t := range r.trialsOf(configuration) {
		if t.Report == nil {
			continue
		}
		for _, s := range t.lastAttempts() {
			if s.Kind == runstore.CostStep {
				continue
			}
			m := all.at(s.Value)
			tried := t.verdictsAt(s)
			m.verdicts, m.tried = append(m.verdicts, tuning.Combined(tried)), append(m.tried, tried...)
			if s.Kind == runstore.LoadStep {
				m.steps = append(m.steps, t.Report.stepAt(s.StartMs))
				// A load that was measured several times in one launch shows how much the topology drifts, so every
				// attempt is a point of the cost.
				for _, ok := range t.okAt(s) {
					m.attempts = append(m.attempts, t.Report.stepAt(ok.StartMs))
				}
			}
		}
	}
	return all.sorted()
}

// withCosts returns the places of measured and adds the steps that were measured only for the cost of a query. Of these
// steps only the OK ones are points of the cost.
func (r *RunReport) withCosts(configuration int) []measured {
	all := places(r.measured(configuration))
	for _, t := range r.trialsOf(configuration) {
		for _, s := range t.Steps {
			if t.Report == nil || s.Kind != runstore.CostStep {
				continue
			}
			step, m := t.Report.stepAt(s.StartMs), all.at(s.Value)
			m.forCost = m.forCost || len(m.tried) == 0
			if m.forCost {
				m.steps = append(m.steps, step)
			}
			if s.Verdict != tuning.OK {
				continue
			}
			m.mirrored = append(m.mirrored, step)
			if m.forCost {
				m.tried = []tuning.Verdict{tuning.OK}
			}
		}
	}
	return all.sorted()
}

// verdict returns the verdict of all attempts in all launches together, as the capacity of the configuration counts it.
func (m measured) verdict() tuning.Verdict { return tuning.Combined(m.tried) }

// usedCores returns the cores that all workers used together, as the mean of the launches. It returns 0 and not Unknown
// if they were not measured, because tuning reads 0 as "not stated" in its tables.
func (m measured) usedCores() Figure {
	used := m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute / Figure(minuteMs) })
	if !(used > 0) {
		return 0
	}
	return used
}

// mean returns the mean of a figure over the launches that have it.
func (m measured) mean(figure func(*StepReport) Figure) Figure {
	return runstore.Average(tuning.Each(m.steps, figure))
}

// size is the size of a configuration: its resource request or, if it reported none, the most CPU that it used. The
// note says which.
type size struct {
	cores, memoryMiB Figure
	filterBolts      int
	note             string
	// used is the CPU that its workers used at the last step that held, as the mean of its launches. It is unknown if
	// it was not measured.
	used Figure
}

// measuredCores returns the used cores, or the cores of size if they were not measured, with a note. Used cores are
// preferred, because only a scheduler acts on a request.
func (s size) measuredCores() (Figure, string) {
	if !s.used.Known() || !(s.used > 0) {
		return s.cores, s.note
	}
	note := "the cores are those that the workers used in the last OK step"
	if s.note == "" && s.cores.Known() {
		note += fmt.Sprintf(" (%s; %s declared)", tuning.Digits(s.used), tuning.Digits(s.cores))
	}
	return s.used, note
}

// lastOK returns the last OK attempt at the largest load that the trial held, or nil if it held none.
func (t *TrialReport) lastOK() *TrialStep {
	if t.result.Capacity.LastOK == nil {
		return nil
	}
	last := runstore.Step{Kind: runstore.LoadStep, Value: *t.result.Capacity.LastOK}
	all := t.okAt(TrialStep{Step: last})
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

// busyMost returns how busy the busiest executor of a component was at the last step that held, as a share of its time.
// It returns 0 if that is not known.
func (r *RunReport) busyMost(configuration int, component string) (most Figure) {
	for _, t := range r.trialsOf(configuration) {
		if last := t.lastOK(); last != nil && last.Evidence != nil {
			most = tuning.Greater(most, last.Evidence.Bolt(component).BusyMost)
		}
	}
	return most
}

// size combines what the launches of a configuration know about its size. The machine in the calculation is a dummy
// with one core, because only the totals are used.
func (r *RunReport) size(configuration int) size {
	s := size{cores: Unknown, memoryMiB: Unknown}
	used := Unknown
	var held []Figure
	for _, t := range r.trialsOf(configuration) {
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
		s.cores, s.note = used, "the topology reported no CPU request: the cores are the most that its workers used"
	}
	return s
}

// filterParallelism is Bullet's setting for the number of filter bolts. The recommendation writes it, and older runs
// have the number only there.
const filterParallelism = "bullet.topology.filter.bolt.parallelism"

// filterBoltsOf returns the number of filter bolts of a trial, as the topology reported it or else from the settings. 0
// means unknown.
func filterBoltsOf(t *TrialReport) (bolts int) {
	if t.Report != nil && t.Report.Requested != nil {
		isFilter := func(c runstore.Component) bool { return c.Name == tuning.FilterBolt }
		if filter, found := tuning.First(t.Report.Requested.Components, isFilter); found {
			return filter.Parallelism
		}
	}
	fmt.Sscan(runstore.Mapped(t.Settings)[filterParallelism], &bolts)
	return bolts
}

// components returns the components of a configuration, with CPU and heap for each instance. All launches of a
// configuration request the same, so the first that reported it is used. The result is nil if no topology reported it.
func (r *RunReport) components(configuration int) []tuning.Component {
	for _, t := range r.trialsOf(configuration) {
		if t.Report == nil || t.Report.Requested == nil {
			continue
		}
		return tuning.Each(t.Report.Requested.Components, func(c runstore.Component) tuning.Component {
			parallelism := max(1, c.Parallelism)
			return tuning.Component{
				Name: r.componentName(t, c.Name), Parallelism: parallelism,
				CPUCoresEach: c.CPUCoresTotal / Figure(parallelism), CPUCoresTotal: Unknown,
				OnHeapMiB: c.OnHeapMiB, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: Unknown,
				BusyMost: r.busyMost(configuration, c.Name),
			}
		})
	}
	return nil
}

// Settings that enable the spout and the bolt of bullet-dsl.
const (
	dslSpoutEnable = "bullet.topology.dsl.spout.enable"
	dslBoltEnable  = "bullet.topology.dsl.bolt.enable"
)

// componentName gives the DSL's spout a name of its own if it is used without the DSL's bolt. Bullet calls it
// DataSource, like its own spout, but the two have different settings. Otherwise a sizing would write the settings of
// the wrong one.
func (r *RunReport) componentName(t *TrialReport, name string) string {
	if name == "DataSource" && strings.EqualFold(r.setting(t, dslSpoutEnable), "true") &&
		!strings.EqualFold(r.setting(t, dslBoltEnable), "true") {
		return "DSL spout"
	}
	return name
}

// concurrency analyzes the steps of each configuration. It returns none if the axis is not queries.
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

// concurrencyOf analyzes the steps of a configuration. It returns nil for another axis or if no step has its CPU. The
// comparison of runs uses it, too, so that both documents state the same cost per query.
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
	return &NamedConcurrency{Concurrency: c, Rows: rows}, nil
}

// concurrency returns the place as a row of the analysis, with the means of its launches. It also contains each single
// measurement, because the interval of the cost is computed from the variation between launches.
func (m measured) concurrency() tuning.ConcurrencyRow {
	return tuning.ConcurrencyRow{Queries: int(m.value), Verdict: m.verdict(),
		AverageCPUMsPerMinute: m.mean(func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }),
		AverageResultSize:     m.mean(func(s *StepReport) Figure { return s.AverageResultSize }),
		Workers:               m.mean(func(s *StepReport) Figure { return Figure(s.Workers) }),
		TotalCPUMsPerMinute:   m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }),
		AverageGCMsPerMinute:  m.mean(func(s *StepReport) Figure { return s.AverageGCMsPerMinute }),
		Launches:              launchCosts(m.attempts), Mirrored: launchCosts(m.mirrored)}
}

// launchCosts returns the single measurements of a cost. The result is never nil, because nil marks a table from a
// user, which has no single measurements.
func launchCosts(steps []*StepReport) []tuning.LaunchCost {
	return tuning.Each(steps, func(s *StepReport) tuning.LaunchCost {
		return tuning.LaunchCost{
			AverageCPUMsPerMinute: s.AverageCPUMsPerMinute, TotalCPUMsPerMinute: s.TotalCPUMsPerMinute,
			Slices: s.slices,
		}
	})
}
