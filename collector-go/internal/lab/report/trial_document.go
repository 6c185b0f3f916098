package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// LatencyChart draws the distribution of a load client's latencies, each point a share of the queries with the latency
// that so many have or a smaller one. It looks like the distributions of the reports.
func LatencyChart(name, title string, points []load.Point) chart.Figure {
	shares := each(points, func(p load.Point) float64 { return p.Share })
	ms := each(points, func(p load.Point) float64 { return 1000 * p.Seconds })
	plot := spectrumPlot(name, title, "latency from the intended start, ms", spectrumCurve("latency", 0, shares, ms))
	plot.XLabel = "share of the queries"
	return plot.Figure()
}

// spectrumCurve is a distribution as HdrHistogram's plots have it: each unit of the axis is another nine. The share 1,
// which would be infinitely far away, is left out.
func spectrumCurve(name string, colour int, shares, ms []float64) chart.Points {
	curve := chart.Points{Name: name, Colour: chart.Series(colour), Joined: true}
	for i, share := range shares {
		if share < 1 {
			curve.X, curve.Y = append(curve.X, chart.Nine(share)), append(curve.Y, ms[i])
		}
	}
	return curve
}

// spectrumPlot is a chart of distributions over the share of what was measured, with an axis on which each unit is
// another nine.
func spectrumPlot(name, title, yLabel string, curves ...chart.Points) chart.Plot {
	return chart.Plot{
		Name: name, Title: title, XLabel: "share of the records", YLabel: yLabel, Nines: true, Limit: chart.NoLimit,
		Points: curves,
	}
}

// spectrumBlocks are the percentiles of the filter latency by the hook's histogram, a line and a row for each step;
// none where no step has them. Steps for the cost are rows without a line, because they repeat loads of the capacity.
func (r *Report) spectrumBlocks(figureName string) []document.Block {
	heads := []document.Column{document.Numbers(r.stepHead(), ""), document.Numbers("Records", "")}
	for _, share := range runstore.SpectrumShares {
		heads = append(heads, document.Numbers("p"+chart.Plain(math.Round(1000*share)/10), "ms"))
	}
	t, curves := document.NewTable(heads...), []chart.Points{}
	for _, s := range r.Steps {
		if s.FilterLatency == nil || len(s.FilterLatency.Spectrum) != len(runstore.SpectrumShares) {
			continue
		}
		row := []string{r.stepCell(s), tuning.Digits(s.FilterLatency.Records)}
		for _, ms := range s.FilterLatency.Spectrum {
			row = append(row, roundedMs(ms))
		}
		t.Add(row...)
		if s.ForCost {
			continue // loads of the capacity's steps, as often again: the table has them
		}
		ms := values(s.FilterLatency.Spectrum)
		curves = append(curves, spectrumCurve(s.name(), len(curves), runstore.SpectrumShares, ms))
	}
	if t.Rows() == 0 {
		return nil
	}
	blocks := []document.Block{}
	if len(curves) > 0 {
		plot := spectrumPlot(figureName, "Filter latency, percentile by percentile, of each step", "ms, logarithmic",
			curves...)
		plot.LogY = true
		blocks = append(blocks, document.Drawn(plot.Figure()))
	}
	return append(blocks, document.Tabled(t),
		document.Paragraph("By the latency hook's histogram (%s), over all records of the step's measured time. Records "+
			"are stamped in whole milliseconds, of which the table has two digits; 0 is less than half of one.",
			hookHistogram))
}

// figuresDir is where a report's figures are, beside it.
const figuresDir = "figures"

// writeForms writes a report's document, its figures and its further files into dir, which must exist. A failed write
// leaves a partial report, which the next one overwrites.
func writeForms(dir string, d *document.Document, figures []chart.Figure, files map[string][]byte) error {
	if err := chart.WriteFigures(figures, filepath.Join(dir, figuresDir)); err != nil {
		return err
	}
	html, err := d.HTML()
	if err != nil {
		return fmt.Errorf("make report.html: %w", err)
	}
	files["report.md"], files["report.html"] = []byte(d.Markdown(figuresDir)), html
	return writeFiles(dir, files)
}

// writeFiles writes files by their names into a directory, over those of an earlier report.
func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// stepBlocks are what the steps came to, why, and what they ran against. The first two belong to one section, the third
// is another one.
func (r *Report) stepBlocks() []document.Block {
	return []document.Block{
		document.Tabled(r.stepTable()), document.List(append(r.reasons(), r.doubts()...)),
		document.Tabled(r.evidenceTable()),
	}
}

// queryBlocks are the query that ran, and what became of all copies of it.
func (r *Report) queryBlocks() []document.Block {
	return []document.Block{document.Verbatim(r.Query), document.Tabled(r.queryTable())}
}

// entryTable has a row for each entry, in the given order. Settings and the manifest are lists of entries, and no maps,
// so that their order is that of the file.
func entryTable(keyHead, valueHead string, entries []runstore.Entry) document.Table {
	return document.TableOf(entries,
		document.Text(keyHead, func(e runstore.Entry) string { return e.Key }),
		document.Text(valueHead, func(e runstore.Entry) string { return e.Value }),
	)
}

// howCalibrated is how the record rate was found: what each tried rate left of the host, and the one that was chosen.
// It is "" where the rate was given.
func (r *Report) howCalibrated() string {
	c := r.Calibration
	if !c.TargetIdle.Known() {
		return ""
	}
	looks := each(c.Readings, func(reading runstore.Reading) string {
		return fmt.Sprintf("%s records/s left %s idle", number(reading.RecordsPerSecond, 0),
			tuning.Percent(reading.HostIdle))
	})
	text := fmt.Sprintf("The record rate was to leave %s of the host idle at 0 queries: %s; chosen: %s records/s",
		tuning.Percent(c.TargetIdle), strings.Join(looks, ", "), number(c.RecordsPerSecond, 0))
	if first := r.Steps[0]; first.Queries == 0 {
		text += fmt.Sprintf(", which left %s in the step of 0 queries", tuning.Percent(first.HostIdle))
	}
	return text + "."
}
