package runstore

import (
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// complete adds the fields that the steps of older runs lack, as far as they follow from the rest, so that all readers
// see the same steps. In version 1, run.json has the evidence of the steps.
func (t *Trial) complete() error {
	if slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Evidence == nil }) {
		older, err := readIfThere[Figures](filepath.Join(t.Dir, FiguresFile))
		if err != nil {
			return err
		}
		if older != nil {
			t.adopt(older.Steps)
		}
	}
	for i := range t.Steps {
		t.Steps[i].Complete()
	}
	return nil
}

// adopt adds the parts of the steps that run.json contained before version 2.
func (t *Trial) adopt(older []Step) {
	for i := range t.Steps {
		step := &t.Steps[i]
		for _, before := range older {
			if before.StartMs != step.StartMs {
				continue
			}
			if step.Evidence == nil {
				step.Evidence = before.Evidence
			}
			if step.FilterLatency == nil {
				step.FilterLatency = before.FilterLatency
			}
			if step.Sharing == nil {
				step.Sharing = before.Sharing
			}
		}
	}
}

// Complete sets the fields that follow from others: what limited the step, the percentiles that it was judged by, and
// its volume. It never computes the verdict again. The verdict decided how the search continued, and nothing may
// contradict the run. The volume comes from the bytes that the source counted, or else it is an estimate from the
// stated record size.
func (s *Step) Complete() {
	if s.Limitation == nil && s.Evidence != nil {
		l := tuning.Limit(*s.Evidence)
		l.AdjustFor(tuning.Judgement{Verdict: s.Verdict, Reasons: s.Reasons})
		s.Limitation = &l
	}
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
