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

// LatencyChart draws the distribution of a load client's latencies. Each point is a share of the queries and the
// largest latency among them. The chart looks like the distributions in the reports.
func LatencyChart(name, title string, points []load.Point) chart.Figure {
	shares := tuning.Each(points, func(p load.Point) float64 { return p.Share })
	ms := tuning.Each(points, func(p load.Point) float64 { return 1000 * p.Seconds })
	plot := newPlot(name, title, "share of queries", "latency from the scheduled start, ms",
		spectrumCurve("latency", 0, shares, ms))
	plot.Nines = true
	return plot.Figure()
}

// spectrumCurve returns a distribution in the form of HdrHistogram's plots, in which each unit of the axis adds another
// nine. It omits the share 1, which would be infinitely far away.
func spectrumCurve(name string, colour int, shares, ms []float64) chart.Points {
	curve := chart.Points{Name: name, Colour: chart.Series(colour), Joined: true}
	for i, share := range shares {
		if share < 1 {
			curve.X, curve.Y = append(curve.X, chart.Nine(share)), append(curve.Y, ms[i])
		}
	}
	return curve
}

// spectrumBlocks shows the percentiles of the filter latency from the hook's histogram: a line and a row for each step.
// It returns nil if no step has them. Steps for the cost have a row but no line, because they repeat loads of the
// capacity steps.
func (r *Report) spectrumBlocks(figureName string) []document.Block {
	heads := []document.Column{document.Numbers(r.stepHead(), ""), document.Numbers("Records", "")}
	for _, share := range runstore.SpectrumShares {
		heads = append(heads, document.Numbers("p"+chart.Plain(math.Round(1000*share)/10), "ms"))
	}
	t, curves := document.NewTable(heads...), []chart.Points{}
	for _, s := range r.inOrder() {
		if s.FilterLatency == nil || len(s.FilterLatency.Spectrum) != len(runstore.SpectrumShares) {
			continue
		}
		t.Add(append([]string{r.stepCell(s), tuning.Digits(s.FilterLatency.Records)},
			tuning.Each(s.FilterLatency.Spectrum, roundedMs)...)...)
		if s.ForCost {
			continue // it repeats a load of the capacity steps, so it is only in the table
		}
		ms := values(s.FilterLatency.Spectrum)
		curves = append(curves, spectrumCurve(s.Label, len(curves), runstore.SpectrumShares, ms))
	}
	if t.Rows() == 0 {
		return nil
	}
	blocks := []document.Block{}
	if len(curves) > 0 {
		plot := newPlot(figureName, "Filter latency percentiles of each step", "share of records", "ms, logarithmic",
			curves...)
		plot.Nines, plot.LogY = true, true
		blocks = append(blocks, document.Drawn(plot.Figure()))
	}
	return append(blocks, document.Tabled(t), document.Paragraph("From the histogram of the latency hook (%s), over all records of the measured time. Times are whole milliseconds, shown with two digits. 0 means less than half a millisecond.",
		hookHistogram))
}

// figuresDir is the directory of a report's figures, relative to the report.
const figuresDir = "figures"

// writeForms writes a report's document, its figures and its other files into dir, which must exist. A failed write
// leaves a partial report, which the next write overwrites.
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

// writeFiles writes files by their names into a directory and overwrites those of an earlier report.
func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// entryTable has a row for each entry, in the given order. Settings and the manifest are lists and not maps, so that
// they keep the order of the file.
func entryTable(keyHead, valueHead string, entries []runstore.Entry) document.Table {
	return document.TableOf(entries,
		document.Text(keyHead, func(e runstore.Entry) string { return e.Key }),
		document.Text(valueHead, func(e runstore.Entry) string { return e.Value }),
	)
}

// howCalibrated describes how the record rate was found: the idle share of the host at each tried rate, and the chosen
// rate. It returns "" if the rate was given.
func (r *Report) howCalibrated() string {
	c := r.Calibration
	if !c.TargetIdle.Known() {
		return ""
	}
	looks := tuning.Each(c.Readings, func(reading tuning.Reading) string {
		return fmt.Sprintf("%s records/s left %s idle", tuning.Fixed(reading.RecordsPerSecond, 0),
			tuning.Percent(reading.HostIdle))
	})
	text := fmt.Sprintf("The record rate was calibrated to leave %s of the host idle at 0 queries: %s. Chosen: %s records/s",
		tuning.Percent(c.TargetIdle), strings.Join(looks, ", "), tuning.Fixed(c.RecordsPerSecond, 0))
	if first := r.Steps[0]; first.Queries == 0 {
		text += fmt.Sprintf(", which left %s idle in the step of 0 queries", tuning.Percent(first.HostIdle))
	}
	return text + "."
}
