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
}

type start struct {
	ms     int64 // event time
	seenMs int64 // the earliest event time at which it was reported
}

// maxStarts is some minutes of a worker that crashes as soon as it is up.
const maxStarts = 128

// observe records the start that a sample at timeMs reports.
func (x *starts) observe(ms, timeMs int64) {
	at, found := slices.BinarySearchFunc(x.known, ms, func(s start, ms int64) int { return cmp.Compare(s.ms, ms) })
	if found {
		x.known[at].seenMs = min(x.known[at].seenMs, timeMs)
		return
	}
	x.known = slices.Insert(x.known, at, start{ms: ms, seenMs: timeMs})
	if len(x.known) > maxStarts {
		x.known = slices.Delete(x.known, 0, 1)
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
		if x.known[i].ms <= untilMs && x.known[i].seenMs <= byMs-x.packMs {
			return true
		}
	}
	return false
}

// judged is the time up to which it is known by byMs whether the process started: the samples of all earlier starts
// have arrived.
func (x *starts) judged(byMs int64) int64 { return byMs - x.packMs - x.intervalMs }
