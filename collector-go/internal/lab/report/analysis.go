package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// The analyses turn what tuning computed into documents. They compute no figure of their own, so that a run's report
// and tune analyze, which both use them, cannot state different numbers.

// coresOfTopology labels the axes of charts over a topology's cores.
const coresOfTopology = "CPU cores of the topology"

// measuredPoints returns rows as the points of a chart. An unknown figure stays NaN.
func measuredPoints[T any](name string, colour int, rows []T, x, y func(T) Figure) chart.Points {
	return chart.Points{
		Name: name, Colour: chart.Series(colour), X: values(tuning.Each(rows, x)), Y: values(tuning.Each(rows, y)),
	}
}

// newPlot returns a chart without a limit.
func newPlot(name, title, xLabel, yLabel string, points ...chart.Points) chart.Plot {
	return chart.Plot{
		Name: name, Title: title, XLabel: xLabel, YLabel: yLabel, Limit: chart.NoLimit, Points: points,
	}
}

// joined returns a line through points, to be drawn below them. The line has no name, so that only the points are in
// the legend, and it has no hollow points.
func joined(points chart.Points) chart.Points {
	points.Name, points.Full, points.Joined = "", nil, true
	return points
}

// withoutNote returns an estimate without its note, which is in the section of the analysis.
func withoutNote(e tuning.Estimate) tuning.Estimate {
	e.Note = ""
	return e
}

// fitOver draws a line that was fitted to points at some x values. It is solid between the smallest and the largest of
// them, and dashed beyond, as far as [from, to] reaches. Every chart with a fit uses this function, so that a reader
// never takes an extrapolation for a measurement.
func fitOver(name string, colour int, fitted []float64, from, to float64, at func(float64) Figure) []chart.Points {
	line := func(name string, from, to float64) chart.Points {
		return chart.Straight(name, chart.Series(colour), from, to, func(x float64) float64 { return float64(at(x)) })
	}
	low, high := slices.Min(fitted), slices.Max(fitted)
	all := []chart.Points{line(name, low, high)}
	for _, beyond := range [][2]float64{{from, low}, {high, to}} {
		if beyond[0] < beyond[1] {
			dashed := line("", beyond[0], beyond[1])
			if dashed.Dashed = true; len(all) == 1 {
				dashed.Name = "extrapolated"
			}
			all = append(all, dashed)
		}
	}
	return all
}

// demandChart draws the smallest number of cores that held each load, as Theodolite does. The cores are NaN for a load
// that no measured configuration held. An arrow above the largest measured number of cores shows such a load, because
// its cores are unknown but larger.
func demandChart(name, xLabel string, loads, cores []float64) chart.Plot {
	line := chart.Points{Name: "fewest cores", Colour: chart.Series(0), Joined: true}
	dots := chart.Points{Colour: chart.Series(0)}
	more := chart.Points{Name: "not held by any configuration", Colour: chart.Series(1), Low: []float64{}}
	from, most := 0.0, 0.0
	for i, load := range loads {
		if math.IsNaN(cores[i]) {
			more.X, more.Low, more.High = append(more.X, load), append(more.Low, most), append(more.High, math.Inf(1))
			continue
		}
		line.X, line.Y = append(line.X, from, load), append(line.Y, cores[i], cores[i])
		dots.X, dots.Y = append(dots.X, load), append(dots.Y, cores[i])
		from, most = load, max(most, cores[i])
	}
	plot := newPlot(name, "Demand: the fewest cores that held each load", xLabel, coresOfTopology, line, dots)
	if len(more.X) > 0 {
		plot.Points = append(plot.Points, more)
	}
	return plot
}

// addAudit adds a finding: how many of the totals that a table states agree with its rows. A section has the totals
// that do not.
func addAudit(d *document.Document, findings []tuning.Finding, audited int) {
	d.AddTable("Audit", auditTable(findings))
	switch {
	case audited == 0:
		return
	case len(findings) == 0:
		d.Find("Audit: all %d stated totals equal the sums of their rows.", audited)
		return
	}
	counts := map[tuning.Verdict]int{}
	for _, f := range findings {
		counts[f.Verdict]++
	}
	d.Find("Audit: of %d stated totals, %d are wrong and %d are partial.", audited, counts[tuning.Wrong],
		counts[tuning.Partial])
}

// auditTable has a row for each stated total that does not agree with its rows, with its line in the file. A total is
// wrong if its rows contradict it, and partial if some of its rows are missing.
func auditTable(findings []tuning.Finding) document.Table {
	type finding = tuning.Finding
	return document.TableOf(findings,
		document.Text("Total", func(f finding) string { return f.What }),
		document.Number("Line", "", func(f finding) string {
			return knownOr(f.Line != 0, func() string { return strconv.Itoa(f.Line) })
		}),
		digitsColumn("Stated", "", func(f finding) Figure { return f.Stated }),
		digitsColumn("Sum of the rows", "", func(f finding) Figure { return f.Computed }),
		document.Text("Audit", func(f finding) string { return string(f.Verdict) }),
		document.Text("Reason", func(f finding) string { return f.Reason }),
	)
}

// OfResources returns the document about the resources of a topology: its components with their shares, the number of
// machines, and how many records its spouts may have pending. It is used for a table that a user provides and for the
// components that a topology reported.
func OfResources(r *tuning.Resources) *document.Document {
	d := &document.Document{Title: "Resources of the topology", Notes: r.Notes}
	type component = tuning.ComponentShare
	t := document.TableOf(r.Components,
		document.Text("Component", func(c component) string { return c.Component }),
		countColumn("Parallelism", func(c component) int { return c.Parallelism }),
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
	d.AddTable("Components", t)
	d.Find("Totals: parallelism %s, %s CPU cores, %s MiB of memory.", tuning.Count(r.Totals.Parallelism),
		tuning.Digits(r.Totals.CPUCores), tuning.Digits(r.Totals.TotalMemoryMiB))
	d.Find("%s", machines(r))
	addAudit(d, r.Audit, r.AuditedTotals)
	if s := r.Spouts; s != nil {
		d.Find("%s", pendingText(s))
		if bolts := s.FilterBoltsPerSpout; bolts == 1 {
			d.Find("Fan-out: 1 filter bolt per spout.")
		} else if bolts.Known() {
			d.Find("Fan-out: %s filter bolts per spout.", tuning.Digits(bolts))
		}
		for _, w := range s.Warnings {
			d.Find("Warning: %s.", w)
		}
	}
	d.Draw(chart.Bars{
		Name: "resources", Title: "Share of each component in the CPU cores and memory of the topology",
		XLabel: "share of the total", Shares: []string{"CPU cores", "memory"},
		Rows: tuning.Each(r.Components, func(c component) chart.Bar {
			return chart.Bar{Name: c.Component, Shares: []float64{float64(c.CPUShare), float64(c.MemoryShare)}}
		}),
	})
	return d
}

// pendingText says how many records can be pending.
func pendingText(s *tuning.SpoutPending) string {
	if s.MaxSpoutPending == 0 {
		return fmt.Sprintf("The pending records of the %d spouts have no limit, because topology.max.spout.pending "+
			"is not set.", s.Spouts)
	}
	return fmt.Sprintf("True max spout pending: %s records per spout (batches of %d x %d), %s for all %d spouts.",
		tuning.Count(s.RecordsPerSpout), s.BatchSize, s.MaxSpoutPending, tuning.Count(s.RecordsInAll), s.Spouts)
}

// machinesUnknown replaces the number of machines if the size of a machine is unknown.
const machinesUnknown = "The number of machines is unknown, because the machines of the cluster are unknown: set cluster.machines."

// machines says how many machines the topology needs. It shows the division that leads to the number, so that a reader
// can redo it for another machine.
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

// requestBlocks returns the resource request of the topology without the figure, because each trial has one and the
// table has the same content. A request that cannot be added up becomes a sentence and does not fail the report.
func (r *Report) requestBlocks(machine tuning.Machine) []document.Block {
	if r.Requested == nil {
		return nil
	}
	resources, err := r.Requested.Resources(machine)
	if err != nil {
		return []document.Block{document.Paragraph("The resource request cannot be added up: %v.", err)}
	}
	d := OfResources(resources)
	d.Figures = nil
	return d.Blocks()
}

// fitted is one of the three lines over cores (records, data volume, memory) with the names for its texts and the
// values of each volume.
type fitted struct {
	name, title, unit, perCore string
	line                       tuning.Line
	value, residual            func(tuning.Volume) Figure
}

// coresOf returns the cores that the fits use: the used cores if they are known, else the declared ones.
func coresOf(v tuning.Volume) Figure { return v.Cores() }

// fittedOf returns the three lines in the order of display.
func fittedOf(d *tuning.Data) []fitted {
	type volume = tuning.Volume
	return []fitted{
		{"data-records", "Records per second over the cores of the topology", "records/s", "R/s per core",
			d.Fits.RecordsPerCore, func(v volume) Figure { return v.RecordsPerS },
			func(v volume) Figure { return v.ResidualRecords }},
		{"data-volume", "Data volume over the cores of the topology", "MiB/s", "MiB/s per core", d.Fits.MiBPerCore,
			func(v volume) Figure { return v.DataMiBPerS }, func(v volume) Figure { return v.ResidualMiB }},
		{"data-memory", "Memory over the cores of the topology", "GiB", "GiB per core", d.Fits.GiBPerCore,
			func(v volume) Figure { return v.TotalMemoryMiB / 1024 }, func(v volume) Figure { return v.ResidualGiB }},
	}
}

// OfData returns the document about how many records, how much data and how much memory go with one core. Each line is
// fitted twice: by least squares, and through the origin as in Bullet's tuning document.
func OfData(data *tuning.Data) *document.Document {
	d := &document.Document{Title: "Data scaling: records, data and memory per core", Notes: data.Notes}
	fits := fittedOf(data)
	for _, f := range fits {
		slope := tuning.Estimate{Value: f.line.Slope, Low: f.line.Low, High: f.line.High}
		origin := tuning.Estimate{
			Value: f.line.ThroughOrigin, Low: f.line.ThroughOriginLow, High: f.line.ThroughOriginHigh,
		}
		d.Find("%s: %s by least squares, R-squared %s; %s through the origin.%s", f.perCore,
			slope.Text(data.Confidence, ""), tuning.Digits(f.line.R2), origin.Text(data.Confidence, ""),
			tuning.InBrackets(f.line.Note))
		d.Draw(f.chart(data))
	}
	if len(data.Rows) > 1 {
		loads := tuning.Each(data.Rows, func(v tuning.Volume) Figure { return v.RecordsPerS })
		d.Draw(demandChart("data-demand", "records/s", values(loads), values(tuning.Each(data.Rows, coresOf))))
	}
	d.AddTable("Fits over cores, with intervals of "+tuning.ConfidencePercent(data.Confidence), document.TableOf(fits,
		document.Text("Fit", func(f fitted) string { return f.perCore }),
		digitsColumn("Least squares", "", func(f fitted) Figure { return f.line.Slope }),
		document.Number("Interval", "", func(f fitted) string { return tuning.Between(f.line.Low, f.line.High) }),
		document.Number("Intercept", "", func(f fitted) string { return tuning.Digits(f.line.Intercept) + " " + f.unit }),
		digitsColumn("R-squared", "", func(f fitted) Figure { return f.line.R2 }),
		document.Number("Scatter around the line", "",
			func(f fitted) string { return tuning.Digits(f.line.ResidualDeviation) + " " + f.unit }),
		digitsColumn("Through the origin", "", func(f fitted) Figure { return f.line.ThroughOrigin }),
		document.Number("Interval", "",
			func(f fitted) string { return tuning.Between(f.line.ThroughOriginLow, f.line.ThroughOriginHigh) }),
	))
	d.AddTable("Volumes, with their ratios and the residuals of the least-squares lines", volumeTable(data))
	addAudit(d, data.Audit, data.AuditedTotals)
	return d
}

// volumeTable has a row for each volume with its own ratios. If used cores are known, they are shown beside the
// declared ones, because the fits then use them.
func volumeTable(d *tuning.Data) document.Table {
	type volume = tuning.Volume
	columns := []document.Of[volume]{
		digitsColumn("MiB/s", "", func(v volume) Figure { return v.DataMiBPerS }),
		digitsColumn("Records/s", "", func(v volume) Figure { return v.RecordsPerS }),
		digitsColumn("CPU cores", "", func(v volume) Figure { return v.TotalCPUCores }),
		digitsColumn("Memory", "MiB", func(v volume) Figure { return v.TotalMemoryMiB }),
		digitsColumn("R/s per core", "", func(v volume) Figure { return v.RecordsPerCore }),
		digitsColumn("MiB/s per core", "", func(v volume) Figure { return v.MiBPerCore }),
		digitsColumn("GiB per core", "", func(v volume) Figure { return v.GiBPerCore }),
		digitsColumn("Bytes per record", "", func(v volume) Figure { return v.RecordBytes }),
		digitsColumn("Residual", "R/s", func(v volume) Figure { return v.ResidualRecords }),
		digitsColumn("Residual", "MiB/s", func(v volume) Figure { return v.ResidualMiB }),
		digitsColumn("Residual", "GiB", func(v volume) Figure { return v.ResidualGiB }),
	}
	if slices.ContainsFunc(d.Rows, func(v volume) bool { return v.UsedCPUCores > 0 }) {
		columns[2].Head = "Cores declared"
		columns = slices.Insert(columns, 3, digitsColumn("Cores used", "", coresOf))
	}
	return document.TableOf(d.Rows, columns...)
}

// chart draws the measured volumes and both lines. The lines end slightly beyond the largest volume, so that its point
// is not on the border.
func (f fitted) chart(d *tuning.Data) chart.Plot {
	points := measuredPoints("measured", 0, d.Rows, coresOf, f.value)
	plot := newPlot(f.name, f.title, coresOfTopology, f.unit, points)
	line := func(name string, colour int, at func(float64) Figure) {
		plot.Points = append(plot.Points, fitOver(name, colour, points.X, 0, 1.02*slices.Max(points.X), at)...)
	}
	if f.line.Slope.Known() {
		line(fmt.Sprintf("least squares: %s %s", tuning.Digits(f.line.Slope), f.perCore), 1, f.line.At)
	}
	if f.line.ThroughOrigin.Known() {
		line("through the origin: "+tuning.Digits(f.line.ThroughOrigin), 2,
			func(x float64) Figure { return f.line.ThroughOrigin * Figure(x) })
	}
	return plot
}

// residualChart draws the difference between each volume and the least-squares line, as a percentage of the measured
// value.
func residualChart(d *tuning.Data) chart.Plot {
	plot := newPlot("data-residuals", "Residuals: each volume compared with its least-squares line", coresOfTopology,
		"% of the measured value")
	for i, f := range fittedOf(d) {
		share := func(v tuning.Volume) Figure { return 100 * f.residual(v) / f.value(v) }
		plot.Points = append(plot.Points, measuredPoints(f.unit, i, d.Rows, coresOf, share))
	}
	return plot
}
