package journal

import (
	"fmt"
	"math"
)

// Append queues a batch to be written. It keeps nothing of b. Unless it returns an error, done is called once, in the order
// of the calls of Append, from the journal's goroutine, and must not block: with nil when the batch is durable, with an
// ErrFull or ErrClosed when it was not taken. duplicate says that the journal already has or is about to write a batch of
// this epoch and sequence; it is then not written again, and done tells when the first copy is durable.
func (j *Journal) Append(b *Batch, done func(error)) (duplicate bool, err error) {
	if len(b.TimesMs) != len(b.IDs) || len(b.Values) != len(b.IDs) {
		return false, fmt.Errorf("journal: append: columns of %d ids, %d times, %d values", len(b.IDs), len(b.TimesMs), len(b.Values))
	}
	if b.Sequence > math.MaxInt64 {
		return false, fmt.Errorf("journal: append: sequence %d is out of range", b.Sequence)
	}
	payload, err := appendBatch(make([]byte, 0, 64+8*len(b.IDs)), b)
	if err != nil {
		return false, err
	}
	if len(payload) > maxRecordBytes {
		return false, fmt.Errorf("%w: %d of %d bytes", ErrTooLarge, len(payload), maxRecordBytes)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.state.dict.covers(b) {
		return false, fmt.Errorf("journal: append: batch %d refers to a series or producer that was not defined", b.Sequence)
	}
	if err := j.admit(b, int64(len(payload))); err != nil {
		return false, err
	}
	key := batchKey{b.Epoch, b.Sequence}
	if j.knows(key) {
		j.enqueue(queued{done: done})
		return true, nil
	}
	j.inFlight[key] = struct{}{}
	j.state.dict.touch(b)
	j.state.nowMs = b.ReceivedMs
	j.enqueue(queued{kind: kindBatch, payload: payload, done: done, key: key, timeMs: b.ReceivedMs})
	return false, nil
}

// knows says whether a batch was written or is about to be.
func (j *Journal) knows(key batchKey) bool {
	_, waiting := j.inFlight[key]
	return waiting || j.state.epochs.has(key.epoch, key.sequence)
}

// admit says whether a batch may be queued now.
func (j *Journal) admit(b *Batch, size int64) error {
	switch {
	case j.closed:
		return ErrClosed
	case j.failure != nil:
		return j.full("write", j.failure)
	case len(j.queue.records) >= maxQueuedRecords:
		return j.full("queue", nil)
	case j.queue.bytes > 0 && j.queue.bytes+size > j.o.QueueBytes:
		return j.full("queue", nil)
	case j.bytes+j.queue.bytes+size > j.o.MaxBytes:
		return j.full("disk", nil)
	case !j.hasRoomFor(b.Epoch):
		return j.full("epochs", nil)
	}
	return nil
}

// hasRoomFor makes room for an epoch, if it is new. It looks for room once a second at most.
func (j *Journal) hasRoomFor(epoch Epoch) bool {
	if j.state.epochs[epoch] != nil || len(j.state.epochs) < j.o.MaxEpochs {
		return true
	}
	if second := j.state.nowMs / 1000; second != j.roomSecond {
		j.roomSecond = second
		j.state.epochs.forget(j.state.nowMs - crowdEpochMs)
	}
	return len(j.state.epochs) < j.o.MaxEpochs
}

func (j *Journal) full(reason string, err error) error {
	j.figures.full.WithLabelValues(reason).Inc()
	return &FullError{Reason: reason, RetryAfter: j.o.RetryInterval, Err: err}
}

// Mark queues a *Connected, *Disconnected, *Tick or *Started. Ticks are lost while the disk fails; the others are kept until
// it has recovered, and refused with an ErrFull when too many wait.
func (j *Journal) Mark(e Entry) error {
	k, payload, timeMs, err := encodeMark(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return ErrClosed
	case j.failure != nil && k == kindTick:
		return nil
	case len(j.queue.records) >= maxQueuedRecords:
		return j.full("queue", j.failure)
	}
	j.state.nowMs = timeMs
	j.enqueue(queued{kind: k, payload: payload})
	return nil
}

// enqueue puts a record behind the definitions that it may need.
func (j *Journal) enqueue(r queued) {
	for _, definition := range j.fresh.take() {
		j.queue.push(definition)
	}
	j.queue.push(r)
	j.figures.queueBytes.Set(float64(j.queue.bytes))
	j.figures.queueLength.Set(float64(len(j.queue.records)))
	j.committer.wake()
}
