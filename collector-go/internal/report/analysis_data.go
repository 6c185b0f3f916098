package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// fitted is one of the three lines over cores, with how people read it.
type fitted struct {
	name, title, unit, perCore string
	line                       tuning.Line
	value                      func(tuning.Volume) Figure
}

func fittedOf(d *tuning.Data) []fitted {
	return []fitted{
		{"data-records", "Records a second over the topology's cores", "records/s", "R/s per core", d.Fits.RecordsPerCore, func(v tuning.Volume) Figure { return v.RecordsPerS }},
		{"data-volume", "Data volume over the topology's cores", "MiB/s", "MiB/s per core", d.Fits.MiBPerCore, func(v tuning.Volume) Figure { return v.DataMiBPerS }},
		{"data-memory", "Memory over the topology's cores", "GiB", "GiB per core", d.Fits.GiBPerCore, func(v tuning.Volume) Figure { return v.TotalMemoryMiB / 1024 }},
	}
}

// OfData shows what a core carries.
func OfData(d *tuning.Data) *Analysis {
	a := &Analysis{Title: "Data scaling: what a core carries", notes: d.Notes}
	fits := table{Heads: []string{"Fit", "Least squares", "Interval", "Intercept", "R-squared", "Scatter about the line", "Through the origin", "Interval"},
		Numeric: []bool{false, true, true, true, true, true, true, true}}
	for _, f := range fittedOf(d) {
		l := f.line
		a.Findings = append(a.Findings, fmt.Sprintf("%s: %s by least squares (R-squared %s), %s through the origin.%s", f.perCore, tuning.Digits(l.Slope), tuning.Digits(l.R2), tuning.Digits(l.ThroughOrigin), sentence(l.Note)))
		fits.Rows = append(fits.Rows, []string{f.perCore, tuning.Digits(l.Slope), between(l.Low, l.High), tuning.Digits(l.Intercept) + " " + f.unit, tuning.Digits(l.R2),
			tuning.Digits(l.ResidualDeviation) + " " + f.unit, tuning.Digits(l.ThroughOrigin), between(l.ThroughOriginLow, l.ThroughOriginHigh)})
		a.Charts = append(a.Charts, f.chart(d))
	}
	a.Findings = append(a.Findings, auditFindings(d.Audit, d.AuditedTotals)...)
	rows := table{Heads: []string{"MiB/s", "Records/s", "CPU cores", "Memory MiB", "R/s per core", "MiB/s per core", "GiB per core", "Bytes a record", "Residual R/s", "Residual MiB/s", "Residual GiB"},
		Numeric: []bool{true, true, true, true, true, true, true, true, true, true, true}}
	for _, v := range d.Rows {
		rows.Rows = append(rows.Rows, []string{tuning.Digits(v.DataMiBPerS), tuning.Digits(v.RecordsPerS), tuning.Digits(v.TotalCPUCores), tuning.Digits(v.TotalMemoryMiB), tuning.Digits(v.RecordsPerCore),
			tuning.Digits(v.MiBPerCore), tuning.Digits(v.GiBPerCore), tuning.Digits(v.RecordBytes), tuning.Digits(v.ResidualRecords), tuning.Digits(v.ResidualMiB), tuning.Digits(v.ResidualGiB)})
	}
	a.add(fmt.Sprintf("Fits over cores, intervals of %s%%", tuning.Digits(Figure(100*d.Confidence))), fits)
	a.add("Volumes, with each row's own ratios and what the least-squares lines leave of it", rows)
	a.add("Audit", auditTable(d.Audit))
	return a
}

func (f fitted) chart(d *tuning.Data) Chart {
	cores := floats(d.Rows, func(v tuning.Volume) Figure { return v.TotalCPUCores })
	last := cores[len(cores)-1]
	for _, c := range cores {
		last = max(last, c)
	}
	chart := Chart{Name: f.name, Title: f.title, xLabel: "CPU cores of the topology", yLabel: f.unit, limit: Unknown}
	chart.marks = append(chart.marks, marks{name: "measured", colour: workerColour(0), x: cores, y: floats(d.Rows, f.value)})
	if f.line.Slope.Known() {
		chart.marks = append(chart.marks, straight(fmt.Sprintf("least squares: %s %s", tuning.Digits(f.line.Slope), f.perCore), 1, 0, last*1.02, f.line.At, false))
	}
	if f.line.ThroughOrigin.Known() {
		origin := func(x float64) Figure { return f.line.ThroughOrigin * Figure(x) }
		chart.marks = append(chart.marks, straight(fmt.Sprintf("through the origin: %s", tuning.Digits(f.line.ThroughOrigin)), 2, 0, last*1.02, origin, true))
	}
	return chart
}
