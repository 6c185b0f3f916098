package runner

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// Summary returns the result as lines of text: the verdict, one line per row, failed trials and notes. tune run prints
// it at its end; the result itself is in result.json.
func Summary(plan runstore.Plan, r runstore.Result) (lines []string) {
	lines = append(lines, fmt.Sprintf("verdict: %s", r.Verdict))
	for _, row := range r.Rows {
		line := fmt.Sprintf("  %s: %s", row.Label, row.Verdict)
		if plan.Analysis != runstore.OfTimeline { // a timeline has no capacity
			line += ", capacity " + row.Capacity.Of(plan.Axis.Unit())
		}
		lines = append(lines, line)
	}
	for _, t := range r.Trials {
		if t.State == runstore.Failed {
			lines = append(lines, fmt.Sprintf("  trial %d could not be measured: %s", t.Number, t.Error))
		}
	}
	for _, note := range r.Notes {
		lines = append(lines, "  "+note)
	}
	return lines
}
