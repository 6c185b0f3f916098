package measure

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// emittedPerSecond is what the source emitted between two looks. Its figures are as old as its tasks' last reports,
// which come at an interval: the time between the reports counts, not that between the looks.
func emittedPerSecond(before, after look) float64 {
	between := after.at.Sub(before.at)
	if reported := between - after.source.Age() + before.source.Age(); reported > 0 {
		between = reported
	}
	return float64(after.source.Emitted-before.source.Emitted) / between.Seconds()
}

// sourceRate is what the step asked of the source, the records that queries look for among it, and what was made. It
// is to be asked before takeIn, which puts what the topology read from a broker in the place of what was made.
func (s *Session) sourceRate(step *runstore.Step) tuning.SourceRateEvidence {
	return tuning.SourceRateEvidence{AskedPerSecond: step.RecordsPerSecondAsked + tuning.Figure(s.probesPerSecond()),
		MadePerSecond: step.RecordsPerSecond}
}
