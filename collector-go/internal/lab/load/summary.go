package load

import (
	"math"
	"slices"
	"time"
)

// Window is the time of a step: it begins at Start, is measured from Measured on, and ends at End.
type Window struct{ Start, Measured, End time.Time }

// Holds reports whether a query counts for the window: it was meant to start in it and had not ended when the measured
// time began. When it was submitted is not asked, nor whether it was: a stall that delays queries, or keeps them from
// being submitted, would hide them.
func (w Window) Holds(o Outcome) bool {
	return o.IntendedMs >= w.Start.UnixMilli() && o.IntendedMs < w.End.UnixMilli() &&
		o.FinishedMs >= w.Measured.UnixMilli()
}

// Summary is what became of the queries of a window. Averages of nothing are NaN.
type Summary struct {
	// Submitted = Returned + Failed + Unfinished + CutOff. Failed holds those that timed out and those that were
	// Refused; NotSubmitted were due and never submitted.
	Submitted, Returned, Failed, Unfinished, CutOff, NotSubmitted int
	// Refused were turned away by the target for want of room.
	Refused int
	// AverageResultSize is the mean number of records of the queries that returned.
	AverageResultSize float64
	// Generated is how many matching records were made in the lives of the queries that returned. Of those of which it
	// can be known, Due is how many had to come back, and Missing how many of these did not.
	Generated, Due, Missing int
	// Repeated and Foreign are records, over all queries that returned.
	Repeated, Foreign int
	// Latencies of what was due, from the intended start, ms: LowerBounds of them are of queries that timed out, never
	// finished or were never submitted, and are how long these took at least.
	LatencyMeanMs, LatencyP50Ms, LatencyP99Ms float64
	LowerBounds                               int
	// LatenessP99Ms is how late the client itself was with those that it submitted.
	LatenessP99Ms float64
}

// Summarise counts the queries that were meant to start in the window and lived in its measured time, whenever they
// ended: a query that lost records lives longer than one that did not, so counting by the end would leave out the bad
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
		s.Due += o.Due
		s.Missing += min(o.Missing, o.Due)
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

// lowerBound reports whether the latency of such a query is how long it took at least.
func (e End) lowerBound() bool { return e == TimedOut || e == Unfinished || e == NotSubmitted }

// Latencies are those of what was due in the window, ms, ascending: a query that gave no answer counts with how long it
// took at least. Those that failed do not count, since an error comes at any speed, nor those cut off, which were not
// due.
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

// Percentile is the nearest-rank percentile of values that ascend, p from 0 to 1; NaN of none.
func Percentile(ascending []float64, p float64) float64 {
	if len(ascending) == 0 {
		return math.NaN()
	}
	return ascending[max(0, int(math.Ceil(p*float64(len(ascending))))-1)]
}
