package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Complete corrects the limitation of a step that met its goals. It sets the percentiles that the step was judged by
// and its volume, because older runs lack them. It never computes the verdict again. The verdict decided how the
// search continued, and nothing may contradict the run. The volume comes from the bytes that the source counted, or
// else it is an estimate from the stated record size.
func (s *Step) Complete() {
	if s.Limitation != nil && s.Verdict == tuning.OK {
		l := s.Limitation.OfOK() // older programs named a limiter
		s.Limitation = &l
	}
	if s.FilterLatency == nil {
		s.FilterLatency = percentilesOf(s.Figures)
	}
	if s.Evidence != nil && s.Evidence.Source.BytesPerSecond.Known() {
		s.MiBPerSecond, s.MiBEstimated = s.Evidence.Source.BytesPerSecond/(1<<20), false
		return
	}
	s.MiBEstimated = s.MiBPerSecond.Known()
}

// percentilesOf returns the percentiles of the filter latency among the outcomes of a step's goals, or nil if there are
// none. Older runs stored percentiles only in these outcomes.
func percentilesOf(outcomes []tuning.GoalOutcome) *Percentiles {
	p := Percentiles{Records: tuning.Unknown, P50Ms: tuning.Unknown, P95Ms: tuning.Unknown, P99Ms: tuning.Unknown}
	percentiles := map[tuning.Statistic]*tuning.Figure{tuning.P50: &p.P50Ms, tuning.P95: &p.P95Ms,
		tuning.P99: &p.P99Ms}
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
