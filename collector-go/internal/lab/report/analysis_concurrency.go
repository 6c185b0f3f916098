package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// costFindings returns sentences about the cost without queries and about what a query adds, for a worker and for the
// whole topology. The cost of a worker alone would hide what additional workers cost.
func costFindings(c *tuning.Concurrency) []string {
	text := func(e tuning.Estimate, unit string) string { return e.CostText(c.Confidence, unit) }
	const worker, all, cores = "ms/min of CPU per worker", "ms/min of CPU", "cores"
	d := &document.Document{Findings: []string{baseline(c)}}
	adds := text(c.Marginal, worker)
	if c.MarginalCores.Value.Known() {
		adds += "; " + text(c.MarginalCores, cores)
	}
	d.Find("Each query adds: %s.", adds)
	differs := func(e, all tuning.Estimate) bool { return e.Value.Known() && e.Value != all.Value }
	if differs(c.MarginalWhileComplete, c.Marginal) {
		d.Find("Only over the complete steps: %s.", text(c.MarginalWhileComplete, worker))
	}
	if c.MarginalTotal.Value.Known() {
		d.Find("In the whole topology, each query adds: %s.", text(c.MarginalTotal, all))
	}
	switch total := c.MarginalTotalWhileComplete; {
	case differs(total, c.MarginalTotal):
		d.Find("In the whole topology, only over the complete steps: %s; %s.", text(total, all),
			text(c.MarginalTotalCoresWhileComplete, cores))
	case !total.Value.Known() && c.MarginalTotal.Value.Known():
		d.Find("Only over the complete steps: unknown (%s).", total.Note)
	}
	if c.GCCorrelation.Known() {
		d.Find("Correlation of GC time with CPU, over the steps: %s.", tuning.Digits(c.GCCorrelation))
	}
	return d.Findings
}

// baseline describes the cost without queries in a sentence. It is measured only if a step had 0 queries. Otherwise the
// sentence says so and states the fitted line's value at 0 queries, if there is one.
func baseline(c *tuning.Concurrency) string {
	switch {
	case c.BaselineCPUMsPerMinute.Known():
		text := fmt.Sprintf("Baseline without queries: %s ms/min of CPU per worker (%s cores)",
			tuning.Digits(c.BaselineCPUMsPerMinute), tuning.Digits(c.BaselineCPUCores))
		if c.BaselineTotalCPUMsPerMinute.Known() {
			text += fmt.Sprintf("; %s ms/min in the whole topology (%s cores)",
				tuning.Digits(c.BaselineTotalCPUMsPerMinute), tuning.Digits(c.BaselineTotalCPUCores))
		}
		return text + "."
	case c.CPUFit.Intercept.Known():
		return fmt.Sprintf("The baseline is unknown, because no step had 0 queries. The fitted line is at %s ms/min of CPU per worker there.",
			tuning.Digits(c.CPUFit.Intercept))
	}
	return "The baseline is unknown, because no step had 0 queries."
}

// OfConcurrency returns the document about which steps were complete and what a query costs. The first figure is the
// one on the first screen: if a step was incomplete it is the chart of completeness, else the chart of the cost.
func OfConcurrency(c *tuning.Concurrency) *document.Document {
	d := &document.Document{Title: "Simultaneous queries: completeness and cost", Notes: c.Notes}
	anyStep := func(holds func(tuning.ConcurrencyStep) bool) bool { return slices.ContainsFunc(c.Steps, holds) }
	sizes := anyStep(func(s tuning.ConcurrencyStep) bool { return s.AverageResultSize.Known() })
	verdict := "Completeness is not judged, because no records were made for the queries to find."
	if sizes {
		verdict = fmt.Sprintf("A step is OK if its average result size is at least %s of %s records.",
			tuning.Digits(c.SmallestResultSize), tuning.Digits(c.ExpectedResultSize))
	}
	if anyStep(func(s tuning.ConcurrencyStep) bool {
		return s.Verdict == tuning.Fail && s.AverageResultSize >= c.SmallestResultSize
	}) {
		verdict += " A complete step that is FAIL missed another goal."
	}
	d.Find("Capacity: %s.", c.Capacity.Of("simultaneous queries"))
	d.Findings = append(append(d.Findings, verdict), costFindings(c)...)
	d.AddTable("Steps", concurrencyTable(c))
	incomplete := anyStep(func(s tuning.ConcurrencyStep) bool { return s.AverageResultSize < c.SmallestResultSize })
	switch {
	case !sizes:
		d.Draw(costChart(c))
	case incomplete:
		d.Draw(completenessChart(c), costChart(c))
	default:
		d.Draw(costChart(c), completenessChart(c))
	}
	return d
}

// OfCost returns the document about what queries cost, for steps that are not judged by completeness but, for example,
// by latency. The figure has another name than that of OfConcurrency, because a report may have both.
func OfCost(c *tuning.Concurrency) *document.Document {
	d := &document.Document{Title: "Cost per query", Findings: costFindings(c), Notes: c.Notes}
	d.AddTable("Steps", concurrencyTable(c))
	cost := costChart(c)
	cost.Name = "cost-cpu"
	d.Draw(cost)
	return d
}

// concurrencyTable is the table of Bullet's tuning document with computed columns. The columns of garbage collection
// are there only if it was measured.
func concurrencyTable(c *tuning.Concurrency) document.Table {
	type step = tuning.ConcurrencyStep
	columns := []document.Of[step]{
		countColumn("Queries", func(s step) int { return s.Queries }),
		document.Text("Verdict", func(s step) string { return string(s.Verdict) }),
		digitsColumn("Average result size", "", func(s step) Figure { return s.AverageResultSize }),
		digitsColumn("Average CPU", "ms/min", func(s step) Figure { return s.AverageCPUMsPerMinute }),
		digitsColumn("Average cores", "", func(s step) Figure { return s.AverageCPUCores }),
		digitsColumn("Workers", "", func(s step) Figure { return s.Workers }),
		digitsColumn("Total CPU", "ms/min", func(s step) Figure { return s.TotalCPUMsPerMinute }),
		digitsColumn("Total cores", "", func(s step) Figure { return s.TotalCPUCores }),
	}
	if c.GCCorrelation.Known() || len(c.Steps) > 0 && c.Steps[0].GCShareOfTime.Known() {
		columns = append(columns,
			percentColumn("GC share of CPU", func(s step) Figure { return s.GCShareOfCPU }),
			percentColumn("GC share of time", func(s step) Figure { return s.GCShareOfTime }),
			digitsColumn("Total GC", "ms/min", func(s step) Figure { return s.TotalGCMsPerMinute }))
	}
	return document.TableOf(c.Steps, columns...)
}

// overQueries returns the points of a figure over the queries. Points of steps that were not OK are hollow, because
// they are shown but not fitted.
func overQueries(name string, colour int, c *tuning.Concurrency,
	figure func(tuning.ConcurrencyStep) Figure) chart.Points {
	queries := func(s tuning.ConcurrencyStep) Figure { return Figure(s.Queries) }
	points := measuredPoints(name, colour, c.Steps, queries, figure)
	points.Full = tuning.Each(c.Steps, tuning.ConcurrencyStep.Complete)
	return points
}

// measuredSteps names the points in a legend. A hollow point is a step that was not OK, or that was OK in only some
// attempts.
const measuredSteps = "measured (hollow: not OK)"

// otherSteps names the points of the steps that a cost was not fitted to.
const otherSteps = "other steps, not fitted (hollow: not OK)"

// costNames are the legend names of the points that a cost was fitted to, by the source of the points.
var costNames = map[tuning.CostSource]string{"": "measured", tuning.FromClimb: "measured, OK capacity steps",
	tuning.FromMirroredLoads: "measured, cost steps"}

// costChart draws the points that the cost was fitted to, with the line over their range. Steps that were not fitted
// have another colour, so that a reader sees what was left out.
func costChart(c *tuning.Concurrency) chart.Plot {
	load := func(p tuning.CostPoint) Figure { return Figure(p.Queries) }
	cpu := func(p tuning.CostPoint) Figure { return p.AverageCPUMsPerMinute }
	fitted, others := c.CostPoints()
	points := measuredPoints(costNames[c.CostFrom], 0, fitted, load, cpu)
	if c.CostFrom == "" {
		points = overQueries(measuredSteps, 0, c,
			func(s tuning.ConcurrencyStep) Figure { return s.AverageCPUMsPerMinute })
	}
	plot := newPlot("concurrency-cpu", "CPU time of a worker over simultaneous queries", simultaneousQueries,
		"CPU ms per minute, mean over workers (60K is one core)", points)
	if len(others) > 0 {
		rest := measuredPoints(otherSteps, 2, others, load, cpu)
		rest.Full = tuning.Each(others, func(p tuning.CostPoint) bool { return p.Complete })
		plot.Points = append(plot.Points, rest)
	}
	if c.Marginal.Value.Known() { // a slope that was refused is not drawn either
		plot.Points = append(plot.Points, fitOver("least squares", 1, points.X, 0, 0, c.CPUFit.At)...)
	}
	return plot
}

// completenessChart draws the average result size over the queries, with the smallest size that counts as complete.
func completenessChart(c *tuning.Concurrency) chart.Plot {
	plot := newPlot("concurrency-completeness", "Average result size over simultaneous queries", simultaneousQueries,
		"records per query",
		overQueries(measuredSteps, 0, c, func(s tuning.ConcurrencyStep) Figure { return s.AverageResultSize }))
	plot.Limit = chart.Limit{
		At: float64(c.SmallestResultSize), Name: "required: " + tuning.Digits(c.SmallestResultSize),
	}
	return plot
}

// configurationsChart draws the CPU of the whole topology over queries, a line for each configuration. It uses totals,
// because the mean of a worker is not comparable between configurations with different workers.
func configurationsChart(all []NamedConcurrency) chart.Plot {
	plot := newPlot("configurations", "CPU of the whole topology over simultaneous queries, by configuration "+
		"(hollow: not OK)", simultaneousQueries, "CPU ms/min of all workers")
	for i, c := range all {
		points := overQueries(c.Label, i, c.Concurrency,
			func(s tuning.ConcurrencyStep) Figure { return s.TotalCPUMsPerMinute })
		plot.Points = append(plot.Points, joined(points), points)
	}
	return plot
}

// OfTimeline returns the document about how long a record takes from stage to stage through Bullet. Different clocks
// stamp the stages. The document therefore states how large the skew between them may be, and does not correct the
// delays.
func OfTimeline(t *tuning.Timeline) *document.Document {
	d := &document.Document{Title: "Record timeline: the stages of a record in Bullet", Notes: t.Notes}
	d.Find("%d of %d queries found their record.", t.Returned, t.Queries)
	for _, e := range []struct {
		name string
		tuning.Estimate
	}{{"Delay added by Bullet", t.AddedDelay}, {"Time to find a generated record", t.FindTime}} {
		if e.Value.Known() || e.Note != "" {
			d.Find("%s: %s.", e.name, e.Text(tuning.DefaultConfidence, "ms"))
		}
	}
	if len(t.Skews) > 0 {
		d.Find("The delays are not corrected for clock skew. Its bounds are below.")
	}
	if len(t.Hosts) > 0 {
		d.Find("%s", hostsFinding(t.Hosts))
	}
	d.AddTable("Delay of each stage relative to Query Received", stageTable(t.Stages))
	d.AddTable("Clock skew between stages", skewTable(t.Skews))
	d.AddTable("Clock skew of each worker host relative to the collector, lower bound", hostTable(t.Hosts))
	if len(t.Stages) > 0 {
		d.Draw(stageChart(t.Stages))
	}
	return d
}

// stageTable has a row for each stage with its delay relative to the receipt of the query. A stage may come before it.
func stageTable(stages []tuning.Stage) document.Table {
	type stage = tuning.Stage
	return document.TableOf(stages,
		document.Text("Stage", func(s stage) string { return s.Name }),
		document.Text("Stamped by", func(s stage) string { return cmp.Or(s.Host, document.Unknown) }),
		countColumn("Records", func(s stage) int { return s.Count }),
		digitsColumn("Mean delay", "ms", func(s stage) Figure { return s.MeanMs }),
		digitsColumn("Standard deviation", "ms", func(s stage) Figure { return s.DeviationMs }),
		digitsColumn("Minimum", "ms", func(s stage) Figure { return s.LeastMs }),
		digitsColumn("Median", "ms", func(s stage) Figure { return s.MedianMs }),
		digitsColumn("p95", "ms", func(s stage) Figure { return s.P95Ms }),
		digitsColumn("Maximum", "ms", func(s stage) Figure { return s.MostMs }),
	)
}

// stageChart draws each stage with its mean, its standard deviation and its range.
func stageChart(stages []tuning.Stage) chart.Ranges {
	return chart.Ranges{
		Name: "timeline-stages", XLabel: "ms relative to Query Received (negative: before it)", Unit: "ms",
		Title: "Stages of a record in Bullet: mean, standard deviation (thick) and range (thin)",
		Rows: tuning.Each(stages, func(s tuning.Stage) chart.Range {
			return chart.Range{
				Name: s.Name, Text: tuning.Digits(s.MeanMs), Mean: float64(s.MeanMs), Deviation: float64(s.DeviationMs),
				Least: float64(s.LeastMs), Most: float64(s.MostMs),
			}
		}),
	}
}

// skewTable has a row for each pair of clocks with known bounds of their skew. The bounds are shown but never
// subtracted from a delay.
func skewTable(skews []tuning.Skew) document.Table {
	type skew = tuning.Skew
	return document.TableOf(skews,
		document.Text("Clock", func(s skew) string { return clockText(s.To, s.ToClocks) }),
		document.Text("Ahead of", func(s skew) string { return clockText(s.From, s.FromClocks) }),
		digitsColumn("At least", "ms", func(s skew) Figure { return s.LeastMs }),
		digitsColumn("At most", "ms", func(s skew) Figure { return s.MostMs }),
		document.Text("Known by", func(s skew) string {
			if s.Empty() {
				return s.Method + "; no single skew fits all of them"
			}
			return s.Method
		}),
	)
}

// clockText returns the name of a clock, with the number of hosts if the name stands for several.
func clockText(name string, clocks int) string {
	if clocks < 2 {
		return name
	}
	return fmt.Sprintf("%s (%d hosts)", name, clocks)
}

// hostsFinding says on how many hosts the workers ran, and how large the skew between their clocks seems to be.
func hostsFinding(hosts []tuning.HostClock) string {
	ahead := hosts[0].AheadMs
	switch {
	case len(hosts) > 1:
		return fmt.Sprintf("The workers ran on %d hosts. According to their freshest samples, the clocks differ by up to %s ms. Delays between two hosts are no more exact than that.",
			len(hosts), tuning.Digits(tuning.Apart(hosts)))
	case ahead > 0:
		return fmt.Sprintf("The workers ran on one host. Its clock is at least %s ms ahead of the clock of the collector.",
			tuning.Digits(ahead))
	}
	return fmt.Sprintf("The workers ran on one host. Its clock is at most %s ms behind the clock of the collector.",
		tuning.Digits(-ahead))
}

// hostTable has a row for each worker host. A sample cannot arrive before it was taken. The freshest sample of a host
// therefore gives a lower bound for how far its clock is ahead of the collector's.
func hostTable(hosts []tuning.HostClock) document.Table {
	type host = tuning.HostClock
	return document.TableOf(hosts,
		document.Text("Host", func(h host) string { return h.Host }),
		countColumn("Workers", func(h host) int { return h.Workers }),
		countColumn("Readings", func(h host) int { return h.Readings }),
		digitsColumn("Ahead by at least", "ms", func(h host) Figure { return h.AheadMs }),
		digitsColumn("Mean reading", "ms", func(h host) Figure { return h.MeanMs }),
		digitsColumn("Standard deviation", "ms", func(h host) Figure { return h.DeviationMs }),
		digitsColumn("Lowest reading", "ms", func(h host) Figure { return h.LowestMs }),
	)
}
