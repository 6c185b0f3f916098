package journal

import (
	"fmt"
	"math"
)

// Append queues a batch to be written and returns without waiting for the disk.
//
// Append takes ownership of b and everything it refers to. Neither may be changed afterwards, because readers receive
// the same memory. Blocks must have passed block.Block.Check.
//
// Unless Append returns an error, done is called exactly once, from the journal's goroutine, in the order of the calls
// of Append. It must not block. It receives nil when the batch is durable, and ErrFull or ErrClosed if the batch was
// not written. An ErrFull from Append itself has the same meaning: the sender keeps the batch and sends it again.
//
// duplicate reports that the journal has, or is about to write, a batch of the same topology, epoch and sequence. Such
// a batch is not written again, and done reports when the first copy is durable. The journal remembers a batch for 24
// hours after the newest batch of its epoch, or for two hours when MaxEpochs is reached. A sender must abandon a batch
// before that, or it would be stored twice.
//
// ErrForgotten means that b refers to an id that the journal has forgotten. The caller defines it again and retries.
func (j *Journal) Append(b *Batch, done func(error)) (duplicate bool, err error) {
	tail, err := checkedTail(b)
	if err != nil {
		return false, err
	}
	size := payloadBound(b, tail)
	if size > maxRecordBytes {
		if size = int64(len(appendBatch(nil, b, tail))); size > maxRecordBytes {
			return false, fmt.Errorf("%w: %d of %d bytes", ErrTooLarge, size, maxRecordBytes)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false, ErrClosed
	}
	producer, err := j.state.use(b, b.ReceivedMs/hourMs)
	if err != nil {
		return false, err
	}
	key := batchName{origin{epoch: b.Epoch, topology: producer.Topology}, b.Sequence}
	if err := j.admit(key.origin, size); err != nil {
		return false, err
	}
	if j.knows(key) {
		j.enqueue(queued{done: done, of: key.origin.topology})
		return true, nil
	}
	j.inFlight[key] = struct{}{}
	j.state.nowMs = b.ReceivedMs
	j.enqueue(queued{kind: kindOf(b), payload: tail, entry: b, done: done, key: key, of: key.origin.topology,
		bytes: size})
	return false, nil
}

// checkedTail returns the encoded tail of a batch (see encodeTail), or an error that names the invalid part. It runs
// before mu is locked, because encoding histograms takes time.
func checkedTail(b *Batch) ([]byte, error) {
	if len(b.TimesMs) != len(b.IDs) || len(b.Values) != len(b.IDs) {
		return nil, fmt.Errorf("journal: append: columns differ in length: %d ids, %d times, %d values", len(b.IDs), len(b.TimesMs),
			len(b.Values))
	}
	if b.Sequence > math.MaxInt64 {
		return nil, fmt.Errorf("journal: append: sequence %d is out of range", b.Sequence)
	}
	for i := range b.Blocks {
		if !sizesHold(&b.Blocks[i].Block) {
			return nil, fmt.Errorf("journal: append: block %d of batch %d was not validated", i, b.Sequence)
		}
	}
	return encodeTail(b)
}

// knows reports whether a batch was written or is queued. Queued batches count because a sender that reconnects may
// send a batch again before the first copy is durable.
func (j *Journal) knows(key batchName) bool {
	_, waiting := j.inFlight[key]
	return waiting || j.state.epochs.has(key.origin, key.sequence)
}

// admit returns nil if a batch may be queued now, or a *FullError with the reason. Duplicates pass the same checks,
// because each of them occupies a place in the queue until the first copy is durable.
func (j *Journal) admit(o origin, size int64) error {
	switch {
	case j.failure != nil:
		return j.full("write", j.failure)
	case len(j.queue.records) >= maxQueuedRecords:
		return j.full("queue", nil)
	case j.queue.bytes > 0 && j.queue.bytes+size > j.o.QueueBytes:
		return j.full("queue", nil)
	case j.queue.full(o.topology, j.o.QueueBytes):
		return j.full("share", nil)
	case j.bytes+j.queue.bytes+size > j.o.MaxBytes:
		return j.full("disk", nil)
	case !j.hasCapacityFor(o):
		return j.full("epochs", nil)
	}
	return nil
}

// hasCapacityFor reports whether the deduplication state can store the epoch of a batch. At the limit it drops epochs
// that were silent for two hours. It searches for such epochs at most once a second, because the search visits all of
// them.
func (j *Journal) hasCapacityFor(o origin) bool {
	if len(j.state.epochs) < j.o.MaxEpochs || j.state.epochs[o] != nil {
		return true
	}
	if second := j.state.nowMs / 1000; second != j.capacityLookSecond {
		j.capacityLookSecond = second
		j.state.epochs.forget(j.state.nowMs - crowdEpochMs)
	}
	return len(j.state.epochs) < j.o.MaxEpochs
}

// full returns a *FullError and counts it by reason, so that operators see which limit refuses senders.
func (j *Journal) full(reason string, err error) error {
	j.figures.full.WithLabelValues(reason).Inc()
	return &FullError{Reason: reason, RetryAfter: j.o.RetryInterval, Err: err}
}

// LastSequence returns the highest sequence of an epoch that the journal has, from producers of that topology. known
// reports whether the journal has seen the epoch: it holds a batch of it, or a Moved entry. Ingest reports the sequence
// to a sender that returns, so that the sender need not resend what is durable.
func (j *Journal) LastSequence(topology string, epoch Epoch) (sequence uint64, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.state.epochs[origin{epoch: epoch, topology: topology}]
	if h == nil || len(h.spans) == 0 {
		return 0, h != nil
	}
	return h.spans[len(h.spans)-1].last, true
}

// AppendControl queues a control record: a *Connected, *Disconnected, *Moved, *Tick or *Started. It does not wait for
// the disk.
//
// Connected and Disconnected must be paired: a producer is not forgotten while it has an open stream. A tick is dropped
// while the disk fails, because another one follows in a second. Other control records stay queued until the disk
// accepts writes again. MaxBytes does not apply to them (about 3 MB a day), except to a Moved with its state.
func (j *Journal) AppendControl(e Entry) error {
	k, payload, timeMs, err := encodeControl(e)
	if err != nil {
		return err
	}
	if len(payload) > maxRecordBytes {
		return fmt.Errorf("%w: %d of %d bytes", ErrTooLarge, len(payload), maxRecordBytes)
	}
	entry, _, err := decodeControl(k, payload) // a separate copy
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
	if m, is := entry.(*Moved); is {
		if err := j.capacityForMove(m, int64(len(payload))); err != nil {
			return err
		}
	}
	if err := j.state.noteStream(entry); err != nil {
		return err
	}
	j.state.nowMs = timeMs
	j.enqueue(queued{kind: k, payload: payload, entry: entry})
	if hour := j.nowHour(); k == kindTick && hour != j.sweptHour {
		j.sweptHour = hour
		j.forgetIdle()
	}
	return nil
}

// capacityForMove applies the checks of Append to a state that moves here, because a state may be several MB. The
// caller must hold mu.
func (j *Journal) capacityForMove(m *Moved, size int64) error {
	row := j.state.dict.producers.get(uint32(m.Producer))
	if row == nil || row.gone {
		return missing("producer", uint32(m.Producer), uint32(j.state.nextProducer))
	}
	for _, id := range m.Series {
		if err := j.state.useSeries(uint32(id), j.nowHour()); err != nil {
			return err
		}
	}
	return j.admit(origin{epoch: m.Epoch, topology: row.Topology}, size)
}

// enqueue queues a record after the definitions that are in no record yet. The order matters: a reader must receive a
// definition before the first batch that uses it. The caller must hold mu.
func (j *Journal) enqueue(r queued) {
	for _, definition := range j.fresh.take() {
		j.queue.push(definition)
	}
	j.queue.push(r)
	j.figures.queueBytes.Set(float64(j.queue.bytes))
	j.figures.queueLength.Set(float64(len(j.queue.records)))
	if j.queue.plenty() {
		signal(j.committer.plenty)
	}
	j.committer.notify()
}
