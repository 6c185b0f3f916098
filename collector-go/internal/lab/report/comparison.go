package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Comparison is the comparison of two runs, with the reports from which its figures are drawn. The embedded comparison
// is its JSON document; the reports are not part of it.
type Comparison struct {
	*compare.Comparison
	// Guard is nil unless the user asked for a check for regressions.
	Guard *compare.Guard `json:"guard,omitempty"`

	before, after *operand
}

// Compare compares the directories of two runs, or of two trials of one run. Runs without a common configuration cannot
// be compared; the error then suggests to name one trial of each.
func Compare(before, after string, confidence float64) (*Comparison, error) {
	a, err := openOperand(before)
	if err != nil {
		return nil, err
	}
	b, err := openOperand(after)
	if err != nil {
		return nil, err
	}
	c, err := compare.Operands(a.Operand, b.Operand, confidence)
	if err != nil {
		return nil, fmt.Errorf("%w; compare two trials instead, directories below %s", err,
			filepath.Join(before, runstore.TrialsDir))
	}
	return &Comparison{Comparison: c, before: a, after: b}, nil
}

// Document returns the comparison for people: whether it got worse, the reason, the changes as a figure, and the
// figures of the largest load. If there are several configurations, their capacities replace the figures of the largest
// load.
func (c *Comparison) Document() *document.Document {
	d := &document.Document{
		Title: fmt.Sprintf("%s against %s", c.After.Directory, c.Before.Directory), Notes: slices.Clone(c.Notes),
	}
	d.Verdict, d.Lead = c.Verdict()
	if d.Summary = capacitiesTable(c.Configurations); len(c.Configurations) == 1 {
		d.Summary = c.largestLoad(&c.Configurations[0])
		d.AddTable("Capacity", capacitiesTable(c.Configurations))
	}
	if g := c.Guard; g != nil {
		d.Add("Guard", document.List(slices.Concat([]string{g.Text() + "."}, g.Regressions, g.NotProvable)))
	}
	findings := []string{fmt.Sprintf("Before: %s, %s. After: %s, %s.", c.Before.ID, moment(c.Before.StartedMs),
		c.After.ID, moment(c.After.StartedMs))}
	for i := range c.Configurations {
		findings = append(findings, c.Configurations[i].Findings(c.Confidence, c.suffix(i))...)
	}
	d.Add("What changed", document.List(findings))
	for i := range c.Configurations {
		c.add(d, &c.Configurations[i], c.suffix(i))
	}
	// The main figure is the first one: the figure of changes, or without a common step the figure of both runs over
	// time.
	if d.Main == nil {
		d.Main, d.Figures = &d.Figures[0], d.Figures[1:]
	}
	d.Note("A change is the value after minus the value before. " + notClear + "The relative change has an interval of its own, from the logarithms. A figure has no interval if each run has one launch or too few slices.")
	addMeanings(d)
	return d
}

// notClear explains the mark of a change that is not clear.
const notClear = compare.NotClear + " marks a change that is not clear, because its interval includes 0. "

// suffix returns the suffix for titles that names a configuration. It is "" if there is only one.
func (c *Comparison) suffix(i int) string {
	if len(c.Configurations) == 1 {
		return ""
	}
	return ": " + c.Configurations[i].After
}

// largestLoad returns a table of the last step that both runs measured. Figures without a worse direction are left out,
// because the first screen says whether the run got worse.
func (c *Comparison) largestLoad(p *compare.ConfigurationChange) document.Table {
	t := figureTable(c.Confidence)
	if len(p.Steps) == 0 {
		return t
	}
	last := p.Steps[len(p.Steps)-1]
	t.Columns[0].Head = last.Name
	addFigures(&t, tuning.Those(last.Figures, func(f compare.FigureChange) bool { return f.Worse != "" }))
	return t
}

// add adds one configuration, with a table for each step. The figure over time of both runs follows.
func (c *Comparison) add(d *document.Document, p *compare.ConfigurationChange, suffix string) {
	addChange(d, p, c.Confidence, suffix, func() {
		for _, s := range p.Steps {
			t := figureTable(c.Confidence)
			t.Add("verdict", "", string(s.VerdictBefore), string(s.VerdictAfter), "", "", "")
			addFigures(&t, s.Figures)
			d.AddTable(s.Name+suffix, t)
		}
		d.Note(p.Doubts(suffix)...)
	})
	d.Figures = append(append(d.Figures, changeFigures(p, suffix)...),
		overlay(c.before.first[p.Before], c.after.first[p.After], suffix))
}

// addChange adds the change of one configuration. The comparison of two runs and the comparison of two configurations
// in the report of a run are both made by it; only the tables of the steps differ. The diff comes before all figures,
// because a change can be attributed only if a single variable moved.
func addChange(d *document.Document, p *compare.ConfigurationChange, confidence float64, suffix string, steps func()) {
	d.Add("Configuration diff"+suffix, document.Diff(strings.Join(p.Lines, "\n")))
	type change = tuning.Change
	d.AddTable("Differences by controlled variable"+suffix, document.TableOf(p.Changes,
		document.Text("Value", func(c change) string { return c.Key }),
		document.Text("Before", func(c change) string { return settingText(c.Before) }),
		document.Text("After", func(c change) string { return settingText(c.After) }),
		document.Text("Controlled variable", func(c change) string {
			return cmp.Or(string(c.Variable), document.Unknown)
		}),
	))
	if text := p.UnknownMoves(); text != "" {
		d.Note(text)
	}
	steps()
	t := figureTable(confidence)
	addFigures(&t, p.Marginal)
	d.AddTable("Cost per query"+suffix, t)
	d.AddTable("Garbage collectors before and after"+suffix, collectorTable(p.GC, confidence))
}

// addMeanings adds notes about what a mean of workers and a GC time do not show.
func addMeanings(d *document.Document) {
	d.Note(compare.WorkersMean)
	d.Note(tuning.GCIsWallTime + ".")
}

// capacitiesTable has a row for each configuration with a capacity. It says whether the intervals overlap; if they do,
// the capacity may be the same.
func capacitiesTable(all []compare.ConfigurationChange) document.Table {
	type change = compare.ConfigurationChange
	with := tuning.Those(all, func(c change) bool { return c.Capacity != nil })
	return document.TableOf(with,
		document.Text("Configuration", func(c change) string {
			switch {
			case c.Before != c.After && c.Before != "":
				return c.Before + " against " + c.After
			case c.After == "":
				return "the only configuration"
			}
			return c.After
		}),
		document.Number("Capacity before", "", func(c change) string { return c.Capacity.Before.Text() }),
		document.Number("Capacity after", "", func(c change) string { return c.Capacity.After.Text() }),
		document.Text("Unit", func(c change) string { return c.Capacity.Unit }),
		document.Text("Intervals overlap", func(c change) string { return c.Capacity.OverlapText() }),
	)
}

// figureTable returns an empty table for figures before and after with their changes.
func figureTable(confidence float64) document.Table {
	within := " (" + tuning.ConfidencePercent(confidence) + ")"
	return document.NewTable(document.Words("Figure"), document.Words("Unit"), document.Numbers("Before", ""),
		document.Numbers("After", ""), document.Numbers("Change"+within, ""), document.Numbers("Relative"+within, ""),
		document.Words(""))
}

// addFigures adds a row for each figure. more are the cells of the columns before the figure, if the table has any. CPU
// has a second row in cores, the unit of a resource request.
func addFigures(t *document.Table, figures []compare.FigureChange, more ...string) {
	add := func(cells ...string) {
		t.Add(slices.Concat(more, cells)...)
		for i := range more {
			more[i] = "" // only the first row has the name
		}
	}
	for _, f := range figures {
		add(f.Name, f.Unit, tuning.Digits(f.Before), tuning.Digits(f.After), f.Absolute(), f.Relative(), f.Mark())
		if strings.HasPrefix(f.Name, "CPU") { // GC time is not CPU time
			const perCore = Figure(minuteMs)
			add("  in cores", "cores", tuning.Digits(f.Before/perCore), tuning.Digits(f.After/perCore),
				tuning.SignedDigits(f.Change.Value/perCore), "", "")
		}
	}
}

// collectorTable has a row for each garbage collector of each step, including collectors that only one operand has.
func collectorTable(all []compare.GCChange, confidence float64) document.Table {
	type change = compare.GCChange
	type step = *tuning.GCStep
	of := func(s step, text func(step) string) string {
		return knownOr(s != nil, func() string { return text(s) })
	}
	columns := []document.Of[change]{
		document.Text("Step", func(c change) string { return c.Step }),
		document.Text("Collector", func(c change) string { return c.Collector }),
	}
	pair := func(before, after string, text func(step) string) {
		columns = append(columns,
			document.Number(before, "", func(c change) string { return of(c.Before, text) }),
			document.Number(after, "", func(c change) string { return of(c.After, text) }))
	}
	pair("Total ms/min before", "after", func(s step) string { return tuning.Fixed(s.TotalMsPerMinute, 0) })
	columns = append(columns, document.Number("Relative", "", func(c change) string {
		if c.Before == nil || c.After == nil {
			return "only in one run"
		}
		return compare.FigureChange{Difference: c.Change}.Text(confidence)
	}))
	pair("Share of CPU before", "after", func(s step) string { return tuning.Percent(s.ShareOfCPU) })
	pair("Share of time before", "after", func(s step) string { return tuning.Percent(s.ShareOfTime) })
	pair("Collections/min before", "after", func(s step) string { return tuning.Fixed(s.CollectionsPerMin, 1) })
	return document.TableOf(all, columns...)
}

// inFigure are the names of the figures in the figure of changes.
var inFigure = []string{compare.TotalCPU, compare.TotalGC, compare.FilterLatency, compare.MeanHeap}

// changeFigures draws the relative changes of the main figures in each step, with their intervals. It returns nil if
// the runs have no common step.
func changeFigures(p *compare.ConfigurationChange, suffix string) []chart.Figure {
	if len(p.Steps) == 0 {
		return nil
	}
	plot := chart.Plot{
		Name: "changes" + nameSuffix(suffix), Title: "Relative change of each step, with intervals" + suffix,
		XLabel: "steps", YLabel: "change, % of the value before", Limit: chart.Limit{At: 0, Name: "no change"},
		Crop: true, XNames: tuning.Each(p.Steps, func(s compare.StepChange) string { return s.Name }),
	}
	for i, name := range inFigure {
		at := chart.Points{Name: name, Colour: chart.Series(i)}
		bars := chart.Points{Colour: chart.Series(i), Low: []float64{}}
		for n, s := range p.Steps {
			for _, f := range s.Figures {
				if f.Name != name || !f.Ratio.Value.Known() {
					continue
				}
				// The figures of a step are drawn side by side, centred on the step.
				x := float64(n+1) + 0.12*float64(i) - 0.18
				at.X, at.Y = append(at.X, x), append(at.Y, 100*float64(f.Ratio.Value))
				if low, high := f.Ratio.Low, f.Ratio.High; low.Known() && high.Known() {
					bars.X = append(bars.X, x)
					bars.Low, bars.High = append(bars.Low, 100*float64(low)), append(bars.High, 100*float64(high))
				}
			}
		}
		plot.Points = append(plot.Points, bars, at)
	}
	return []chart.Figure{plot.Figure()}
}

// mostCompared is how many configurations the report of a run compares with its first one. tune compare can compare any
// two trials.
const mostCompared = 8

// compareConfigurations compares the run's first configuration with each of the others, as tune compare does with runs.
// The first one is the baseline, so the order in the experiment file decides. A failed comparison becomes a note and
// does not fail the report.
func (r *RunReport) compareConfigurations(dir string) {
	if len(r.Rows) < 2 || len(r.reported()) == 0 {
		return
	}
	s, err := r.operand(dir)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the configurations could not be compared: %v", err))
		return
	}
	first := s.Configurations[0]
	for i, other := range s.Configurations[1:] {
		if i == mostCompared {
			r.Notes = append(r.Notes, fmt.Sprintf("%d more configurations are not compared with %s; "+
				"compare two trials with bullet-metrics tune compare", len(s.Configurations)-1-i, first.Label))
			break
		}
		change, notes := compare.Configurations(first, other, tuning.DefaultConfidence)
		r.Compared = append(r.Compared, ComparedConfiguration{change, append([]string{}, notes...)})
	}
}

// betweenConfigurations are the figures that show how configurations differ: CPU, garbage collection, heap and latency,
// as totals and as means.
var betweenConfigurations = []string{
	compare.TotalCPU, compare.MeanCPU, compare.Workers, compare.TotalGC, compare.MeanGC, compare.GCShare,
	compare.TotalHeap, compare.MeanHeap, compare.FilterLatency,
}

// Document returns the comparison of two configurations as an analysis of the run's report. It has no verdict, because
// the reader must decide which configuration is better.
func (c ComparedConfiguration) Document() *document.Document {
	d := &document.Document{Title: fmt.Sprintf("%s against %s", c.After, c.Before), Notes: slices.Clone(c.Notes)}
	d.Find("Before: %s. After: %s. Both are configurations of this run.", c.Before, c.After)
	d.Findings = append(d.Findings, c.Findings(tuning.DefaultConfidence, "")...)
	if len(c.Steps) == 0 {
		d.Find("No figures are compared, because no step was measured in both configurations.")
	}
	addChange(d, &c.ConfigurationChange, tuning.DefaultConfidence, "", func() {
		d.AddTable("CPU, garbage collection and heap", c.stepsTable())
	})
	d.Figures = changeFigures(&c.ConfigurationChange, ": "+c.After)
	addMeanings(d)
	d.Note(strings.TrimSpace(notClear))
	if slices.ContainsFunc(c.Steps, compare.StepChange.OfOneLaunch) {
		d.Note("Only one launch each: the variation between launches is unknown, so there are no confidence intervals. Repeat the launches (steps.repeats).")
	}
	return d
}

// stepsTable returns one table with the figures of all steps.
func (c *ComparedConfiguration) stepsTable() document.Table {
	t := figureTable(tuning.DefaultConfidence)
	t.Columns = append([]document.Column{document.Words("Step")}, t.Columns...)
	for _, s := range c.Steps {
		chosen := tuning.Those(s.Figures, func(f compare.FigureChange) bool {
			return slices.Contains(betweenConfigurations, f.Name)
		})
		addFigures(&t, chosen, s.Name)
	}
	return t
}
