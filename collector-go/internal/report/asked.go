package report

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// resources adds up and audits what the topology asks of the scheduler; nil where it did not tell. What is not set of CPU counts as 0 and is
// noted, since a scheduler that is not resource-aware asks for nothing.
func (a *Asked) resources(machine tuning.Machine) (*tuning.Resources, error) {
	var components []tuning.Component
	var unset []string
	for _, c := range a.Components {
		cpu, memory := c.CPUCoresTotal, c.OnHeapMiB
		if !cpu.Known() {
			cpu, unset = 0, append(unset, c.Name)
		}
		if !memory.Known() && !c.MemoryMiB.Known() {
			memory = 0
		}
		components = append(components, tuning.Component{Name: c.Name, Parallelism: max(1, c.Parallelism), CPUCoresTotal: cpu, CPUCoresEach: Unknown,
			OnHeapMiB: memory, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: c.MemoryMiB})
	}
	totals := a.Totals
	totals.CPUColumn = tuning.ColumnCPUTotal
	r, err := tuning.AnalyzeResources(components, &totals, machine)
	if err != nil {
		return nil, err
	}
	if len(unset) > 0 {
		r.Notes = append(r.Notes, "no CPU is asked for by "+strings.Join(unset, ", "))
	}
	r.Spouts = a.Spouts
	return r, nil
}

// analysis is the table of components with its totals, audit, machines and true max spout pending.
func (a *Asked) analysis(machine tuning.Machine) (*Analysis, error) {
	r, err := a.resources(machine)
	if err != nil {
		return nil, err
	}
	return OfResources(r), nil
}

// blocks are an analysis' parts as those of a section.
func (a *Analysis) blocks() []block {
	out := []block{list(a.Findings)}
	for _, s := range a.tables {
		body := tabled(s.table)
		if len(s.lines) > 0 {
			body = verbatim(strings.Join(s.lines, "\n"))
		}
		out = append(out, heading4(s.title), body)
	}
	for i := range a.Charts {
		out = append(out, drawn(a.Charts[i].drawing()))
	}
	return append(out, list(a.notes))
}

func (r *Report) askedBlocks(machine tuning.Machine) []block {
	if r.Asked == nil {
		return nil
	}
	a, err := r.Asked.analysis(machine)
	if err != nil {
		return []block{paragraph("The components' table cannot be added up: %v.", err)}
	}
	a.Charts = nil
	return a.blocks()
}

// machine is what one machine has to give, as far as the evidence tells; one core where it does not.
func (r *Report) machine() tuning.Machine {
	m := tuning.Machine{CPUCores: 1, MemoryMiB: Unknown}
	for _, s := range r.Steps {
		if s.Evidence != nil && s.Evidence.Host.Cores.Known() && !s.Evidence.Host.OfClient {
			m.CPUCores = s.Evidence.Host.Cores
		}
	}
	return m
}

// evidenceTable is what limited the steps, and the evidence that people look for first.
func (r *Report) evidenceTable() table {
	t := table{Heads: []string{r.stepHead(), "Verdict", "Limited by", "Busiest filter", "GC of time", "Spouts held back", "Source behind, records/s", "Active at most", "Workers restarted", idleHead(r.host())},
		Numeric: []bool{true, false, false, true, true, true, true, true, true, true}}
	for _, s := range r.Steps {
		if s.Evidence != nil && s.Limitation != nil {
			t.Rows = append(t.Rows, append([]string{r.stepCell(s), string(s.Verdict), s.limiterCell()}, evidenceCells(s)...))
		}
	}
	return t.withoutBlank()
}

// limiterCell names what limited the step; one that held its goals needs no excuse.
func (s StepReport) limiterCell() string {
	if s.Limitation == nil || s.Verdict == tuning.OK && !s.Limitation.Known() {
		return "–"
	}
	return limitedBy(*s.Limitation)
}

// limitedBy names the limiters in a cell.
func limitedBy(l tuning.Limitation) string {
	switch {
	case l.Known():
		var names []string
		for _, name := range l.Limiters {
			names = append(names, string(name))
		}
		return strings.Join(names, ", ")
	case len(l.Missing) > 0 || len(l.Contradictions) > 0:
		return "cannot tell"
	}
	return "nothing"
}

func evidenceCells(s StepReport) []string {
	e, busy := *s.Evidence, Unknown
	for _, b := range e.Bolts {
		if b.Component == tuning.FilterBolt {
			busy = b.BusyMost
		}
	}
	held := e.Spout.HeldByPending
	if e.Spout.HeldByBackPressure.Known() {
		held += e.Spout.HeldByBackPressure
	}
	return []string{percent(busy), percent(e.GC.ShareOfTime), percent(held), number(e.Source.LagGrowth, 1), number(e.Queries.ActiveMost, 0),
		number(e.Workers.Restarts, 0), percent(s.HostIdle)}
}

// doubts say what is missing where a step missed its goals for no known reason, and which records are where it met them.
func (r *Report) doubts() (out []string) {
	for _, s := range r.Steps {
		if s.Limitation != nil && !s.Limitation.Known() && s.Verdict == tuning.Fail {
			out = append(out, fmt.Sprintf("%s: what limited the step: %s.", stepName(s), s.Limitation.Text))
		}
	}
	return append(out, r.missing()...)
}
