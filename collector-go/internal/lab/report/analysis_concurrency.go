package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// costFindings are the baseline and what a query adds to it, of a worker and of the whole topology.
func costFindings(c *tuning.Concurrency) []string {
	text := func(e tuning.Estimate, unit string) string {
		if !e.Value.Known() {
			return "not determined: " + e.Note
		}
		return e.Text(c.Confidence, unit)
	}
	out := []string{baseline(c), "Each query adds: " + text(c.Marginal, "ms/min of CPU a worker")}
	if c.MarginalCores.Value.Known() {
		out[1] += "; " + text(c.MarginalCores, "cores")
	}
	out[1] += "."
	differs := func(e, all tuning.Estimate) bool { return e.Value.Known() && e.Value != all.Value }
	if differs(c.MarginalWhileComplete, c.Marginal) {
		out = append(out, "Over the complete steps alone: "+text(c.MarginalWhileComplete, "ms/min of CPU a worker")+".")
	}
	if c.MarginalTotal.Value.Known() {
		out = append(out, "In the whole topology each query adds: "+text(c.MarginalTotal, "ms/min of CPU")+".")
	}
	switch total := c.MarginalTotalWhileComplete; {
	case differs(total, c.MarginalTotal):
		out = append(out, "In the whole topology over the complete steps alone: "+text(total, "ms/min of CPU")+"; "+
			text(c.MarginalTotalCoresWhileComplete, "cores")+".")
	case !total.Value.Known() && c.MarginalTotal.Value.Known():
		out = append(out, fmt.Sprintf("Over complete steps alone nothing is known: %s.", total.Note))
	}
	if c.GCCorrelation.Known() {
		out = append(out,
			fmt.Sprintf("Correlation of GC time with CPU over the steps: %s.", tuning.Digits(c.GCCorrelation)))
	}
	return out
}

// baseline is the cost without queries.
func baseline(c *tuning.Concurrency) string {
	switch {
	case c.BaselineCPUMsPerMinute.Known():
		text := fmt.Sprintf("Baseline without queries: %s ms/min of CPU a worker (%s cores)",
			tuning.Digits(c.BaselineCPUMsPerMinute), tuning.Digits(c.BaselineCPUCores))
		if c.BaselineTotalCPUMsPerMinute.Known() {
			text += fmt.Sprintf("; %s ms/min in the whole topology (%s cores)",
				tuning.Digits(c.BaselineTotalCPUMsPerMinute), tuning.Digits(c.BaselineTotalCPUCores))
		}
		return text + "."
	case c.CPUFit.Intercept.Known():
		return fmt.Sprintf("No baseline: no step had 0 queries. The fitted line has %s ms/min of CPU a worker there.",
			tuning.Digits(c.CPUFit.Intercept))
	}
	return "No baseline: no step had 0 queries."
}

// OfConcurrency shows which steps were complete and what a query costs.
func OfConcurrency(c *tuning.Concurrency) *document.Document {
	d := &document.Document{Title: "Simultaneous queries: completeness and cost", Notes: c.Notes}
	sizes := slices.ContainsFunc(c.Steps, func(s tuning.ConcurrencyStep) bool { return s.AverageResultSize.Known() })
	verdict := "Completeness is not judged: no record was made for the queries to find."
	if sizes {
		verdict = fmt.Sprintf("A step is OK when its average result size is at least %s of %s records.",
			tuning.Digits(c.SmallestResultSize), tuning.Digits(c.ExpectedResultSize))
	}
	if slices.ContainsFunc(c.Steps, func(s tuning.ConcurrencyStep) bool {
		return s.Verdict == tuning.Fail && s.AverageResultSize >= c.SmallestResultSize
	}) {
		verdict += " One that is FAIL although it was complete missed another goal."
	}
	d.Findings = append(d.Findings, "Capacity: "+c.Capacity.Of("simultaneous queries")+".", verdict)
	d.Findings = append(d.Findings, costFindings(c)...)
	d.Add("Steps", document.Tabled(concurrencyTable(c)))
	d.Figures = append(d.Figures, costChart(c).Figure())
	if sizes {
		at := len(d.Figures) // behind what it cost, unless it shows what a step was judged by
		if slices.ContainsFunc(c.Steps, func(s tuning.ConcurrencyStep) bool {
			return s.AverageResultSize < c.SmallestResultSize
		}) {
			at = 0
		}
		d.Figures = slices.Insert(d.Figures, at, completenessChart(c).Figure())
	}
	return d
}

// OfCost shows what queries cost, of steps that are judged by something else than their completeness.
func OfCost(c *tuning.Concurrency) *document.Document {
	d := &document.Document{Title: "What a query costs", Findings: costFindings(c), Notes: c.Notes}
	d.Add("Steps", document.Tabled(concurrencyTable(c)))
	cost := costChart(c)
	cost.Name = "cost-cpu"
	d.Figures = []chart.Figure{cost.Figure()}
	return d
}

func concurrencyTable(c *tuning.Concurrency) document.Table {
	type step = tuning.ConcurrencyStep
	columns := []document.Of[step]{
		wholeColumn("Queries", func(s step) int { return s.Queries }),
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
			percentColumn("GC of CPU", func(s step) Figure { return s.GCShareOfCPU }),
			percentColumn("GC of time", func(s step) Figure { return s.GCShareOfTime }),
			digitsColumn("Total GC", "ms/min", func(s step) Figure { return s.TotalGCMsPerMinute }))
	}
	return document.TableOf(c.Steps, columns...)
}

// overQueries are a figure of the steps over their queries, hollow where a step failed.
func overQueries(name string, colour int, c *tuning.Concurrency,
	figure func(tuning.ConcurrencyStep) Figure) chart.Points {
	queries := func(s tuning.ConcurrencyStep) Figure { return Figure(s.Queries) }
	points := measuredPoints(name, colour, c.Steps, queries, figure)
	for _, s := range c.Steps {
		points.Full = append(points.Full, s.Verdict != tuning.Fail)
	}
	return points
}

const measuredSteps = "measured (hollow: FAIL)"

// costNames are what the points of a cost's fit are called, by what they are from.
var costNames = map[tuning.CostSource]string{"": "measured", tuning.FromClimb: "measured, of steps that were OK",
	tuning.FromMirroredLoads: "measured for the cost"}

// costChart has the points that the cost was fitted to, with the line over their range, and the steps that were not, by
// themselves.
func costChart(c *tuning.Concurrency) chart.Plot {
	load := func(p tuning.CostPoint) Figure { return Figure(p.Queries) }
	cpu := func(p tuning.CostPoint) Figure { return p.AverageCPUMsPerMinute }
	fitted, others := c.CostPoints()
	points, rest := measuredPoints(costNames[c.CostFrom], 0, fitted, load, cpu),
		measuredPoints("other steps, not fitted (hollow: FAIL)", 2, others, load, cpu)
	for _, p := range others {
		rest.Full = append(rest.Full, p.Verdict != tuning.Fail)
	}
	if c.CostFrom == "" {
		points = overQueries(measuredSteps, 0, c,
			func(s tuning.ConcurrencyStep) Figure { return s.AverageCPUMsPerMinute })
	}
	plot := chart.Plot{
		Name: "concurrency-cpu", Title: "CPU time of a worker over simultaneous queries", XLabel: simultaneousQueries,
		YLabel: "CPU ms per minute, mean over workers (60K is a core)", Limit: chart.NoLimit,
		Points: []chart.Points{points},
	}
	if len(others) > 0 {
		plot.Points = append(plot.Points, rest)
	}
	if c.CPUFit.Slope.Known() {
		plot.Points = append(plot.Points, fitOver("least squares", 1, points.X, 0, 0, c.CPUFit.At)...)
	}
	return plot
}

func completenessChart(c *tuning.Concurrency) chart.Plot {
	return chart.Plot{
		Name: "concurrency-completeness", Title: "Average result size over simultaneous " +
			"queries", XLabel: simultaneousQueries,
		YLabel: "records a query",
		Limit: chart.Limit{
			At: float64(c.SmallestResultSize), Name: "least that is complete: " + tuning.Digits(c.SmallestResultSize),
		},
		Points: []chart.Points{overQueries(measuredSteps, 0, c,
			func(s tuning.ConcurrencyStep) Figure { return s.AverageResultSize })},
	}
}

// configurationsChart is the topology's CPU over queries, a line a configuration.
func configurationsChart(all []NamedConcurrency) chart.Plot {
	plot := chart.Plot{
		Name: "configurations", Title: "CPU of the whole topology over simultaneous queries, by configuration " +
			"(hollow: FAIL)",
		XLabel: simultaneousQueries, YLabel: "CPU ms/min of all workers", Limit: chart.NoLimit,
	}
	for i, c := range all {
		points := overQueries(c.Label, i, c.Concurrency,
			func(s tuning.ConcurrencyStep) Figure { return s.TotalCPUMsPerMinute })
		joined := points
		joined.Name, joined.Full, joined.Joined = "", nil, true
		plot.Points = append(plot.Points, joined, points)
	}
	return plot
}

// OfTimeline shows a record's way through Bullet.
func OfTimeline(t *tuning.Timeline) *document.Document {
	d := &document.Document{Title: "A record's way through Bullet", Notes: t.Notes}
	d.Findings = append(d.Findings, fmt.Sprintf("%d of %d queries found their record.", t.Returned, t.Queries))
	for _, e := range []struct {
		name string
		tuning.Estimate
	}{{"Delay that Bullet adds", t.AddedDelay}, {"Time to find a record that we generate", t.FindTime}} {
		if e.Value.Known() || e.Note != "" {
			d.Findings = append(d.Findings, e.name+": "+e.Text(tuning.DefaultConfidence, "ms")+".")
		}
	}
	if len(t.Skews) > 0 {
		d.Findings = append(d.Findings,
			"Delays are as stamped: how far the clocks may be apart is stated below, and not taken out of them.")
	}
	if len(t.Hosts) > 0 {
		d.Findings = append(d.Findings, hostsFinding(t.Hosts))
	}
	d.Add("Delay of each stage relative to Query Received", document.Tabled(stageTable(t.Stages)))
	d.Add("How far a clock is ahead of another", document.Tabled(skewTable(t.Skews)))
	d.Add("How far each worker host's clock is ahead of the collector's, at least (negative: behind it by no more)",
		document.Tabled(hostTable(t.Hosts)))
	if len(t.Stages) > 0 {
		d.Figures = []chart.Figure{stageChart(t.Stages).Figure()}
	}
	return d
}

func stageTable(stages []tuning.Stage) document.Table {
	type stage = tuning.Stage
	return document.TableOf(stages,
		document.Text("Stage", func(s stage) string { return s.Name }),
		document.Text("Stamped by", func(s stage) string { return cmp.Or(s.Host, document.Unknown) }),
		wholeColumn("Records", func(s stage) int { return s.Count }),
		digitsColumn("Mean delay", "ms", func(s stage) Figure { return s.MeanMs }),
		digitsColumn("Standard deviation", "ms", func(s stage) Figure { return s.DeviationMs }),
		digitsColumn("Least", "ms", func(s stage) Figure { return s.LeastMs }),
		digitsColumn("Median", "ms", func(s stage) Figure { return s.MedianMs }),
		digitsColumn("p95", "ms", func(s stage) Figure { return s.P95Ms }),
		digitsColumn("Most", "ms", func(s stage) Figure { return s.MostMs }),
	)
}

func stageChart(stages []tuning.Stage) chart.Ranges {
	ranges := chart.Ranges{
		Name: "timeline-stages", Title: "A record's way through Bullet: mean, standard deviation (thick) and range " +
			"(thin) of each stage",
		XLabel: "ms relative to Query Received (negative: before it)", Unit: "ms",
	}
	for _, s := range stages {
		ranges.Rows = append(ranges.Rows, chart.Range{
			Name: s.Name, Text: tuning.Digits(s.MeanMs), Mean: float64(s.MeanMs), Deviation: float64(s.DeviationMs),
			Least: float64(s.LeastMs), Most: float64(s.MostMs),
		})
	}
	return ranges
}

func skewTable(skews []tuning.Skew) document.Table {
	type skew = tuning.Skew
	return document.TableOf(skews,
		document.Text("Clock", func(s skew) string { return clockText(s.To, s.ToClocks) }),
		document.Text("Ahead of", func(s skew) string { return clockText(s.From, s.FromClocks) }),
		digitsColumn("At least", "ms", func(s skew) Figure { return s.LeastMs }),
		digitsColumn("At most", "ms", func(s skew) Figure { return s.MostMs }),
		document.Text("Known by", func(s skew) string {
			if s.Empty() {
				return s.Method + "; no one skew fits all of them"
			}
			return s.Method
		}),
	)
}

// clockText is a clock's name, with how many hosts' clocks stand under it.
func clockText(name string, clocks int) string {
	if clocks < 2 {
		return name
	}
	return fmt.Sprintf("%s (%d hosts)", name, clocks)
}

// hostsFinding is on how many hosts the workers ran, and how far their clocks seem to be apart.
func hostsFinding(hosts []tuning.HostClock) string {
	if len(hosts) == 1 {
		if ahead := hosts[0].AheadMs; ahead > 0 {
			return fmt.Sprintf(
				"The workers ran on one host, whose clock is ahead of the collector's by at least %s ms.",
				tuning.Digits(ahead))
		}
		return fmt.Sprintf("The workers ran on one host, whose clock is no more than %s ms behind the collector's.",
			tuning.Digits(-hosts[0].AheadMs))
	}
	return fmt.Sprintf(
		"The workers ran on %d hosts, whose clocks seem to be up to %s ms apart, by the times of their freshest "+
			"samples: "+
			"no delay between two hosts is known better than that.",
		len(hosts),
		tuning.Digits(tuning.Apart(hosts)),
	)
}

func hostTable(hosts []tuning.HostClock) document.Table {
	type host = tuning.HostClock
	return document.TableOf(hosts,
		document.Text("Host", func(h host) string { return h.Host }),
		wholeColumn("Workers", func(h host) int { return h.Workers }),
		wholeColumn("Readings", func(h host) int { return h.Readings }),
		digitsColumn("Ahead by at least", "ms", func(h host) Figure { return h.AheadMs }),
		digitsColumn("Mean reading", "ms", func(h host) Figure { return h.MeanMs }),
		digitsColumn("Standard deviation", "ms", func(h host) Figure { return h.DeviationMs }),
		digitsColumn("Lowest reading", "ms", func(h host) Figure { return h.LowestMs }),
	)
}
