package report

import (
	"fmt"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// OfConcurrency shows which steps were complete and what a query costs.
func OfConcurrency(c *tuning.Concurrency) *Analysis {
	a := &Analysis{Title: "Simultaneous queries: completeness and cost", notes: c.Notes}
	a.Findings = append(a.Findings, "Capacity: "+capacity(c.Capacity)+" simultaneous queries."+sentence(c.Capacity.Note),
		fmt.Sprintf("A step is OK when its average result size is at least %s of %s records.", tuning.Digits(c.SmallestResultSize), tuning.Digits(c.ExpectedResultSize)))
	a.Findings = append(a.Findings, costFindings(c)...)
	a.add("Steps", concurrencyTable(c))
	a.Charts = []Chart{costChart(c), completenessChart(c)}
	return a
}

// sentence is a note behind a finding.
func sentence(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

func concurrencyTable(c *tuning.Concurrency) table {
	t := table{Heads: []string{"Queries", "Verdict", "Average result size", "Average CPU ms/min", "Average cores", "Workers", "Total CPU ms/min", "Total cores"},
		Numeric: []bool{true, false, true, true, true, true, true, true}}
	gc := c.GCCorrelation.Known() || len(c.Steps) > 0 && c.Steps[0].GCShareOfTime.Known()
	if gc {
		t.Heads, t.Numeric = append(t.Heads, "GC of CPU", "GC of time", "Total GC ms/min"), append(t.Numeric, true, true, true)
	}
	for _, s := range c.Steps {
		row := []string{strconv.Itoa(s.Queries), string(s.Verdict), tuning.Digits(s.AverageResultSize), tuning.Digits(s.AverageCPUMsPerMinute), tuning.Digits(s.AverageCPUCores),
			tuning.Digits(s.Workers), tuning.Digits(s.TotalCPUMsPerMinute), tuning.Digits(s.TotalCPUCores)}
		if gc {
			row = append(row, percent(s.GCShareOfCPU), percent(s.GCShareOfTime), tuning.Digits(s.TotalGCMsPerMinute))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func notFailed(steps []tuning.ConcurrencyStep) (ok []bool) {
	for _, s := range steps {
		ok = append(ok, s.Verdict != tuning.Fail)
	}
	return ok
}

func queriesOf(s tuning.ConcurrencyStep) Figure { return Figure(s.Queries) }

func costChart(c *tuning.Concurrency) Chart {
	chart := Chart{Name: "concurrency-cpu", Title: "CPU time of a worker over simultaneous queries", xLabel: "simultaneous queries", yLabel: "CPU ms per minute, mean over workers (60K is a core)", limit: Unknown}
	chart.marks = append(chart.marks, marks{name: "measured (hollow: records were lost)", colour: workerColour(0), x: floats(c.Steps, queriesOf),
		y: floats(c.Steps, func(s tuning.ConcurrencyStep) Figure { return s.AverageCPUMsPerMinute }), verdicts: notFailed(c.Steps)})
	if c.CPUFit.Slope.Known() {
		last := float64(c.Steps[len(c.Steps)-1].Queries)
		chart.marks = append(chart.marks, straight("least squares", 1, 0, last, c.CPUFit.At, false))
	}
	return chart
}

func completenessChart(c *tuning.Concurrency) Chart {
	chart := Chart{Name: "concurrency-completeness", Title: "Average result size over simultaneous queries", xLabel: "simultaneous queries", yLabel: "records a query",
		limit: c.SmallestResultSize, limitAs: "least that is complete: " + tuning.Digits(c.SmallestResultSize)}
	chart.marks = append(chart.marks, marks{name: "measured (hollow: records were lost)", colour: workerColour(0), x: floats(c.Steps, queriesOf),
		y: floats(c.Steps, func(s tuning.ConcurrencyStep) Figure { return s.AverageResultSize }), verdicts: notFailed(c.Steps)})
	return chart
}
