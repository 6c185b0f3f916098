package slicer

// If the value of a counter falls, there are two possible causes. A new process started to count from 0. Or the samples
// are not in the order in which they were made: a clock was set back while two consumers report its worker in turn.
// Mistaking the second cause for the first would count everything twice. A fall alone is therefore not a restart:
//
//   - If the worker reports when its process started, a restart requires a new start time. A fall stays undecided until
//     it is known whether there was one. If a clock was set back in between, the start time does not show when the
//     process started, and the fall decides.
//   - If no start time is reported, the fall must be in the order in which the samples were made: both must come from
//     one producer. A fall from one producer to another stays undecided until another fall shows the restart. If the
//     first producer is no longer connected, it stays undecided only as long as a slice stays open.
//
// While a fall is undecided, the total does not change. The total never decreases. A value that is not below the one
// before the fall ends the wait: the process continued.

// history is what is known about the order in which the values of a series were made.
type history struct {
	made         // of the last value
	fell *fallen // set while a fall is undecided
	past *fallen // the newest fall that was a restart, while values from before it may still arrive
}

// fallen describes a fall: the value before it, and who reported it.
type fallen struct {
	value   float64
	timeMs  int64 // event time
	untilMs int64 // event time of the value after the fall
	made
}

// precedes reports whether a value belongs to the process before the last restart although its time is later. That
// happens if two consumers report a worker. One brings the values of the new process, and the other brings values of
// the old process with times from a clock that was ahead.
func (h *history) precedes(v float64, timeMs int64, by made, openMs int64) bool {
	if h.past == nil {
		return false
	}
	if timeMs-h.past.untilMs > openMs {
		h.past = nil
		return false
	}
	return by.producer != h.past.producer && v >= h.past.value
}

// fold holds the parameters for judging a value of a slice.
type fold struct {
	byMs   int64             // the end of the slice plus the pack span
	openMs int64             // the longest time for which a slice stays open behind its worker's newest sample
	gone   func(uint32) bool // reports whether a producer is not connected
}

func (s *Slicer) folding(t *seriesState, endMs int64) fold {
	return fold{byMs: endMs + t.packMs, openMs: s.options.LatenessMs + t.packMs + t.widthMs, gone: s.notConnected}
}

func (s *Slicer) notConnected(id uint32) bool {
	p := s.producers[id]
	return p == nil || !p.connected
}

// restarted decides about an undecided fall, with the next value of its series. decided is false if the fall stays
// undecided.
func (h *history) restarted(x *starts, timeMs int64, by made, w fold) (restarted, decided bool) {
	f := h.fell
	shown := f.before(by)
	switch said := x.about(f, w.byMs); {
	case said == sayWentOn:
		h.fell = nil
		return false, true
	case said != sayWait && (shown || timeMs-f.timeMs > w.openMs && w.gone(f.producer)):
		h.fell, h.past = nil, nil
		if shown {
			h.past = &fallen{f.value, f.timeMs, timeMs, by}
		}
		return true, true
	}
	return false, false
}

// say is what the reported start times imply about a fall.
type say uint8

const (
	sayNothing say = iota // nobody reports starts
	sayWait
	sayWentOn
	sayStarted
)

// about returns what the start times that are known by byMs imply about a fall. No start lies between its two values.
func (x *starts) about(f *fallen, byMs int64) say {
	knownMs := byMs - x.packMs
	if !x.reported(knownMs) {
		return sayNothing
	}
	lives := false // a process that started before the fall was reported after it
	for i := range x.known {
		s := &x.known[i]
		switch {
		case s.seenMs > knownMs:
		case x.displaced(s):
			if s.seenMs > f.timeMs-x.apart() {
				return sayStarted
			}
		case s.ms > f.timeMs-sameStartMs && s.ms <= f.untilMs:
			return sayStarted
		case s.ms <= f.timeMs && s.lastMs >= f.untilMs:
			lives = true
		}
	}
	switch {
	case lives:
		return sayWentOn
	case knownMs-x.apart() < f.untilMs:
		return sayWait
	case x.vouches(knownMs):
		return sayWentOn
	}
	return sayNothing
}
