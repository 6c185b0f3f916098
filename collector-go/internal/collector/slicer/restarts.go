package slicer

// A counter that falls began again from 0, with a new process: or its samples are not in the order in which they were
// made, since a clock was set back while two consumers report its worker by turns. Taking the second for the first
// counts everything twice. So a fall alone is no restart:
//
//   - Where the worker's process reports when it started, a restart needs another start. A fall waits until it is known
//     whether there was one. Where a clock was set back in between, the start's own time does not show when it was;
//     then the fall does.
//   - Where nobody reports a start, the fall must be in the order in which the samples were made: of one producer's.
//     A fall from one producer to another waits for one that shows it, or, where the one that it fell from is not
//     connected any more, for as long as a slice is open.
//
// While a fall waits the total stands still; it never takes back what it counted. A value that is not below the one
// that it fell from ends the wait: the process went on.

// history is what is known of the order in which a series' values were made.
type history struct {
	made         // of the last value
	fell *fallen // nil but while it is not known why it fell
	past *fallen // the newest fall that showed a restart, for as long as values from before it may come
}

// fallen is the value that a series fell from, and who reported the one below it.
type fallen struct {
	value   float64
	timeMs  int64 // event time
	untilMs int64 // that of the value below it
	made
}

// precedes reports whether a value is of the process before the last restart, though its time is later: of two
// consumers one brought what the new process counted, and the other what the old one had, by a clock that was ahead
// then.
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

// fold is what judging a value of a slice needs.
type fold struct {
	byMs   int64             // the slice's end, and the pack's span
	openMs int64             // for how long at the most a slice is open behind the newest sample of its worker
	gone   func(uint32) bool // whether a producer is not connected
}

func (s *Slicer) folding(t *seriesState, endMs int64) fold {
	return fold{byMs: endMs + t.packMs, openMs: s.options.LatenessMs + t.packMs + t.widthMs, gone: s.notConnected}
}

func (s *Slicer) notConnected(id uint32) bool {
	p := s.producers[id]
	return p == nil || !p.connected
}

// restarted judges a fall that waits, with the next value of its series.
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

// say is what the starts of a process say about a fall.
type say uint8

const (
	sayNothing say = iota // nobody reports starts
	sayWait
	sayWentOn
	sayStarted
)

// about returns what the reported starts, as known by byMs, say about a fall between whose values no start lies.
func (x *starts) about(f *fallen, byMs int64) say {
	knownMs := byMs - x.packMs
	if !x.reported(knownMs) {
		return sayNothing
	}
	lives := false // a process of before the fall, behind it
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
