package report

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"

// gcOverLaunches is the garbage collection of several launches of one configuration: the steps of all, and the correlations over the
// slices of all. Nil where none told of its collectors.
func gcOverLaunches(launches []*Report) *GCReport {
	out := &GCReport{Confidence: tuning.DefaultConfidence}
	var gc, cpu, latency []Figure
	for _, r := range launches {
		if r.GC == nil {
			continue
		}
		out.Steps = append(out.Steps, r.GC.Steps...)
		moreGC, moreCPU, moreLatency := r.measuredSlices()
		gc, cpu, latency = append(gc, moreGC...), append(cpu, moreCPU...), append(latency, moreLatency...)
	}
	if len(out.Steps) == 0 {
		return nil
	}
	out.WithCPU, out.WithLatency = tuning.Correlate(gc, cpu, out.Confidence), tuning.Correlate(gc, latency, out.Confidence)
	return out
}
