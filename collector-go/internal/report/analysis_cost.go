package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// OfCost shows what queries cost, of steps that are judged by something else than their completeness.
func OfCost(c *tuning.Concurrency) *Analysis {
	a := &Analysis{Title: "What a query costs", Findings: costFindings(c), notes: c.Notes}
	a.add("Steps", concurrencyTable(c))
	chart := costChart(c)
	chart.Name, chart.marks[0].name = "cost-cpu", "measured (hollow: FAIL)"
	a.Charts = []Chart{chart}
	return a
}

// costFindings are the baseline and what a query adds to it, of a worker and of the whole topology.
func costFindings(c *tuning.Concurrency) (out []string) {
	switch {
	case !c.BaselineCPUMsPerMinute.Known() && c.CPUFit.Intercept.Known():
		out = append(out, fmt.Sprintf("No baseline: no step had 0 queries. The fitted line has %s ms/min of CPU a worker there.", tuning.Digits(c.CPUFit.Intercept)))
	case !c.BaselineCPUMsPerMinute.Known():
		out = append(out, "No baseline: no step had 0 queries.")
	default:
		text := fmt.Sprintf("Baseline without queries: %s ms/min of CPU a worker (%s cores)", tuning.Digits(c.BaselineCPUMsPerMinute), tuning.Digits(c.BaselineCPUCores))
		if c.BaselineTotalCPUMsPerMinute.Known() {
			text += fmt.Sprintf("; %s ms/min in the whole topology (%s cores)", tuning.Digits(c.BaselineTotalCPUMsPerMinute), tuning.Digits(c.BaselineTotalCPUCores))
		}
		out = append(out, text+".")
	}
	out = append(out, "Each query adds: "+estimate(c.Marginal, c.Confidence, "ms/min of CPU a worker")+"; "+estimate(c.MarginalCores, c.Confidence, "cores")+".")
	if c.MarginalWhileComplete.Value.Known() && c.MarginalWhileComplete.Value != c.Marginal.Value {
		out = append(out, "Over the complete steps alone: "+estimate(c.MarginalWhileComplete, c.Confidence, "ms/min of CPU a worker")+".")
	}
	if c.MarginalTotal.Value.Known() {
		out = append(out, "In the whole topology each query adds: "+estimate(c.MarginalTotal, c.Confidence, "ms/min of CPU")+".")
	}
	switch total := c.MarginalTotalWhileComplete; {
	case total.Value.Known() && total.Value != c.MarginalTotal.Value:
		out = append(out, "In the whole topology over the complete steps alone: "+estimate(total, c.Confidence, "ms/min of CPU")+"; "+
			estimate(c.MarginalTotalCoresWhileComplete, c.Confidence, "cores")+".")
	case !total.Value.Known() && c.MarginalTotal.Value.Known():
		out = append(out, fmt.Sprintf("Over complete steps alone nothing can be told: %s.", total.Note))
	}
	if c.GCCorrelation.Known() {
		out = append(out, fmt.Sprintf("Correlation of GC time with CPU over the steps: %s.", tuning.Digits(c.GCCorrelation)))
	}
	return out
}
