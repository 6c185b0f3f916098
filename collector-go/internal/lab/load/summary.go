package load

import (
	"math"
	"slices"
	"time"
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

// Summary summarises the queries of a window. Means over no queries are NaN.
type Summary struct {
	// Submitted = Returned + Failed + Unfinished + CutOff. Failed includes queries that timed out or were Refused.
	// NotSubmitted queries were scheduled and never submitted.
	Submitted, Returned, Failed, Unfinished, CutOff, NotSubmitted int
	// Refused is the number of queries that the target refused because it was full.
	Refused int
	// AverageResultSize is the mean number of records of the queries that returned.
	AverageResultSize float64
	// Generated is how many matching records were made during the lives of the queries that returned. Expected is how
	// many of them had to come back, as far as known, and Missing is how many of those did not.
	Generated, Expected, Missing int
	// Repeated and Foreign count records over all queries that returned.
	Repeated, Foreign int
	// Latencies of the scheduled queries from their scheduled start, in ms. LowerBounds is the number of queries that
	// timed out, never finished or were never submitted; their latencies are lower bounds.
	LatencyMeanMs, LatencyP50Ms, LatencyP99Ms float64
	LowerBounds                               int
	// LatenessP99Ms is how late the client itself submitted its queries.
	LatenessP99Ms float64
}

// Summarise summarises the queries that were scheduled in the window and lived in its measured time, whenever they
// ended. A query that lost records lives longer than one that did not, so selecting by the end would exclude the bad
// ones.
func Summarise(outcomes []Outcome, window Window) Summary {
	var s Summary
	var records int
	var lateness []float64
	for _, o := range outcomes {
		if !window.Holds(o) {
			continue
		}
		s.count(o)
		if o.End == Returned {
			records += o.Records
		}
		if o.End != NotSubmitted {
			s.Submitted++
			lateness = append(lateness, float64(o.LateUs)/1000)
		}
	}
	latencies := Latencies(outcomes, window)
	s.AverageResultSize = float64(records) / float64(s.Returned) // NaN when none returned
	s.LatencyMeanMs, s.LatencyP50Ms, s.LatencyP99Ms = mean(latencies), Percentile(latencies, 0.5),
		Percentile(latencies, 0.99)
	slices.Sort(lateness)
	s.LatenessP99Ms = Percentile(lateness, 0.99)
	return s
}

// count adds how a query ended.
func (s *Summary) count(o Outcome) {
	if o.End.lowerBound() {
		s.LowerBounds++
	}
	if o.Refused {
		s.Refused++
	}
	switch o.End {
	case Returned:
		s.Returned++
		s.Generated += o.Generated
		s.Expected += o.Expected
		s.Missing += min(o.Missing, o.Expected)
		s.Repeated += o.Repeated
		s.Foreign += o.Foreign
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

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Percentile returns the nearest-rank percentile of ascending values, with p from 0 to 1; NaN if there are no values.
func Percentile(ascending []float64, p float64) float64 {
	if len(ascending) == 0 {
		return math.NaN()
	}
	return ascending[max(0, int(math.Ceil(p*float64(len(ascending))))-1)]
}
