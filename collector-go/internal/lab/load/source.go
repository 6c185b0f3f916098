package load

import (
	"math"
	"time"
)

// made is the sequence of the newest record that the source has made of a probe up to a moment. The source makes record
// k at k/perSecond seconds since 1970 (io.github.bulletmetrics.topology.source.Share), so both ends can count alone.
func made(perSecond float64, at time.Time) int64 {
	return int64(math.Floor(float64(at.UnixMicro()) * perSecond / 1e6))
}

// generated is how many records the source made in (from, to].
func generated(perSecond float64, from, to time.Time) int {
	return int(max(0, made(perSecond, to)-made(perSecond, from)))
}

// settling is how long after its submission, and before its end, a record may be made without a query being held to
// have seen it: the query travels to the filters, and the record to the query's end.
const settling = time.Second

// arrears is how long before its submission a record may have been due that a query sees all the same: the source emits
// later what Storm held up, and counts it as its lag.
const arrears = 5 * time.Second

// span is a run of a probe's records by their sequences, both ends included; empty when last < first.
type span struct{ first, last int64 }

func (s span) size() int { return int(max(0, s.last-s.first+1)) }

// without is how many sequences of the span are not among those given.
func (s span) without(given map[int64]bool) (n int) {
	for k := s.first; k <= s.last; k++ {
		if !given[k] {
			n++
		}
	}
	return n
}

// residues is how many sequences of the span leave the remainder when divided by modulus.
func (s span) residues(modulus, remainder int64) int {
	upTo := func(n int64) int64 { return (n - remainder + modulus) / modulus } // of 0..n, for n >= remainder-modulus
	if s.size() == 0 {
		return 0
	}
	return int(upTo(s.last) - upTo(s.first-1))
}

// due are the records that a query must have seen, possible those that it may have seen.
func spans(perSecond float64, duration time.Duration, submitted, finished time.Time) (due, possible span) {
	end := finished
	if over := submitted.Add(duration); over.Before(end) {
		end = over
	}
	due = span{made(perSecond, submitted.Add(settling)) + 1, made(perSecond, end.Add(-settling))}
	possible = span{made(perSecond, submitted.Add(-arrears)) + 1, made(perSecond, finished)}
	return due, possible
}
