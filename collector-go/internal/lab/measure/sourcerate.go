package measure

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// emittedPerSecond returns the records/s that the source emitted between two looks. The source's figures are as old as
// its tasks' last reports, so it divides by the time between the reports and not between the looks.
func emittedPerSecond(before, after look) float64 {
	between := after.at.Sub(before.at)
	if reported := between - after.source.Age() + before.source.Age(); reported > 0 {
		between = reported
	}
	return float64(after.source.Emitted-before.source.Emitted) / between.Seconds()
}

// sourceRate returns the rate that the step requested from the source, including the records for queries, and the rate
// that was made. Call it before takeIn, which replaces the rate that was made by the rate that the topology read from
// a broker.
func (s *Session) sourceRate(step *runstore.Step) tuning.SourceRateEvidence {
	return tuning.SourceRateEvidence{AskedPerSecond: step.RecordsPerSecondAsked + tuning.Figure(s.probesPerSecond()),
		MadePerSecond: step.RecordsPerSecond}
}
