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

// rowColumn is a column of a table that has a row for each configuration.
type rowColumn = document.Of[RowReport]

// rowTable shows the result of each configuration with its data volume. The first screen shows only the first seven
// columns, so the most important ones come first.
func (r *RunReport) rowTable() document.Table {
	columns := []rowColumn{
		document.Text("Configuration", func(row RowReport) string { return cmp.Or(row.Label, document.Unknown) }),
		document.Text("Verdict", func(row RowReport) string { return string(row.Verdict) }),
	}
	if r.Analysis == runstore.OfTimeline {
		columns = append(columns, r.timelineColumns()...)
	} else {
		columns = append(columns, r.capacityColumns()...)
	}
	columns = append(columns, document.Text("Limited by",
		func(row RowReport) string { return cmp.Or(strings.Join(r.limiters(row), "; "), document.Unknown) }))
	if slices.ContainsFunc(r.Rows, func(row RowReport) bool { return r.costOf(row) != nil }) {
		columns = append(columns, document.Number("Each query adds,", "ms/min of CPU", r.costCell))
	}
	t := document.TableOf(r.Rows, append(columns,
		percentColumn(idleHead(r.host())+", minimum", func(row RowReport) Figure { return row.LeastHostIdle }),
		countColumn("Launches", func(row RowReport) int { return row.Launches }))...)
	if r.Analysis == runstore.OfTimeline {
		t = t.WithoutBlank()
	}
	return r.withVolumes(t)
}

// costCell returns the cost of a query in the whole topology with its interval.
func (r *RunReport) costCell(row RowReport) string {
	c := r.costOf(row)
	return knownOr(c != nil, func() string {
		if !c.MarginalTotal.Value.Known() {
			return "not determined"
		}
		return withoutNote(c.MarginalTotal).Text(c.Confidence, "")
	})
}

// eachRepeat is the heading of the column with the capacities of the repeats.
const eachRepeat = "Capacity of each repeat"

// capacityColumns returns the capacity and, if a configuration was repeated, the capacity of each repeat. The repeats
// show how much launches differ, which the common interval hides.
func (r *RunReport) capacityColumns() []rowColumn {
	columns := []rowColumn{
		document.Number("Capacity, "+r.axis(), "", func(row RowReport) string { return row.Capacity.Text() }),
	}
	if !slices.ContainsFunc(r.Rows, func(row RowReport) bool { return len(row.Repeats) > 1 }) {
		return columns
	}
	return append(columns, document.Text(eachRepeat, func(row RowReport) string {
		if len(row.Repeats) < 2 {
			return ""
		}
		return strings.Join(tuning.Each(row.Repeats, tuning.Interval.Text), "; ")
	}))
}

// timelineColumns returns the results of a timeline. They replace the capacity, because a timeline has a constant load
// and therefore no capacity.
func (r *RunReport) timelineColumns() []rowColumn {
	return []rowColumn{
		r.meansColumn("Added delay, mean", func(t NamedTimeline) tuning.Estimate { return t.AddedDelay }),
		r.meansColumn("Time to find a record, mean", func(t NamedTimeline) tuning.Estimate { return t.FindTime }),
		document.Number("Records found", "", func(row RowReport) string {
			found, queries := 0, 0
			for _, t := range r.timelinesOf(row) {
				found, queries = found+t.Returned, queries+t.Queries
			}
			return knownOr(queries > 0, func() string { return fmt.Sprintf("%d of %d", found, queries) })
		}),
	}
}

// timelinesOf returns the timelines of all launches of a configuration.
func (r *RunReport) timelinesOf(row RowReport) []NamedTimeline {
	return tuning.Those(r.Results.Timelines, func(t NamedTimeline) bool { return t.configuration == row.Configuration })
}

// meansColumn shows a mean of a timeline in ms with its interval. For several launches it shows their mean with its
// spread.
func (r *RunReport) meansColumn(head string, of func(NamedTimeline) tuning.Estimate) rowColumn {
	return document.Number(head, "ms", func(row RowReport) string {
		known := slices.DeleteFunc(tuning.Each(r.timelinesOf(row), of),
			func(e tuning.Estimate) bool { return !e.Value.Known() })
		if len(known) != 1 {
			return SpreadOf(tuning.Each(known, func(e tuning.Estimate) Figure { return e.Value })).String()
		}
		only := known[0]
		if only.Low.Known() && only.High.Known() && !(only.High > only.Low) {
			only.Low = Unknown // do not show an interval without a width
		}
		return withoutNote(only).Text(tuning.DefaultConfidence, "")
	})
}

// withVolumes adds the data volume of each configuration. If there are several configurations, it adds a last row for
// the whole test.
func (r *RunReport) withVolumes(t document.Table) document.Table {
	volumes, width := r.Volume.Configurations, len(t.Columns)
	if len(r.Rows) > 1 && r.Volume.RecordsPerSecond.Known() {
		t.Add(append([]string{"whole test"}, make([]string, width-1)...)...)
		volumes = append(slices.Clone(volumes), r.Volume.DataVolume)
	}
	beside := document.TableOf(volumes,
		digitsColumn("Mean records/s", "", func(v runstore.DataVolume) Figure { return v.RecordsPerSecond }),
		document.Number("Mean MiB/s", "", func(v runstore.DataVolume) string {
			return knownOr(v.RecordsPerSecond.Known(), func() string { return tuning.Digits(v.MiBPerSecond) })
		}))
	t.Columns = append(t.Columns, beside.Columns...)
	return t
}

// Write writes report.html, report.md, report.json, the figures and the run's tables as CSV into dir. All forms are
// made from one document, so they have the same content.
func (r *RunReport) Write(dir string) error {
	return r.write(dir, r, r.panelFigures())
}

// write writes all forms with the given report.json and additional figures. A run of one trial has a different
// report.json.
func (r *RunReport) write(dir string, data any, more []chart.Figure) error {
	text, err := json.MarshalIndent(data, "", " ")
	if err != nil {
		return fmt.Errorf("make report.json: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := r.csvFiles()
	files["report.json"] = append(text, '\n')
	d := r.document()
	return writeForms(dir, d, append(d.Drawings(), more...), files)
}

// document assembles the report. The first screen has the most important information: the verdict, the reason, the
// figure that shows it, and the result of each configuration, or of each step if there is a single trial. The sections
// go from conclusions to their sources and end with what is needed to repeat the run.
func (r *RunReport) document() *document.Document {
	why := r.why()
	d := &document.Document{Title: r.Title, Verdict: string(r.Verdict), Lead: why[0], Reasons: why[1:],
		Summary: r.summary()}
	analyses, measured := r.analyses(), r.reported()
	if plot := r.capacityChart(); plot != nil {
		figure := plot.Figure()
		d.Main = &figure
	} else if d.Main = takeMainFigure(analyses); d.Main == nil && len(measured) > 0 {
		figure := measured[0].timeline().Figure()
		d.Main = &figure
	}
	// Reasons to doubt the figures come before the figures.
	d.Add("Steps that were not OK", document.List(r.troubles()))
	d.Add("Notes", document.List(r.Notes))
	d.Add("Data quality", r.dataQualityBlocks()...)
	d.Add("All configurations", document.Tabled(r.rowTable()))
	for _, a := range analyses {
		d.Add(a.Title, a.Blocks()...)
	}
	d.Add("Repeats", r.repeatBlocks()...)
	d.Add("Recommended settings", r.recommendation()...)
	d.Add("Sizing", r.sizingBlocks()...)
	d.Add("Load", document.Paragraph("%s", r.lead()), document.List(r.goals()),
		document.Paragraph("%s", r.steps()), document.Paragraph("Load: %s.", r.Load))
	d.Add("Caveats", document.List(r.Caveats))
	d.Add("Trials over time", r.runTimelineBlocks()...)
	d.Add("Differences between the configurations", r.differenceBlocks()...)
	for _, t := range r.Trials {
		r.addTrial(d, t)
	}
	d.Add("Versions and machines", document.Tabled(r.manifestTable()))
	d.Add("Bullet settings of all trials", document.Tabled(entryTable("Setting", "Value", r.Manifest.BulletSettings)))
	return d
}

// summary returns the table of the first screen. It has at most 7 columns, which fit a screen and a terminal.
func (r *RunReport) summary() document.Table {
	if measured := r.reported(); len(r.Trials) == 1 && len(measured) == 1 && r.Analysis != runstore.OfTimeline {
		return measured[0].Report.summary()
	}
	return r.rowTable().Without("Launches", eachRepeat).First(7)
}

// differenceBlocks shows the settings that differ between configurations. Settings that are equal in all of them are
// shown with each trial.
func (r *RunReport) differenceBlocks() []document.Block {
	if len(r.Rows) < 2 {
		return nil
	}
	var keys []string
	values := map[string]map[string]string{}
	for _, t := range r.Trials {
		values[t.Label] = runstore.Mapped(t.Settings)
		keys = tuning.Union(keys, tuning.Each(t.Settings, func(e runstore.Entry) string { return e.Key })...)
	}
	t := document.NewTable(append([]document.Column{document.Words("Setting")},
		tuning.Each(r.Rows, func(row RowReport) document.Column { return document.Words(row.Label) })...)...)
	for _, key := range keys {
		line, distinct := []string{key}, map[string]bool{}
		for _, row := range r.Rows {
			value := values[row.Label][key]
			line, distinct[value] = append(line, cmp.Or(value, document.Unknown)), true
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

// addTrial adds everything about one trial: one section, or if it is the only trial a section for each of its parts. A
// trial that was not measured has only its state and the reason.
func (r *RunReport) addTrial(d *document.Document, t *TrialReport) {
	title := fmt.Sprintf("Trial %d: %s", t.Number, t.name())
	if t.Report == nil {
		d.Add(title, document.Paragraph("%s%s.", t.State, tuning.InBrackets(t.Error)))
		return
	}
	parts := document.Document{}
	climb, cost := t.Report.byLoad()
	parts.Add("Steps", document.Tabled(t.Report.stepTable(climb)),
		document.List(append(t.Report.reasons(), t.Report.doubts()...)),
		document.Heading("Cost steps"), document.Tabled(t.Report.stepTable(cost)))
	parts.Add("Limiters", document.Tabled(t.Report.evidenceTable()))
	parts.Add("Figures over time", document.Drawn(t.timeline().Figure()),
		document.Paragraph("Single figures: %s.", t.panelNames()))
	parts.Add("Annotations", t.Report.annotationBlocks()...)
	parts.Add("Filter latency percentiles", t.Report.spectrumBlocks(t.figureName("spectrum"))...)
	parts.Add("Queries", document.Verbatim(t.Report.Query), document.Tabled(t.Report.queryTable()))
	parts.Add("Load hosts", t.Report.loadHostBlocks()...)
	parts.Add("CPU of "+withArticle(r.host())+" by process", document.Paragraph("%s", t.Report.howCalibrated()),
		document.Tabled(t.Report.shareTable()))
	parts.Add("Placement: workers and hosts", t.Report.sharingBlocks()...)
	parts.Add("Garbage collection", t.Report.gcBlocks()...)
	parts.Add("Resource request", t.Report.requestBlocks(r.machine())...)
	parts.Add("Collected metrics", collectedBlocks(t.Report.Collection.Health)...)
	parts.Add("Launch", t.launchBlocks()...)
	if len(r.Trials) == 1 {
		d.Sections = append(d.Sections, parts.Sections...)
		return
	}
	d.Add(title, parts.Blocks()...)
}

// timeline returns the trial's figure over time, with the trial's number in its name.
func (t *TrialReport) timeline() chart.Timeline {
	timeline := t.Report.timeline()
	timeline.Name = t.figureName(timelineName)
	timeline.Alt = fmt.Sprintf("Trial %d, %s: all figures over time", t.Number, t.name())
	return timeline
}

// figureName adds the number of the trial to the name of a figure, because all trials have figures of the same names.
func (t *TrialReport) figureName(name string) string {
	return fmt.Sprintf("trial-%02d-%s", t.Number, name)
}

// panelFigures returns each panel of each trial as a figure of its own. They are files beside the report; the document
// shows the panels together.
func (r *RunReport) panelFigures() (all []chart.Figure) {
	for _, t := range r.reported() {
		for _, f := range t.Report.figures()[1:] {
			f.Name = t.figureName(f.Name)
			all = append(all, f)
		}
	}
	return all
}

// panelNames lists the file names of the trial's panelFigures.
func (t *TrialReport) panelNames() string {
	names := tuning.Each(t.Report.panels(), func(p chart.Panel) string {
		return fmt.Sprintf("%s/%s.svg", figuresDir, t.figureName(p.Name))
	})
	return strings.Join(names, ", ") + ", each also as .png"
}

// Single is the report.json of a run with one trial, such as the demo: the trial's figures with the results of the run.
// Its keys are a public format.
type Single struct {
	*Report
	// Capacity is in the unit of the steps' axis.
	Capacity tuning.Interval `json:"capacity"`
	// Cost is the cost of a query. It is null if no step shows it.
	Cost *tuning.Concurrency `json:"cost"`
	// Limiters are the limiters of the steps that were FAIL or LIMITED. It is empty if nothing was at its limit.
	Limiters []string `json:"limiters"`
}

// Single returns the report of the run's only trial. It returns an error if there are several trials or none of its
// steps was measured.
func (r *RunReport) Single() (*Single, error) {
	if len(r.Trials) != 1 || r.Trials[0].Report == nil {
		return nil, fmt.Errorf("a single report needs exactly one trial with figures, but %d of %d trials have some", len(r.reported()),
			len(r.Trials))
	}
	// The report is copied, because the trial keeps its own title and verdict.
	figures := *r.Trials[0].Report
	figures.Title, figures.Verdict = r.Title, r.Verdict
	table := r.manifestTable()
	for i, key := range table.Columns[0].Cells {
		figures.Manifest = append(figures.Manifest, runstore.Entry{Key: key, Value: table.Columns[1].Cells[i]})
	}
	figures.Settings = slices.Clone(r.Manifest.BulletSettings)
	for _, e := range r.Trials[0].Arguments {
		figures.Settings = append(figures.Settings, runstore.Entry{Key: "-c " + e.Key, Value: e.Value})
	}
	out := &Single{Report: &figures, Capacity: r.Rows[0].Capacity, Limiters: r.Rows[0].Limiters}
	if len(r.Results.Concurrency) > 0 {
		out.Cost = r.Results.Concurrency[0].Concurrency
	}
	return out, nil
}

// WriteSingle is like Write for a run of one trial. Its report.json is a Single, and the names of figures have no trial
// number.
func (r *RunReport) WriteSingle(dir string) error {
	single, err := r.Single()
	if err != nil {
		return err
	}
	return r.write(dir, single, single.figures())
}
