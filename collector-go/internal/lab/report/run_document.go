package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Write writes report.html, report.md, report.json, the figures and the run's tables as CSV into dir.
func (r *RunReport) Write(dir string) error {
	text, err := r.JSON()
	if err != nil {
		return fmt.Errorf("make report.json: %w", err)
	}
	return r.write(dir, text, r.panelFigures())
}

func (r *RunReport) write(dir string, data []byte, more []chart.Figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := r.csvFiles()
	files["report.json"] = data
	d := r.document()
	return writeForms(dir, d, append(d.Drawings(), more...), files)
}

// JSON is the report as data; what is not known is null.
func (r *RunReport) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	return append(text, '\n'), err
}

// document has on its first screen what a reader wants first: the verdict, why, the figure that shows it and what each
// configuration came to; of a single trial what each step did.
func (r *RunReport) document() *document.Document {
	d := &document.Document{Title: r.Title, Verdict: string(r.Verdict), Lead: r.why(), Summary: r.summary()}
	analyses, measured := r.analyses(), r.reported()
	if d.Main = takeMainFigure(analyses); d.Main == nil && len(measured) > 0 {
		figure := measured[0].timeline().Figure()
		d.Main = &figure
	}
	d.Add("Steps that were not OK", document.List(r.troubles()))
	d.Add("Can these figures be believed?", r.dataQualityBlocks()...)
	d.Add("The configurations in full", document.Tabled(r.rowTable()))
	for _, a := range analyses {
		d.Add(a.Title, a.Blocks()...)
	}
	d.Add("Repeats", r.repeatBlocks()...)
	d.Add("Recommended", r.recommendation()...)
	d.Add("Sizing", r.sizingBlocks()...)
	d.Add("What was asked", document.Paragraph("%s", r.lead()), document.List(r.goals()),
		document.Paragraph("%s", r.steps()),
		document.Paragraph("Load: %s.", r.Load))
	d.Add("Caveats", document.List(r.Caveats))
	d.Add("The trials one after the other", r.runTimelineBlocks()...)
	d.Add("What differs between the configurations", r.differenceBlocks()...)
	for i := range r.Trials {
		r.addTrial(d, &r.Trials[i])
	}
	d.Add("What ran", document.Tabled(r.manifestTable()))
	d.Add("Bullet's settings as they were, before each trial's own",
		document.Tabled(entryTable("Setting", "Value", r.Manifest.BulletSettings)))
	return d
}

// summary is the first screen's table, of at most 7 columns.
func (r *RunReport) summary() document.Table {
	if measured := r.reported(); len(r.Trials) == 1 && len(measured) == 1 && r.Analysis != runstore.OfTimeline {
		return measured[0].Report.summary()
	}
	return r.rowTable().Without("Launches", eachRepeat).First(7)
}

// differenceBlocks are the settings that the configurations do not share.
func (r *RunReport) differenceBlocks() []document.Block {
	if len(r.Rows) < 2 {
		return nil
	}
	var keys, labels []string
	values := map[string]map[string]string{}
	for _, t := range r.Trials {
		values[t.Label] = map[string]string{}
		for _, e := range t.Settings {
			if !slices.Contains(keys, e.Key) {
				keys = append(keys, e.Key)
			}
			values[t.Label][e.Key] = e.Value
		}
	}
	columns := []document.Column{document.Words("Setting")}
	for _, row := range r.Rows {
		labels, columns = append(labels, row.Label), append(columns, document.Words(row.Label))
	}
	t := document.NewTable(columns...)
	for _, key := range keys {
		line, distinct := []string{key}, map[string]bool{}
		for _, label := range labels {
			line = append(line, cmp.Or(values[label][key], document.Unknown))
			distinct[values[label][key]] = true
		}
		if len(distinct) > 1 {
			t.Add(line...)
		}
	}
	for _, row := range r.effectiveRows() {
		t.Add(row...)
	}
	return []document.Block{document.Tabled(t)}
}

// addTrial is all that there is of one launch: a section, or, where it is the only one, a section for each of its
// parts.
func (r *RunReport) addTrial(d *document.Document, t *TrialReport) {
	title := fmt.Sprintf("Trial %d: %s", t.Number, t.name())
	if t.Report == nil {
		d.Add(title, document.Paragraph("%s%s.", t.State, tuning.InBrackets(t.Error)))
		return
	}
	parts := document.Document{}
	steps := t.Report.stepBlocks()
	parts.Add("Steps", steps[:2]...)
	parts.Add("What the steps ran against", steps[2])
	parts.Add("Over time", document.Drawn(t.timeline().Figure()),
		document.Paragraph("Each figure alone: %s.", t.panelNames()))
	parts.Add("Annotations on this axis", t.Report.annotationBlocks()...)
	parts.Add("Filter latency, percentile by percentile", t.Report.spectrumBlocks(t.figureName("spectrum"))...)
	parts.Add("Queries", t.Report.queryBlocks()...)
	parts.Add("Load hosts", t.Report.loadHostBlocks()...)
	parts.Add("Share of "+withArticle(r.host())+"'s processors", document.Paragraph("%s", t.Report.howCalibrated()),
		document.Tabled(t.Report.shareTable()))
	parts.Add("Who shares what", t.Report.sharingBlocks()...)
	parts.Add("Garbage collection", t.Report.gcBlocks()...)
	parts.Add("What the topology asks of the scheduler", t.Report.requestBlocks(r.machine())...)
	parts.Add("What was collected, by metric", collectedBlocks(t.Report.Collection.Health)...)
	parts.Add("How it was launched", t.launchBlocks()...)
	if len(r.Trials) == 1 {
		d.Sections = append(d.Sections, parts.Sections...)
		return
	}
	d.Add(title, parts.Blocks()...)
}

// timeline is the trial's figure over time, under a name of its own.
func (t *TrialReport) timeline() chart.Timeline {
	timeline := t.Report.timeline()
	timeline.Name = t.figureName(timelineName)
	timeline.Alt = fmt.Sprintf("Trial %d, %s: all figures over one time axis", t.Number, t.name())
	return timeline
}

func (t *TrialReport) figureName(name string) string {
	return fmt.Sprintf("trial-%02d-%s", t.Number, name)
}

// panelFigures are each trial's figures one by one, which the document has together.
func (r *RunReport) panelFigures() (all []chart.Figure) {
	for _, t := range r.reported() {
		for _, f := range t.Report.figures()[1:] {
			f.Name = t.figureName(f.Name)
			all = append(all, f)
		}
	}
	return all
}

// panelNames are the files of those figures.
func (t *TrialReport) panelNames() string {
	var names []string
	for _, p := range t.Report.panels() {
		names = append(names, fmt.Sprintf("%s/%s.svg", figuresDir, t.figureName(p.Name)))
	}
	return strings.Join(names, ", ") + ", and .png beside each"
}
