package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// figuresDir is where a report's figures are, beside it.
const figuresDir = "figures"

// writeForms writes a report's document, its figures and its further files into dir.
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

func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// stepBlocks are what the steps came to, why, and what they ran against.
func (r *Report) stepBlocks() []document.Block {
	return []document.Block{
		document.Tabled(r.stepTable()), document.List(append(r.reasons(), r.doubts()...)),
		document.Tabled(r.evidenceTable()),
	}
}

func (r *Report) queryBlocks() []document.Block {
	return []document.Block{document.Verbatim(r.Query), document.Tabled(r.queryTable())}
}

// entryTable has a row for each entry.
func entryTable(keyHead, valueHead string, entries []runstore.Entry) document.Table {
	return document.TableOf(entries,
		document.Text(keyHead, func(e runstore.Entry) string { return e.Key }),
		document.Text(valueHead, func(e runstore.Entry) string { return e.Value }),
	)
}

// howCalibrated is how the record rate was found.
func (r *Report) howCalibrated() string {
	c := r.Calibration
	if !c.TargetIdle.Known() {
		return ""
	}
	var looks []string
	for _, reading := range c.Readings {
		looks = append(looks, fmt.Sprintf("%s records/s left %s idle", number(reading.RecordsPerSecond, 0),
			tuning.Percent(reading.HostIdle)))
	}
	text := fmt.Sprintf("The record rate was to leave %s of the host idle at 0 queries: %s; chosen: %s records/s",
		tuning.Percent(c.TargetIdle), strings.Join(looks, ", "), number(c.RecordsPerSecond, 0))
	if first := r.Steps[0]; first.Queries == 0 {
		text += fmt.Sprintf(", which left %s in the step of 0 queries", tuning.Percent(first.HostIdle))
	}
	return text + "."
}
