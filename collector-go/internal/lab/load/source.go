package load

import (
	"math"
	"time"
)

// made returns the sequence number of the newest record that the source has made of a probe up to a moment. The source
// makes record k at k/perSecond seconds since 1970 (io.github.bulletmetrics.topology.source.Share). Client and source
// can therefore count without communication.
func made(perSecond float64, at time.Time) int64 {
	return int64(math.Floor(float64(at.UnixMicro()) * perSecond / 1e6))
}

// generated returns how many records the source made in (from, to].
func generated(perSecond float64, from, to time.Time) int {
	return int(max(0, made(perSecond, to)-made(perSecond, from)))
}

// settling is a tolerance at both ends of a query's life. Records made within it need not be in the answer, because
// the query and the records take time to arrive.
const settling = time.Second

// arrears is how long before a query's submission a record may have been scheduled and still be seen by the query. The
// source emits records late if Storm delays it, and reports them as lag.
const arrears = 5 * time.Second

// span is a range of a probe's sequence numbers, both ends included; empty if last < first.
type span struct{ first, last int64 }

func (s span) size() int { return int(max(0, s.last-s.first+1)) }

// without returns how many sequence numbers of the span are not in the given set.
func (s span) without(given map[int64]bool) (n int) {
	for k := s.first; k <= s.last; k++ {
		if !given[k] {
			n++
		}
	}
	return n
}

// residues returns how many sequence numbers of the span have the given remainder modulo modulus.
func (s span) residues(modulus, remainder int64) int {
	upTo := func(n int64) int64 { return (n - remainder + modulus) / modulus } // of 0..n, for n >= remainder-modulus
	if s.size() == 0 {
		return 0
	}
	return int(upTo(s.last) - upTo(s.first-1))
}

// spans returns the records that a query must have seen (expected) and those that it may have seen (possible).
func spans(perSecond float64, duration time.Duration, submitted, finished time.Time) (expected, possible span) {
	end := finished
	if over := submitted.Add(duration); over.Before(end) {
		end = over
	}
	expected = span{made(perSecond, submitted.Add(settling)) + 1, made(perSecond, end.Add(-settling))}
	possible = span{made(perSecond, submitted.Add(-arrears)) + 1, made(perSecond, finished)}
	return expected, possible
}
