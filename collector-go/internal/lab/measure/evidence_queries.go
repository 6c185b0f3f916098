package measure

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// meanInFlight returns the mean number of the load clients' queries in flight over a span. All queries of the step
// must have ended.
func (s *Session) meanInFlight(over runstore.Span) tuning.Figure {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lived int64
	for _, o := range s.outcomes {
		lived += livedIn(o, over)
	}
	return tuning.Figure(float64(lived) / float64(over.To-over.From))
}

// livedIn returns for how long a query was in flight within a span, in ms.
func livedIn(o load.Outcome, over runstore.Span) int64 {
	if o.End == load.NotSubmitted {
		return 0
	}
	return max(0, min(o.FinishedMs, over.To)-max(o.SubmittedMs, over.From))
}

// inFlight sets what the load client saw in each slice of a step: the mean number of queries in flight and the number
// of queries that returned. All of the step's queries must have ended. A query counts for the part of a slice in which
// it was in flight.
func (s *Session) inFlight(all []tuning.QuerySlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width := s.width.Milliseconds()
	for i := range all {
		slice := runstore.Span{From: all[i].EndMs - width, To: all[i].EndMs}
		var lived int64
		returned := 0
		for _, o := range s.outcomes {
			lived += livedIn(o, slice)
			if o.End == load.Returned && o.FinishedMs > slice.From && o.FinishedMs <= slice.To {
				returned++
			}
		}
		all[i].Submitted, all[i].Returned = tuning.Figure(float64(lived)/float64(width)), tuning.Figure(returned)
	}
}
