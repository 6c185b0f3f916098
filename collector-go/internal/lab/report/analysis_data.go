package report

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

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
