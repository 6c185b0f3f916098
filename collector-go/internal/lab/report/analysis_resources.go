package report

import (
	"fmt"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// OfResources shows what a topology takes.
func OfResources(r *tuning.Resources) *document.Document {
	d := &document.Document{Title: "What the topology takes", Notes: r.Notes}
	d.Findings = append(d.Findings,
		fmt.Sprintf("Totals: parallelism %s, %s CPU cores, %s MiB of memory.",
			grouped(r.Totals.Parallelism), tuning.Digits(r.Totals.CPUCores), tuning.Digits(r.Totals.TotalMemoryMiB)),
		machines(r))
	d.Findings = append(d.Findings, auditFindings(r.Audit, r.AuditedTotals)...)
	if s := r.Spouts; s != nil {
		d.Findings = append(d.Findings, pendingText(s))
		if s.FilterBoltsPerSpout.Known() {
			bolts := "filter bolts"
			if s.FilterBoltsPerSpout == 1 {
				bolts = "filter bolt"
			}
			d.Findings = append(d.Findings,
				fmt.Sprintf("Fan-out: %s %s a spout.", tuning.Digits(s.FilterBoltsPerSpout), bolts))
		}
		for _, w := range s.Warnings {
			d.Findings = append(d.Findings, "Warning: "+w+".")
		}
	}
	type component = tuning.ComponentShare
	t := document.TableOf(r.Components,
		document.Text("Component", func(c component) string { return c.Component }),
		wholeColumn("Parallelism", func(c component) int { return c.Parallelism }),
		digitsColumn("CPU cores each", "", func(c component) Figure { return c.CPUCoresEach }),
		digitsColumn("CPU cores", "", func(c component) Figure { return c.CPUCores }),
		digitsColumn("On-heap", "MiB", func(c component) Figure { return c.OnHeapMiB }),
		digitsColumn("Off-heap", "MiB", func(c component) Figure { return c.OffHeapMiB }),
		digitsColumn("Memory", "MiB", func(c component) Figure { return c.TotalMemoryMiB }),
		percentColumn("Share of CPU", func(c component) Figure { return c.CPUShare }),
		percentColumn("Share of memory", func(c component) Figure { return c.MemoryShare }),
	)
	t.Add("Total", strconv.Itoa(r.Totals.Parallelism), "", tuning.Digits(r.Totals.CPUCores), "", "",
		tuning.Digits(r.Totals.TotalMemoryMiB), "", "")
	d.Add("Components", document.Tabled(t))
	d.Add("Audit", document.Tabled(auditTable(r.Audit)))
	bars := chart.Bars{
		Name: "resources", Title: "Each component's share of the topology's CPU cores and " +
			"memory", XLabel: "share of the total",
		Shares: []string{"CPU cores", "memory"},
	}
	for _, c := range r.Components {
		bars.Rows = append(bars.Rows,
			chart.Bar{Name: c.Component, Shares: []float64{float64(c.CPUShare), float64(c.MemoryShare)}})
	}
	d.Figures = []chart.Figure{bars.Figure()}
	return d
}

// pendingText is how many records can be on their way.
func pendingText(s *tuning.SpoutPending) string {
	if s.MaxSpoutPending == 0 {
		return fmt.Sprintf(
			"Nothing bounds the records of the %d spouts that are on their way: topology.max.spout.pending is not set.",
			s.Spouts)
	}
	return fmt.Sprintf("True max spout pending: %s records a spout (batches of %d x %d), %s in %d spouts.",
		grouped(s.RecordsPerSpout), s.BatchSize, s.MaxSpoutPending, grouped(s.RecordsInAll), s.Spouts)
}

// machinesUnknown stands for a number of machines where nothing is known of one.
const machinesUnknown = "Machines needed: not known, since nothing is known of the cluster's: give cluster.machines."

func machines(r *tuning.Resources) string {
	if r.Machines == 0 {
		return machinesUnknown
	}
	text := fmt.Sprintf("Machines: %d, limited by %s (%s cores / %s = %s", r.Machines, r.Limiting,
		tuning.Digits(r.Totals.CPUCores), tuning.Digits(r.Machine.CPUCores),
		tuning.Digits(r.Totals.CPUCores/r.Machine.CPUCores))
	if r.Machine.MemoryMiB.Known() {
		text += fmt.Sprintf("; %s MiB / %s = %s", tuning.Digits(r.Totals.TotalMemoryMiB),
			tuning.Digits(r.Machine.MemoryMiB), tuning.Digits(r.Totals.TotalMemoryMiB/r.Machine.MemoryMiB))
	}
	return text + ")."
}

// requestBlocks are what the topology requests of the scheduler.
func (r *Report) requestBlocks(machine tuning.Machine) []document.Block {
	if r.Requested == nil {
		return nil
	}
	resources, err := r.Requested.Resources(machine)
	if err != nil {
		return []document.Block{document.Paragraph("The components' table cannot be added up: %v.", err)}
	}
	d := OfResources(resources)
	d.Figures = nil
	return d.Blocks()
}
