package report

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// OfConcurrency shows which steps were complete and what a query costs.
func OfConcurrency(c *tuning.Concurrency) *document.Document {
	d := &document.Document{Title: "Simultaneous queries: completeness and cost", Notes: c.Notes}
	sizes := slices.ContainsFunc(c.Steps, func(s tuning.ConcurrencyStep) bool { return s.AverageResultSize.Known() })
	judged := "Completeness is not judged: no record was made for the queries to find."
	if sizes {
		judged = fmt.Sprintf("A step is OK when its average result size is at least %s of %s records.",
			tuning.Digits(c.SmallestResultSize), tuning.Digits(c.ExpectedResultSize))
	}
	if slices.ContainsFunc(c.Steps, func(s tuning.ConcurrencyStep) bool {
		return s.Verdict == tuning.Fail && s.AverageResultSize >= c.SmallestResultSize
	}) {
		judged += " One that is FAIL although it was complete missed another goal."
	}
	d.Findings = append(d.Findings, "Capacity: "+c.Capacity.Of("simultaneous queries")+".", judged)
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
