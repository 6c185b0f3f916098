package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// machine is what one machine of the topology has to give: this one on the local cluster, else what is known of the
// cluster's machines.
func (r *RunReport) machine() tuning.Machine {
	cores, usable, memory := r.Manifest.Machine.Cores, r.Manifest.Machine.UsableCores, r.Manifest.Machine.MemoryBytes
	if hostOfRun(r.plan) {
		c := r.Manifest.Cluster
		if c == nil || c.Cores <= 0 {
			return tuning.UnknownMachine()
		}
		cores, usable, memory = c.Cores, c.UsableCores, c.MemoryBytes
	}
	if !usable.Known() || usable <= 0 {
		usable = Figure(max(1, cores))
	}
	m := tuning.Machine{CPUCores: usable, MemoryMiB: Unknown}
	if memory > 0 {
		m.MemoryMiB = Figure(memory) / mib
	}
	return m
}

// measured is a configuration at one place of the axis, over all its launches.
type measured struct {
	value    float64
	verdicts []tuning.Verdict
	steps    []*StepReport
	// attempts are each time that it was measured well enough to be a point of what a query costs, mirrored those for
	// that alone.
	attempts, mirrored []*StepReport
	// forCost states that the place was measured for the cost alone: then steps are those of the cost.
	forCost bool
}

// places are the places of a configuration on the axis, in any order until they are sorted.
type places []measured

// at is the place at a value, added where it is new. The pointer is valid until the next call.
func (p *places) at(value float64) *measured {
	i := slices.IndexFunc(*p, func(m measured) bool { return m.value == value })
	if i < 0 {
		i = len(*p)
		*p = append(*p, measured{value: value})
	}
	return &(*p)[i]
}

// sorted are the places in the order of the axis, which the analyses rely on.
func (p places) sorted() []measured {
	slices.SortFunc(p, func(a, b measured) int { return cmp.Compare(a.value, b.value) })
	return p
}

// measured keeps, of each trial, the last attempt at each place, and puts those of a configuration together.
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
			m.verdicts = append(m.verdicts, t.verdictAt(s))
			if s.Kind == runstore.LoadStep {
				m.steps = append(m.steps, t.Report.stepAt(s.StartMs))
				m.attempts = append(m.attempts, t.attempts(s)...)
			}
		}
	}
	return all.sorted()
}

// withCosts are the places that the search for the capacity measured, and those of the loads that were measured for
// what a query costs alone. Of the latter those that were OK are points of the cost.
func (r *RunReport) withCosts(configuration int) []measured {
	all := places(r.measured(configuration))
	for _, t := range r.trialsOf(configuration) {
		for _, s := range t.Steps {
			if t.Report == nil || s.Kind != runstore.CostStep {
				continue
			}
			step, m := t.Report.stepAt(s.StartMs), all.at(s.Value)
			if len(m.verdicts) == 0 {
				m.forCost, m.verdicts = true, []tuning.Verdict{tuning.Inconclusive}
			}
			if m.forCost {
				m.steps = append(m.steps, step)
			}
			if s.Verdict != tuning.OK {
				continue
			}
			m.mirrored = append(m.mirrored, step)
			if m.forCost {
				m.verdicts[0] = tuning.OK
			}
		}
	}
	return all.sorted()
}

// attempts are the steps at a step's place that were OK. A load that was measured more than once in a launch shows how
// far the topology drifts, so all of them are points of what a query costs.
func (t TrialReport) attempts(last TrialStep) (all []*StepReport) {
	for _, s := range t.Steps {
		if s.Kind == last.Kind && s.Value == last.Value && s.Verdict == tuning.OK {
			all = append(all, t.Report.stepAt(s.StartMs))
		}
	}
	return all
}

// verdict is one for all launches: what they agree on, else inconclusive. A load that only one of the launches held is
// not a load that the configuration holds.
func (m measured) verdict() tuning.Verdict { return tuning.Agreed(m.verdicts) }

// usedCores are the cores that all workers used together, as the mean of the launches. It is 0 and not unknown where
// nobody measured it, because tuning takes 0 for "not stated" in its tables.
func (m measured) usedCores() Figure {
	used := m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute / Figure(minuteMs) })
	if !(used > 0) {
		return 0
	}
	return used
}

// mean is a figure as the mean of the launches that know it.
func (m measured) mean(figure func(*StepReport) Figure) Figure {
	return runstore.Average(each(m.steps, figure))
}

// size is what a configuration takes: what it requests from the scheduler or, where it reported nothing, the CPU that
// it used at most. The note says which.
type size struct {
	cores, memoryMiB Figure
	filterBolts      int
	note             string
	// used is what its workers used at the last step that held, the mean of its launches; unknown where nobody
	// measured.
	used Figure
}

// measuredCores are the cores that it used, with a note that says so. They are preferred to the requested ones, because
// only a scheduler goes by a request.
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

// lastOK is the trial's step with the largest load that was OK; nil where none was.
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
	for _, t := range r.trialsOf(configuration) {
		last := t.lastOK()
		if last == nil || last.Evidence == nil {
			continue
		}
		for _, b := range last.Evidence.Bolts {
			if b.Component == component && b.BusyMost > most {
				most = b.BusyMost
			}
		}
	}
	return most
}

// size puts together what the launches of a configuration know of its size. The machine in the calculation is a dummy
// of one core, since only the totals are used here.
func (r *RunReport) size(configuration int) size {
	s := size{cores: Unknown, memoryMiB: Unknown}
	used := Unknown
	var held []Figure
	for _, t := range r.trialsOf(configuration) {
		s.filterBolts = max(s.filterBolts, filterBoltsOf(*t))
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

// filterParallelism is Bullet's setting of the number of filter bolts, which the recommendation writes and an older run
// is read by.
const filterParallelism = "bullet.topology.filter.bolt.parallelism"

// filterBoltsOf is how many filter bolts the trial had: what the topology reported, else what its settings say. 0 means
// that it is not known.
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

// components are what a configuration consists of, CPU and heap by instance. All launches of a configuration request
// the same, so the first that reported it counts; none where no topology reported it.
func (r *RunReport) components(configuration int) []tuning.Component {
	for _, t := range r.trialsOf(configuration) {
		if t.Report == nil || t.Report.Requested == nil {
			continue
		}
		return each(t.Report.Requested.Components, func(c runstore.Component) tuning.Component {
			parallelism := max(1, c.Parallelism)
			return tuning.Component{
				Name: r.componentName(*t, c.Name), Parallelism: parallelism,
				CPUCoresEach: c.CPUCoresTotal / Figure(parallelism), CPUCoresTotal: Unknown,
				OnHeapMiB: c.OnHeapMiB, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: Unknown,
				BusyMost: r.busyMost(configuration, c.Name),
			}
		})
	}
	return nil
}

// The settings that make DataSource the DSL's.
const (
	dslSpoutEnable = "bullet.topology.dsl.spout.enable"
	dslBoltEnable  = "bullet.topology.dsl.bolt.enable"
)

// componentName distinguishes the DSL's spout that stands alone from Bullet's own: Bullet calls both DataSource, and
// they have settings of their own. A sizing would otherwise write the settings of the wrong one.
func (r *RunReport) componentName(t TrialReport, name string) string {
	if name == "DataSource" && strings.EqualFold(r.setting(t, dslSpoutEnable), "true") &&
		!strings.EqualFold(r.setting(t, dslBoltEnable), "true") {
		return "DSL spout"
	}
	return name
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

// concurrencyOf judges a configuration's steps. It is nil on another axis, or where no step has its CPU. The comparison
// of runs uses it too, so that a query costs the same in both documents.
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

// concurrency is the place as a row of the analysis: the means of its launches. Each single measurement is there too,
// because the interval of the cost is made from the variation between launches.
func (m measured) concurrency() tuning.ConcurrencyRow {
	return tuning.ConcurrencyRow{Queries: int(m.value), Verdict: m.verdict(),
		AverageCPUMsPerMinute: m.mean(func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }),
		AverageResultSize:     m.mean(func(s *StepReport) Figure { return s.AverageResultSize }),
		Workers:               m.mean(func(s *StepReport) Figure { return Figure(s.Workers) }),
		TotalCPUMsPerMinute:   m.mean(func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }),
		AverageGCMsPerMinute:  m.mean(func(s *StepReport) Figure { return s.AverageGCMsPerMinute }),
		Launches:              launchCosts(m.attempts), Mirrored: launchCosts(m.mirrored)}
}

// launchCosts are the single measurements of a cost, none where no step was OK. They are never nil: nil is a table that
// somebody brings, which does not have them.
func launchCosts(steps []*StepReport) []tuning.LaunchCost {
	return each(steps, func(s *StepReport) tuning.LaunchCost {
		return tuning.LaunchCost{
			AverageCPUMsPerMinute: s.AverageCPUMsPerMinute, TotalCPUMsPerMinute: s.TotalCPUMsPerMinute,
			Slices: s.slices,
		}
	})
}
