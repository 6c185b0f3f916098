package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
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
