package load

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Window is the time of a step: it begins at Start, is measured from Measured on, and ends at End.
type Window struct{ Start, Measured, End time.Time }

// Holds reports whether a query counts for the window: it was scheduled in the window and had not ended when the
// measured time began. The time of submission does not matter, because a stall that delays or prevents submissions
// would otherwise hide queries.
func (w Window) Holds(o Outcome) bool {
	return o.IntendedMs >= w.Start.UnixMilli() && o.IntendedMs < w.End.UnixMilli() &&
		o.FinishedMs >= w.Measured.UnixMilli()
}

// Summarise summarises the queries that were scheduled in the window and lived in its measured time, whenever they
// ended. A query that lost records lives longer than one that did not, so selecting by the end would exclude the bad
// ones. Means over no queries are NaN. The hosts are left to the caller.
func Summarise(outcomes []Outcome, window Window) (s runstore.Clients) {
	var records int
	var lateness []float64
	for _, o := range outcomes {
		if !window.Holds(o) {
			continue
		}
		count(&s, o)
		if o.End == Returned {
			records += o.Records
		}
		if o.End != NotSubmitted {
			s.Submitted++
			lateness = append(lateness, float64(o.LateUs)/1000)
		}
	}
	latencies := Latencies(outcomes, window)
	s.AverageResultSize = tuning.Figure(records) / tuning.Figure(s.Returned) // NaN when none returned
	s.LatencyMeanMs = tuning.Figure(stat.Mean(latencies, nil))
	s.LatencyP50Ms = tuning.Figure(Percentile(latencies, 0.5))
	s.LatencyP99Ms = tuning.Figure(Percentile(latencies, 0.99))
	slices.Sort(lateness)
	s.LatenessP99Ms = tuning.Figure(Percentile(lateness, 0.99))
	return s
}

// count adds how a query ended.
func count(s *runstore.Clients, o Outcome) {
	if o.End.lowerBound() {
		s.LowerBounds++
	}
	if o.Refused {
		s.Refused++
	}
	switch o.End {
	case Returned:
		s.Returned++
		s.GeneratedRecords += o.Generated
		s.ExpectedRecords += o.Expected
		s.MissingRecords += min(o.Missing, o.Expected)
		s.RepeatedRecords += o.Repeated
		s.ForeignRecords += o.Foreign
	case Failed, TimedOut:
		s.Failed++
	case Unfinished:
		s.Unfinished++
	case CutOff:
		s.CutOff++
	case NotSubmitted:
		s.NotSubmitted++
	}
}

// lowerBound reports whether the latency of a query with this end is a lower bound.
func (e End) lowerBound() bool { return e == TimedOut || e == Unfinished || e == NotSubmitted }

// Latencies returns the latencies of the queries in the window in ms, ascending. A query without an answer counts with
// its lower bound. Failed queries do not count, because an error may come at any speed. Queries that were cut off do
// not count, because they did not have to return yet.
func Latencies(outcomes []Outcome, window Window) (all []float64) {
	for _, o := range outcomes {
		if window.Holds(o) && (o.End == Returned || o.End.lowerBound()) {
			all = append(all, float64(o.Latency().Microseconds())/1000)
		}
	}
	slices.Sort(all)
	return all
}

// Percentile returns the nearest-rank percentile of ascending values, with p from 0 to 1; NaN if there are no values.
func Percentile(ascending []float64, p float64) float64 {
	if len(ascending) == 0 {
		return math.NaN()
	}
	return ascending[max(0, int(math.Ceil(p*float64(len(ascending))))-1)]
}
