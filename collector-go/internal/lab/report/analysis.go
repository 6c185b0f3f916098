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

// measuredPoints are measured points, with the rows' figures as their places.
func measuredPoints[T any](name string, colour int, rows []T, x, y func(T) Figure) chart.Points {
	points := chart.Points{Name: name, Colour: chart.Series(colour)}
	for _, row := range rows {
		points.X, points.Y = append(points.X, float64(x(row))), append(points.Y, float64(y(row)))
	}
	return points
}

// fitOver is a line that was fitted to points at some places: solid from the first of them to the last, and dashed
// beyond these, as far as [from, to] reaches. Every figure with a fit draws it by this, over the points that it is of.
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
				dashed.Name = "beyond what was measured"
			}
			all = append(all, dashed)
		}
	}
	return all
}

// demandChart is the least that held each load, as Theodolite has it: NaN where nothing that was run held it, which an
// arrow above the most that was run shows.
func demandChart(name, xLabel string, loads, cores []float64) chart.Plot {
	line := chart.Points{Name: "least cores", Colour: chart.Series(0), Joined: true}
	dots := chart.Points{Colour: chart.Series(0)}
	more := chart.Points{Name: "more than was run", Colour: chart.Series(1), Low: []float64{}}
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
	plot := chart.Plot{
		Name: name, Title: "Demand: the least cores that held each load", XLabel: xLabel, YLabel: coresOfTopology,
		Limit: chart.NoLimit, Points: []chart.Points{line, dots},
	}
	if len(more.X) > 0 {
		plot.Points = append(plot.Points, more)
	}
	return plot
}

const coresOfTopology = "CPU cores of the topology"

// auditFindings are what the audit found as sentences.
func auditFindings(findings []tuning.Finding, audited int) []string {
	if audited == 0 {
		return nil
	}
	if len(findings) == 0 {
		return []string{fmt.Sprintf("Audit: all %d stated totals follow from their rows.", audited)}
	}
	counts := map[tuning.Verdict]int{}
	for _, f := range findings {
		counts[f.Verdict]++
	}
	return []string{
		fmt.Sprintf("Audit: of %d stated totals %d are wrong and %d partial.", audited, counts[tuning.Wrong],
			counts[tuning.Partial]),
	}
}

func auditTable(findings []tuning.Finding) document.Table {
	type finding = tuning.Finding
	return document.TableOf(findings,
		document.Text("Total", func(f finding) string { return f.What }),
		document.Number("Line", "", func(f finding) string {
			if f.Line == 0 {
				return document.Unknown
			}
			return strconv.Itoa(f.Line)
		}),
		digitsColumn("Stated", "", func(f finding) Figure { return f.Stated }),
		digitsColumn("Rows add up to", "", func(f finding) Figure { return f.Computed }),
		document.Text("Audit", func(f finding) string { return string(f.Verdict) }),
		document.Text("Reason", func(f finding) string { return f.Reason }),
	)
}

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

// fitted is one of the three lines over cores, with how people read it.
type fitted struct {
	name, title, unit, perCore string
	line                       tuning.Line
	value, residual            func(tuning.Volume) Figure
}

func coresOf(v tuning.Volume) Figure { return v.Cores() }

func fittedOf(d *tuning.Data) []fitted {
	return []fitted{
		{
			"data-records", "Records a second over the topology's " +
				"cores", "records/s", "R/s per core", d.Fits.RecordsPerCore,
			func(v tuning.Volume) Figure { return v.RecordsPerS },
			func(v tuning.Volume) Figure { return v.ResidualRecords },
		},
		{
			"data-volume", "Data volume over the topology's cores", "MiB/s", "MiB/s per core", d.Fits.MiBPerCore,
			func(v tuning.Volume) Figure { return v.DataMiBPerS },
			func(v tuning.Volume) Figure { return v.ResidualMiB },
		},
		{
			"data-memory", "Memory over the topology's cores", "GiB", "GiB per core", d.Fits.GiBPerCore,
			func(v tuning.Volume) Figure { return v.TotalMemoryMiB / 1024 },
			func(v tuning.Volume) Figure { return v.ResidualGiB },
		},
	}
}

// OfData shows what a core carries.
func OfData(d *tuning.Data) *document.Document {
	out := &document.Document{Title: "Data scaling: what a core carries", Notes: d.Notes}
	fits := fittedOf(d)
	for _, f := range fits {
		l := f.line
		slope := tuning.Estimate{Value: l.Slope, Low: l.Low, High: l.High}
		origin := tuning.Estimate{Value: l.ThroughOrigin, Low: l.ThroughOriginLow, High: l.ThroughOriginHigh}
		out.Findings = append(out.Findings,
			fmt.Sprintf("%s: %s by least squares, R-squared %s; %s through the origin.%s", f.perCore,
				slope.Text(d.Confidence, ""), tuning.Digits(l.R2), origin.Text(d.Confidence, ""),
				tuning.InBrackets(l.Note)))
		out.Figures = append(out.Figures, f.chart(d).Figure())
	}
	if len(d.Rows) > 1 {
		var loads, cores []float64
		for _, v := range d.Rows {
			loads, cores = append(loads, float64(v.RecordsPerS)), append(cores, float64(v.Cores()))
		}
		out.Figures = append(out.Figures, demandChart("data-demand", "records/s", loads, cores).Figure())
	}
	out.Findings = append(out.Findings, auditFindings(d.Audit, d.AuditedTotals)...)
	out.Add("Fits over cores, intervals of "+tuning.ConfidencePercent(d.Confidence), document.Tabled(document.TableOf(
		fits,
		document.Text("Fit", func(f fitted) string { return f.perCore }),
		digitsColumn("Least squares", "", func(f fitted) Figure { return f.line.Slope }),
		document.Number("Interval", "", func(f fitted) string { return tuning.Between(f.line.Low, f.line.High) }),
		document.Number("Intercept", "",
			func(f fitted) string { return tuning.Digits(f.line.Intercept) + " " + f.unit }),
		digitsColumn("R-squared", "", func(f fitted) Figure { return f.line.R2 }),
		document.Number("Scatter about the line", "", func(f fitted) string {
			return tuning.Digits(f.line.ResidualDeviation) + " " + f.unit
		}),
		digitsColumn("Through the origin", "", func(f fitted) Figure { return f.line.ThroughOrigin }),
		document.Number("Interval", "", func(f fitted) string {
			return tuning.Between(f.line.ThroughOriginLow, f.line.ThroughOriginHigh)
		}),
	)))
	out.Add("Volumes, with each row's own ratios and what the least-squares lines leave of it",
		document.Tabled(volumeTable(d)))
	out.Add("Audit", document.Tabled(auditTable(d.Audit)))
	return out
}

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
		digitsColumn("Bytes a record", "", func(v volume) Figure { return v.RecordBytes }),
		digitsColumn("Residual", "R/s", func(v volume) Figure { return v.ResidualRecords }),
		digitsColumn("Residual", "MiB/s", func(v volume) Figure { return v.ResidualMiB }),
		digitsColumn("Residual", "GiB", func(v volume) Figure { return v.ResidualGiB }),
	}
	if slices.ContainsFunc(d.Rows, func(v volume) bool { return v.UsedCPUCores > 0 }) {
		columns[2] = digitsColumn("Cores declared", "", func(v volume) Figure { return v.TotalCPUCores })
		columns = slices.Insert(columns, 3, digitsColumn("Cores used", "", tuning.Volume.Cores))
	}
	return document.TableOf(d.Rows, columns...)
}

func (f fitted) chart(d *tuning.Data) chart.Plot {
	points := measuredPoints("measured", 0, d.Rows, coresOf, f.value)
	last := 0.0
	for _, cores := range points.X {
		last = max(last, cores)
	}
	plot := chart.Plot{
		Name: f.name, Title: f.title, XLabel: coresOfTopology, YLabel: f.unit, Limit: chart.NoLimit,
		Points: []chart.Points{points},
	}
	if f.line.Slope.Known() {
		name := fmt.Sprintf("least squares: %s %s", tuning.Digits(f.line.Slope), f.perCore)
		plot.Points = append(plot.Points, fitOver(name, 1, points.X, 0, last*1.02, f.line.At)...)
	}
	if f.line.ThroughOrigin.Known() {
		plot.Points = append(plot.Points, fitOver("through the origin: "+tuning.Digits(f.line.ThroughOrigin), 2, points.X,
			0, last*1.02, func(x float64) Figure { return f.line.ThroughOrigin * Figure(x) })...)
	}
	return plot
}

// residualChart is what each volume has more or less than the least-squares line, in the share of what it has.
func residualChart(d *tuning.Data) chart.Plot {
	plot := chart.Plot{
		Name: "data-residuals", Title: "What each volume has more (or less) than its least-squares " +
			"line", XLabel: coresOfTopology,
		YLabel: "% of what was measured", Limit: chart.NoLimit,
	}
	for i, f := range fittedOf(d) {
		share := func(v tuning.Volume) Figure { return 100 * f.residual(v) / f.value(v) }
		plot.Points = append(plot.Points, measuredPoints(f.unit, i, d.Rows, coresOf, share))
	}
	return plot
}
