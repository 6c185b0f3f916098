// Package report turns the stored results of a run into documents: the report of a run, the comparison of two runs, and
// the analyses of tables that a user provides. It defines the wording, the tables and the charts, and the format of
// report.json.
//
// It must not judge. Verdicts, fits and sizings come from tuning, and the verdict of a step is the one that was stored
// when the step was measured. It reads the files of a run and never queries a collector.
//
// Start reading at readRun in read_trials.go, which reads the trials, and OpenRunReport in open.go, which adds what
// follows from all trials together. document in run_document.go assembles the sections. Report in trial.go is one
// trial, and RunReport is the whole run.
//
// An unknown figure is NaN and never 0. A mean leaves it out; a sum or a ratio with an unknown part is unknown, too. It
// is a dash in a cell, a gap in a chart, null in JSON and an empty cell in CSV. Tables of steps omit columns in which
// every figure is unknown. Numbers are formatted by the functions in figures.go and in tuning, so that a figure looks
// the same in every table and sentence.
package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// OpenRunReport reads the directory of a run or of one of its trials. The run may be finished, interrupted or still
// running. The report is complete when the function returns; nothing is read later.
func OpenRunReport(dir string) (*RunReport, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	// Comparisons, results, caveats and volumes all follow from the trials and do not depend on each other.
	r.compareConfigurations(dir)
	r.Results = r.results()
	r.Notes = append(r.Notes, r.Results.notes...)
	r.Caveats = r.caveats()
	r.Volume = r.volumeReport()
	return r, nil
}

// caveats returns the caveats of the plan, of the launch and of the trials, each once. The
// trials of a run have mostly the same caveats.
func (r *RunReport) caveats() (all []string) {
	add := func(lines ...string) { all = tuning.Union(all, lines...) }
	add(r.plan.Caveats...)
	if r.mibEstimated {
		size := ""
		if bytes := r.plan.Load.MeanRecordBytes; bytes.Known() {
			size = " (" + tuning.Digits(bytes) + " bytes)"
		}
		add("MiB/s is an estimate: records/s times the stated mean record size" + size +
			", because the source does not count bytes.")
	}
	if hostOfRun(r.plan) {
		add(WorkerHosts)
	} else if r.plan.Launch == "local" {
		add(oneMachine)
	}
	for _, t := range r.reported() { // their caveats include the general ones
		add(t.Report.Caveats...)
	}
	if len(r.reported()) == 0 {
		add(generalCaveats(false)...)
	}
	return all
}

// volumeReport averages the data volume of the run and of each configuration, weighted by the measured time of each
// step.
func (r *RunReport) volumeReport() VolumeReport {
	v := VolumeReport{Configurations: []runstore.DataVolume{}}
	var all []runstore.Step
	for _, row := range r.Rows {
		var steps []runstore.Step
		for _, t := range r.trialsOf(row.Configuration) {
			steps = append(steps, t.measuredSteps()...)
		}
		all = append(all, steps...)
		v.Configurations = append(v.Configurations, runstore.AverageVolume(steps))
	}
	v.DataVolume = runstore.AverageVolume(all)
	return v
}

// analyses returns the documents about all trials together: queries, data volumes, concurrency, cost, timelines,
// comparisons. The numbers come from r.Results, which tuning computed; here they only become text, tables and charts.
// The order is that of the report. takeMainFigure uses the first figure of the first document for the first screen.
//
// If there are several configurations, the chart that compares them comes first, because the run was made for it.
func (r *RunReport) analyses() (all []*document.Document) {
	j := &r.Results
	if len(j.Concurrency) > 1 {
		d := &document.Document{Title: "Simultaneous queries: all configurations"}
		d.Draw(configurationsChart(j.Concurrency))
		all = append(all, d)
	}
	if j.Queries != nil {
		all = append(all, OfQueries(j.Queries))
	}
	if j.Data != nil {
		d := OfData(j.Data)
		if j.Data.Fits.RecordsPerCore.Slope.Known() { // without a line there are no residuals
			d.Draw(residualChart(j.Data))
		}
		all = append(all, d)
	}
	for _, c := range j.Concurrency {
		all = append(all, named(OfConcurrency(c.Concurrency), c.Label, len(j.Concurrency)))
	}
	for _, c := range j.Costs {
		all = append(all, named(OfCost(c.Concurrency), c.Label, len(j.Costs)))
	}
	for _, t := range j.Timelines {
		all = append(all, named(OfTimeline(t.Timeline), t.Label, len(j.Timelines)))
	}
	return append(all, tuning.Each(r.Compared, ComparedConfiguration.Document)...)
}

// named adds the label of the configuration to the titles of an analysis and of its figures, if there are several
// analyses of its kind. The label is also added to the figures' file names, which would otherwise overwrite each other.
func named(d *document.Document, label string, of int) *document.Document {
	if of < 2 {
		return d
	}
	d.Title += ": " + label
	for i := range d.Figures {
		d.Figures[i].Title += ": " + label
		d.Figures[i].Name += "-" + fileName(label)
	}
	return d
}

// takeMainFigure removes the first figure from the analyses and returns it for the first screen, so that it is not
// drawn twice. It returns nil if there is no figure.
func takeMainFigure(analyses []*document.Document) *chart.Figure {
	for _, d := range analyses {
		if len(d.Figures) > 0 {
			first := d.Figures[0]
			d.Figures = d.Figures[1:]
			return &first
		}
	}
	return nil
}

// recommendation returns the recommended operating point of each configuration as Bullet YAML for copying. A comment in
// the YAML says if the knee is unstable, because the text around the YAML is not copied.
func (r *RunReport) recommendation() []document.Block {
	if r.Results.Queries == nil {
		return nil
	}
	text := ""
	var unstable []string
	for _, row := range r.Results.Queries.Rows {
		if row.Recommended == nil {
			continue
		}
		text += fmt.Sprintf("# for up to %d simultaneous queries: %s below the last OK step, capacity: %s",
			*row.Recommended, tuning.Percent(row.Headroom), row.Capacity.Text())
		if row.Knee != nil {
			text += fmt.Sprintf(", knee at %d", row.Knee.Queries)
		}
		if row.Knee != nil && !row.Knee.Stable {
			text += ",\n# which is not stable: without one of the points it would move by more than one step; measure more steps near it before you rely on this"
			unstable = append(unstable, strconv.Itoa(row.FilterBolts))
		}
		text += fmt.Sprintf("\n%s: %d\n", filterParallelism, row.FilterBolts)
	}
	if text == "" {
		return nil
	}
	blocks := []document.Block{document.Paragraph("An operating point below the knee for each configuration.")}
	if len(unstable) > 0 {
		blocks = append(blocks, document.Paragraph("The recommendation for %s filter bolts is uncertain, because its knee "+
			"is not stable.", strings.Join(unstable, ", ")))
	}
	return append(blocks, document.Verbatim(text))
}
