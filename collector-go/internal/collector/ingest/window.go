package ingest

import (
	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// window tracks the batches of one stream that are in flight, and decides what may be acknowledged. It preserves order
// across a Full: after one, no batch is accepted until the refused one arrives again. It also guarantees that an
// acknowledgement never covers a batch that was refused. It has no lock, clock or goroutine, and stream.mu protects it.
type window struct {
	flights []flight // appended to the journal, in that order
	refused uint64   // the oldest batch that was answered with Full and has not arrived again; 0 if there is none
	best    uint64   // the highest sequence that may be acknowledged, apart from the batches in flight
	said    bool     // best has been acknowledged

	rejections []*pb.Rejection // to be sent with the next acknowledgement
}

// flight is a batch that was appended to the journal and has no answer yet.
type flight struct {
	sequence   uint64
	overtaken  bool // an older batch was refused later; acknowledged only when it arrives again
	rejections []*pb.Rejection
}

// takes reports whether a batch must be processed. After Full(n) no batch is processed until n or an older one arrives
// again, because otherwise batches in flight would overtake n. A sender that has abandoned n continues with the oldest
// batch that it still holds. Any other batch may follow one that was skipped here.
func (w *window) takes(sequence, oldestHeld uint64) bool {
	if w.refused != 0 && sequence > w.refused && sequence != oldestHeld {
		return false
	}
	w.refused = 0
	return true
}

// launch records a batch that was appended to the journal. Batches must be launched in the order in which they were
// appended.
func (w *window) launch(sequence uint64, rejections []*pb.Rejection) {
	w.flights = append(w.flights, flight{sequence: sequence, rejections: rejections})
}

// refuse records that a batch was not accepted. It reports whether to notify the sender. That is unnecessary if the
// sender was already asked to resend from an older one.
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

// land applies the journal's answer to the oldest batch in flight. If taken is false, the batch counts as refused, and
// notify is the result of refuse.
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

// acknowledgement returns the highest sequence that can be acknowledged, once. It stays below every batch in flight,
// even if a sender ignores the protocol and sends out of order.
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
