package slicer

import (
	"cmp"
	"slices"
)

// starts are the times at which a worker's process started, ascending, as its samples report them.
//
// A counter of a process begins at 0 when the process does. Mostly that shows as a fall; after a gap it need not, and
// then the start time decides. When a slice closes, all samples of the start time up to its end have come (or are
// late), so queries of starts are limited to those: then the answer does not depend on the order of arrival.
type starts struct {
	known []start
	// the pack span of the series that reports starts; its samples may arrive that much later than others
	packMs     int64
	intervalMs int64 // how far apart its samples are: a start may be reported that much after a counter's first value
	latenessMs int64 // by the options
}

// start is a process, for as long as it was reported without a gap: after one it comes again.
type start struct {
	ms      int64 // event time
	seenMs  int64 // the earliest event time at which it was reported
	lastMs  int64 // the newest
	clockMs int64 // the slicer's clock when it was reported first
}

// maxStarts is some minutes of a worker that crashes as soon as it is up.
const maxStarts = 128

// sameStartMs is how far apart two starts of one process may be: Storm cuts them to whole seconds, the sampler does
// not.
const sameStartMs = 2000

// apart is how far apart two reports of a start may be without a gap between them.
func (x *starts) apart() int64 { return 3*x.intervalMs + x.packMs }

// observe records the start that a sample at timeMs reports, which came at a time of the slicer's clock.
func (x *starts) observe(ms, timeMs, clockMs int64) {
	first, _ := slices.BinarySearchFunc(x.known, ms, func(s start, ms int64) int { return cmp.Compare(s.ms, ms) })
	at := first // the first of this process that ends behind the report, or is near enough to it
	for at < len(x.known) && x.known[at].ms == ms && x.known[at].lastMs < timeMs-x.apart() {
		at++
	}
	if at == len(x.known) || x.known[at].ms != ms || x.known[at].seenMs > timeMs+x.apart() {
		x.known = slices.Insert(x.known, at, start{ms, timeMs, timeMs, clockMs})
		if len(x.known) > maxStarts {
			x.known = slices.Delete(x.known, 0, 1)
		}
		return
	}
	s := &x.known[at]
	s.seenMs, s.lastMs, s.clockMs = min(s.seenMs, timeMs), max(s.lastMs, timeMs), min(s.clockMs, clockMs)
	if next := at + 1; next < len(x.known) && x.known[next].ms == ms && x.known[next].seenMs <= s.lastMs+x.apart() {
		s.lastMs, s.clockMs = max(s.lastMs, x.known[next].lastMs), min(s.clockMs, x.known[next].clockMs)
		x.known = slices.Delete(x.known, next, next+1)
	}
}

// newest is the time of the last start that is known; never where none is.
func (x *starts) newest() int64 {
	if len(x.known) == 0 {
		return never
	}
	return x.known[len(x.known)-1].ms
}

// between reports whether the process started after one time and by another, as reported in samples up to byMs plus
// what packs of the asking series allow.
func (x *starts) between(afterMs, untilMs, byMs int64) bool {
	for i := len(x.known) - 1; i >= 0 && x.known[i].ms > afterMs; i-- {
		if s := &x.known[i]; s.ms <= untilMs && s.seenMs <= byMs-x.packMs && x.follows(s) {
			return true
		}
	}
	return false
}

// follows reports whether a process came after another that was reported before it, and started when it says.
func (x *starts) follows(s *start) bool {
	return !x.displaced(s) && slices.ContainsFunc(x.known, func(other start) bool {
		return other.seenMs < s.seenMs && !sameStart(other.ms, s.ms)
	})
}

// displaced reports whether a start's time cannot be right beside what was reported: this process before it started,
// another one at that time or later and yet before this one, or another one before this one that came later beyond
// doubt. Then a clock was set in between, and where among other samples the process started is not known.
func (x *starts) displaced(s *start) bool {
	if s.ms > s.seenMs {
		return true
	}
	for i := range x.known {
		other := &x.known[i]
		if other.seenMs > s.seenMs || sameStart(other.ms, s.ms) {
			continue
		}
		if other.seenMs < s.seenMs && min(other.lastMs, s.seenMs) >= s.ms ||
			other.clockMs-s.clockMs > x.latenessMs+x.apart() {
			return true
		}
	}
	return false
}

func sameStart(ms, other int64) bool { return max(ms-other, other-ms) < sameStartMs }

// before reports whether a start was reported before a time.
func (x *starts) before(ms, timeMs int64) bool {
	return slices.ContainsFunc(x.known, func(s start) bool { return sameStart(s.ms, ms) && s.seenMs < timeMs })
}

// reported reports whether a start was reported up to a time.
func (x *starts) reported(untilMs int64) bool {
	return slices.ContainsFunc(x.known, func(s start) bool { return s.seenMs <= untilMs })
}

// vouches reports whether the start was reported without a gap up to a time. What comes later does not change that.
func (x *starts) vouches(untilMs int64) bool {
	return slices.ContainsFunc(x.known, func(s start) bool {
		return s.seenMs <= untilMs && untilMs-min(s.lastMs, untilMs) <= x.apart()
	})
}

// judged is the time up to which it is known by byMs whether the process started: the samples of all earlier starts
// have arrived.
func (x *starts) judged(byMs int64) int64 { return byMs - x.packMs - x.intervalMs }
