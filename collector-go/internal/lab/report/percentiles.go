package report

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// hookHistogram is the filter latency as a distribution, from the latency hook (proto/METRICS.md).
const hookHistogram = "bullet_filter_latency_seconds"

// percentilesOf are those that a step was judged by; nil where it was by none.
func percentilesOf(outcomes []tuning.GoalOutcome) *runstore.Percentiles {
	p := runstore.Percentiles{Records: Unknown, P50Ms: Unknown, P95Ms: Unknown, P99Ms: Unknown}
	percentiles := map[tuning.Statistic]*Figure{tuning.P50: &p.P50Ms, tuning.P95: &p.P95Ms, tuning.P99: &p.P99Ms}
	found := false
	for _, o := range outcomes {
		at := percentiles[o.Goal.Statistic]
		if o.Goal.Figure == tuning.FilterLatency && at != nil && o.Measured.Known() {
			*at, found = o.Measured, true
		}
	}
	if !found {
		return nil
	}
	return &p
}
