package experiment

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// underWay fills in what the load client saw of the queries in each of a step's slices: how many were under way, the
// mean over the slice, and how many returned in it. All of the step's queries must have ended.
func (s *Session) underWay(all []tuning.QuerySlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width := s.width.Milliseconds()
	for i := range all {
		slice := rundir.Span{From: all[i].EndMs - width, To: all[i].EndMs}
		var lived int64
		returned := 0
		for _, o := range s.outcomes {
			if o.End == load.NotSubmitted {
				continue
			}
			lived += max(0, min(o.FinishedMs, slice.To)-max(o.SubmittedMs, slice.From))
			if o.End == load.Returned && o.FinishedMs > slice.From && o.FinishedMs <= slice.To {
				returned++
			}
		}
		all[i].Submitted, all[i].Returned = tuning.Figure(float64(lived)/float64(width)), tuning.Figure(returned)
	}
}
