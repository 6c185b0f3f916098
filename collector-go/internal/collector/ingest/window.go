package ingest

import (
	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// window is what is under way on one stream, and what may be said of it. It is where order survives a Full: the rule of
// Batch.oldest_held_sequence, and that an acknowledgement never covers a batch that was turned away.
type window struct {
	flights []flight // handed to the journal, in that order
	refused uint64   // the oldest batch that was answered with Full and has not come again; 0 is none
	best    uint64   // the highest sequence that may be acknowledged as far as flights allow
	said    bool     // best has been said

	rejections []*pb.Rejection // to be said with the next acknowledgement
}

// flight is one batch that the journal has not answered.
type flight struct {
	sequence   uint64
	overtaken  bool // an older batch was refused after this one was handed over; it is acknowledged when it comes again
	rejections []*pb.Rejection
}

// takes reports whether a batch is to be looked at. After Full(n) none is until n or an older one comes again: those
// under way would overtake it. When the sender has given n up, it goes on with the oldest batch that it still holds,
// and with no other: one that was skipped here may lie between.
func (w *window) takes(sequence, oldestHeld uint64) bool {
	if w.refused != 0 && sequence > w.refused && sequence != oldestHeld {
		return false
	}
	w.refused = 0
	return true
}

// launch notes a batch that was handed to the journal.
func (w *window) launch(sequence uint64, rejections []*pb.Rejection) {
	w.flights = append(w.flights, flight{sequence: sequence, rejections: rejections})
}

// refuse notes that a batch was not taken, and reports whether the sender must be notified: not when it has been sent
// back to an older one.
func (w *window) refuse(sequence uint64) bool {
	for i := range w.flights {
		if w.flights[i].sequence > sequence {
			w.flights[i].overtaken = true
		}
	}
	if w.refused != 0 && w.refused <= sequence {
		return false
	}
	w.refused = sequence
	return true
}

// land takes the journal's answer to the oldest flight. With taken false it is as if that batch had been refused;
// notify is then what refuse returns.
func (w *window) land(taken bool) (sequence uint64, notify bool) {
	f := w.flights[0]
	w.flights = w.flights[1:]
	if !taken {
		return f.sequence, w.refuse(f.sequence)
	}
	if !f.overtaken {
		w.rejections = append(w.rejections, f.rejections...)
		w.best, w.said = max(w.best, f.sequence), false
	}
	return f.sequence, false
}

// acknowledgement is the highest sequence that can be said, once. A sender that keeps to the protocol has nothing under
// way below it; for one that does not, it stays below that.
func (w *window) acknowledgement() (sequence uint64, rejections []*pb.Rejection, ok bool) {
	sequence = w.best
	for _, f := range w.flights {
		sequence = min(sequence, f.sequence-1)
	}
	if w.said || sequence == 0 {
		return 0, nil, false
	}
	rejections, w.rejections = w.rejections, nil
	w.said = sequence == w.best
	return sequence, rejections, true
}
