package report

import (
	"fmt"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// OfResources shows what a topology takes.
func OfResources(r *tuning.Resources) *Analysis {
	a := &Analysis{Title: "What the topology takes", notes: r.Notes}
	a.Findings = append(a.Findings,
		fmt.Sprintf("Totals: parallelism %s, %s CPU cores, %s MiB of memory.", tuning.Grouped(strconv.Itoa(r.Totals.Parallelism)), tuning.Digits(r.Totals.CPUCores), tuning.Digits(r.Totals.TotalMemoryMiB)),
		machines(r))
	a.Findings = append(a.Findings, auditFindings(r.Audit, r.AuditedTotals)...)
	if s := r.Spouts; s != nil {
		a.Findings = append(a.Findings, pendingText(s))
		if s.FilterBoltsPerSpout.Known() {
			a.Findings = append(a.Findings, fmt.Sprintf("Fan-out: %s filter bolts a spout.", tuning.Digits(s.FilterBoltsPerSpout)))
		}
		for _, w := range s.Warnings {
			a.Findings = append(a.Findings, "Warning: "+w+".")
		}
	}
	t := table{Heads: []string{"Component", "Parallelism", "CPU cores each", "CPU cores", "On-heap MiB", "Off-heap MiB", "Memory MiB", "Share of CPU", "Share of memory"},
		Numeric: []bool{false, true, true, true, true, true, true, true, true}}
	chart := Chart{Name: "resources", Title: "Each component's share of the topology's CPU cores and memory", xLabel: "share of the total", limit: Unknown}
	for _, c := range r.Components {
		t.Rows = append(t.Rows, []string{c.Component, strconv.Itoa(c.Parallelism), tuning.Digits(c.CPUCoresEach), tuning.Digits(c.CPUCores), tuning.Digits(c.OnHeapMiB),
			tuning.Digits(c.OffHeapMiB), tuning.Digits(c.TotalMemoryMiB), percent(c.CPUShare), percent(c.MemoryShare)})
		chart.bars = append(chart.bars, bar{c.Component, []Figure{c.CPUShare, c.MemoryShare}})
	}
	t.Rows = append(t.Rows, []string{"Total", strconv.Itoa(r.Totals.Parallelism), "", tuning.Digits(r.Totals.CPUCores), "", "", tuning.Digits(r.Totals.TotalMemoryMiB), "", ""})
	a.add("Components", t)
	a.add("Audit", auditTable(r.Audit))
	a.Charts = []Chart{chart}
	return a
}

// pendingText is how many records can be on their way.
func pendingText(s *tuning.SpoutPending) string {
	if s.MaxSpoutPending == 0 {
		return fmt.Sprintf("Nothing bounds the records of the %d spouts that are on their way: topology.max.spout.pending is not set.", s.Spouts)
	}
	return fmt.Sprintf("True max spout pending: %s records a spout (batches of %d x %d), %s in %d spouts.",
		tuning.Grouped(strconv.Itoa(s.RecordsPerSpout)), s.BatchSize, s.MaxSpoutPending, tuning.Grouped(strconv.Itoa(s.RecordsInAll)), s.Spouts)
}

// machinesUnknown stands for a number of machines where nothing is known of one.
const machinesUnknown = "Machines needed: not known, since nothing is known of the cluster's: give cluster.machines."

func machines(r *tuning.Resources) string {
	if r.Machines == 0 {
		return machinesUnknown
	}
	text := fmt.Sprintf("Machines: %d, limited by %s (%s cores / %s = %s", r.Machines, r.Limiting, tuning.Digits(r.Totals.CPUCores), tuning.Digits(r.Machine.CPUCores),
		tuning.Digits(r.Totals.CPUCores/r.Machine.CPUCores))
	if r.Machine.MemoryMiB.Known() {
		text += fmt.Sprintf("; %s MiB / %s = %s", tuning.Digits(r.Totals.TotalMemoryMiB), tuning.Digits(r.Machine.MemoryMiB), tuning.Digits(r.Totals.TotalMemoryMiB/r.Machine.MemoryMiB))
	}
	return text + ")."
}
