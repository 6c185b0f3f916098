package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// figuresDir is where a report's figures are, beside it.
const figuresDir = "figures"

// Write writes report.json, report.md, report.html and the figures into dir.
func (r *Report) Write(dir string) error {
	data, err := r.JSON()
	if err != nil {
		return fmt.Errorf("make report.json: %w", err)
	}
	return writeForms(dir, r.document(), r.figures(), map[string][]byte{"report.json": data})
}

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
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// JSON is the report as data; what is not known is null.
func (r *Report) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	return append(text, '\n'), err
}

// Markdown is the report as text.
func (r *Report) Markdown() []byte { return []byte(r.document().Markdown(figuresDir)) }

// HTML is the report as one page that needs nothing beside it.
func (r *Report) HTML() ([]byte, error) { return r.document().HTML() }

// document is the report of a run on its own, as the demo writes it.
func (r *Report) document() *document.Document {
	d := &document.Document{
		Title: r.Title, Verdict: string(r.Verdict),
		Lead: fmt.Sprintf("%s Topology %s, first step at %s.", r.headline(), r.Topology, moment(r.StartedMs)),
	}
	d.Add("Steps", r.stepBlocks()...)
	d.Add("Collection", append(wholeBlocks(r.Collection.Health), document.Paragraph("%s", r.howCollected()))...)
	d.Add("Goals", document.List(r.goals()))
	d.Add("Over time", append([]document.Block{
		document.Drawn(r.timeline().Figure()), document.Heading("Annotations on this axis"),
	}, r.annotationBlocks()...)...)
	d.Add("Queries", r.queryBlocks()...)
	d.Add("Share of the host's processors", document.Paragraph("%s", r.howCalibrated()),
		document.Tabled(r.shareTable()))
	d.Add("Who shares what", r.sharingBlocks()...)
	d.Add("Garbage collection", r.gcBlocks()...)
	d.Add("What the topology asks of the scheduler", r.requestBlocks(r.machine())...)
	d.Add("Caveats", document.List(r.Caveats))
	d.Add("What ran", document.Tabled(entryTable("", "", r.Manifest)))
	d.Add("What was collected, by worker and metric", collectedBlocks(r.Collection.Health)...).Folded = true
	d.Add("Settings as they were", document.Tabled(entryTable("", "", r.Settings))).Folded = true
	return d
}

// stepBlocks are what the steps came to, why, and what they ran against.
func (r *Report) stepBlocks() []document.Block {
	return []document.Block{
		document.Tabled(
			r.stepTable()), document.List(append(r.reasons(), r.doubts()...)), document.Tabled(r.evidenceTable()),
	}
}

func (r *Report) queryBlocks() []document.Block {
	return []document.Block{document.Verbatim(r.Query), document.Tabled(r.queryTable())}
}

// entryTable has a row for each entry.
func entryTable(keyHead, valueHead string, entries []rundir.Entry) document.Table {
	return document.TableOf(entries,
		document.Text(keyHead, func(e rundir.Entry) string { return e.Key }),
		document.Text(valueHead, func(e rundir.Entry) string { return e.Value }),
	)
}

// headline is the run in one sentence.
func (r *Report) headline() string {
	most := 0
	for _, s := range r.Steps {
		if s.Verdict == tuning.OK {
			most = max(most, s.Queries)
		}
	}
	switch r.Verdict {
	case tuning.OK:
		return fmt.Sprintf("All steps met the goals, up to %d simultaneous queries.", most)
	case tuning.Fail:
		return fmt.Sprintf(
			"At least one step missed a goal; the largest step that met all of them had %d simultaneous queries.", most)
	}
	return "At least one step could not be judged; the reasons are below."
}

// goals are the goals as sentences.
func (r *Report) goals() []string {
	return []string{
		fmt.Sprintf("Filter latency at most %s ms: %s.", number(r.Goals.FilterLatencyLimitMs, 0),
			r.Goals.FilterLatencyStatistic),
		fmt.Sprintf("Average result size at least %s of %s records: "+
			"mean over the step's queries that lived in its measured time, whenever they ended.",
			number(r.Goals.SmallestResultSize, 2), number(r.Goals.ExpectedResultSize, 0)),
		fmt.Sprintf("At least %s of the host idle; below that a step is inconclusive.",
			tuning.Percent(r.Goals.MinHostIdle)),
	}
}

// howCalibrated is how the record rate was found.
func (r *Report) howCalibrated() string {
	c := r.Calibration
	if !c.TargetIdle.Known() {
		return fmt.Sprintf("The record rate was given: %s records/s.", number(c.RecordsPerSecond, 0))
	}
	var looks []string
	for _, reading := range c.Readings {
		looks = append(looks, fmt.Sprintf("%s records/s left %s idle", number(reading.RecordsPerSecond, 0),
			tuning.Percent(reading.HostIdle)))
	}
	return fmt.Sprintf("The record rate was to leave %s of the host idle at 0 queries: %s; chosen: %s records/s, "+
		"which left %s in the step of 0 queries.", tuning.Percent(c.TargetIdle), strings.Join(looks, ", "),
		number(c.RecordsPerSecond, 0), tuning.Percent(r.Steps[0].HostIdle))
}

// howCollected is whether the collector's figures are whole.
func (r *Report) howCollected() string {
	c := r.Collection
	text := fmt.Sprintf(
		"Stored slices of %d s; %d of %d expected worker slices are missing; the collector was restarted %d times.",
		c.StoredSliceMs/1000, c.MissingSlices, c.ExpectedSlices, c.CollectorRestarts)
	if c.Relaunches > 0 {
		text += fmt.Sprintf(" The topology was launched again %s: %s between launches, in which none are expected.",
			timesText(c.Relaunches), c.betweenLaunches())
	}
	return text
}

// Summary is the table of steps for a terminal.
func (r *Report) Summary() string {
	text := document.TableOf(r.Steps,
		countColumn("queries", func(s StepReport) int { return s.Queries }),
		figureColumn("CPU ms/min per worker", "", 0, func(s StepReport) Figure { return s.AverageCPUMsPerMinute }),
		figureColumn("average result size", "", 2, func(s StepReport) Figure { return s.AverageResultSize }),
		figureColumn("filter latency", "ms", 2, func(s StepReport) Figure { return s.FilterLatencyMeanMs }),
		ratioColumn("host idle", func(s StepReport) Figure { return s.HostIdle }),
		document.Text("verdict", func(s StepReport) string { return string(s.Verdict) }),
	).Text()
	for _, reason := range r.reasons() {
		text += reason + "\n"
	}
	return text
}
