package slicer

import (
	"cmp"
	"slices"
)

// starts holds the times at which a worker's process started, in ascending order, as its samples report them.
//
// A counter begins at 0 when its process starts. Usually that shows as a fall. After a gap it may not, and then the
// start time decides. When a slice closes, all samples of the start time up to the end of the slice have arrived or are
// late. Queries are limited to those samples, so that the answer does not depend on the order of arrival.
type starts struct {
	known []start
	// the pack span of the series that reports starts; its samples may arrive later by that much
	packMs     int64
	intervalMs int64 // interval of that series; a start may be reported that long after a counter's first value
	latenessMs int64 // from the options
}

// start is a process that was reported without a gap. If reports of the same process resume after a gap, it is listed
// again.
type start struct {
	ms      int64 // event time
	seenMs  int64 // the earliest event time at which it was reported
	lastMs  int64 // the newest event time at which it was reported
	clockMs int64 // the slicer's clock when it was first reported
}

// maxStarts covers some minutes of a worker that crashes as soon as it is up.
const maxStarts = 128

// sameStartMs is how far apart two reported starts of one process may be. Storm truncates them to whole seconds, the
// sampler does not.
const sameStartMs = 2000

// apart returns the longest time between two reports of a start that does not count as a gap.
func (x *starts) apart() int64 { return 3*x.intervalMs + x.packMs }

// observe records the start that a sample at timeMs reports. clockMs is the slicer's clock when the sample arrived.
func (x *starts) observe(ms, timeMs, clockMs int64) {
	first, _ := slices.BinarySearchFunc(x.known, ms, func(s start, ms int64) int { return cmp.Compare(s.ms, ms) })
	at := first // the first entry of this process that ends after the report, or shortly before it
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

// newest returns the time of the last known start, or never if there is none.
func (x *starts) newest() int64 {
	if len(x.known) == 0 {
		return never
	}
	return x.known[len(x.known)-1].ms
}

// between reports whether the process started after afterMs and not after untilMs. It considers reports up to byMs,
// minus the pack span of the series that reports starts.
func (x *starts) between(afterMs, untilMs, byMs int64) bool {
	for i := len(x.known) - 1; i >= 0 && x.known[i].ms > afterMs; i-- {
		if s := &x.known[i]; s.ms <= untilMs && s.seenMs <= byMs-x.packMs && x.follows(s) {
			return true
		}
	}
	return false
}

// follows reports whether a process followed another one that was reported earlier, and its start time is credible.
func (x *starts) follows(s *start) bool {
	return !x.displaced(s) && slices.ContainsFunc(x.known, func(other start) bool {
		return other.seenMs < s.seenMs && !sameStart(other.ms, s.ms)
	})
}

// displaced reports whether a start time contradicts the other reports. This process was reported before it started. Or
// another process was reported at that time or later, and yet before this one. Or another process that was reported
// earlier certainly came later. A clock was then set in between, and the position of the start among other samples is
// unknown.
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

// reported reports whether any start was reported up to a time.
func (x *starts) reported(untilMs int64) bool {
	return slices.ContainsFunc(x.known, func(s start) bool { return s.seenMs <= untilMs })
}

// vouches reports whether a start was reported without a gap up to a time. Later reports do not change the answer.
func (x *starts) vouches(untilMs int64) bool {
	return slices.ContainsFunc(x.known, func(s start) bool {
		return s.seenMs <= untilMs && untilMs-min(s.lastMs, untilMs) <= x.apart()
	})
}

// knownUntil returns the time up to which it is known, by byMs, whether the process started. The reports of all earlier
// starts have arrived.
func (x *starts) knownUntil(byMs int64) int64 { return byMs - x.packMs - x.intervalMs }
