// Package journal is the collector's log and the point of acknowledgement: what it has fsynced is never lost and never
// doubled. It keeps entries (entry.go) in segments on disk, in one order for all readers, with a dictionary of its own for
// series and producers. It knows nothing of streams, of what a metric means, or of slices.
//
// The format on disk is described in docs/formats/journal.md.
package journal

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

const lockName = "LOCK"

// Journal is safe for concurrent use.
type Journal struct {
	dir     string
	o       Options
	fs      FS
	log     *slog.Logger
	figures *figures
	lock    io.Closer

	mu         sync.Mutex
	state      *state                // its epochs hold what is durable
	inFlight   map[batchKey]struct{} // queued or being written
	fresh      definitions           // defined, and in no record yet
	queue      queue
	roomSecond int64 // when hasRoomFor last looked
	failure    error // why nothing can be written at the moment
	closed     bool
	segments   []segment // oldest first
	bytes      int64     // of all segments
	before     Position  // what is before it was deleted
	newest     uint32    // number of the newest segment that was ever begun
	durable    Position
	changed    chan struct{} // closed, and made anew, when any of the above changes for readers

	releasing        sync.Mutex
	deletionUnsynced bool // guarded by releasing
	committer        *committer
	closing          sync.Once
}

// batchKey is what a batch is known by.
type batchKey struct {
	epoch    Epoch
	sequence uint64
}

// segment is one on disk. Readers read it up to end.
type segment struct {
	number uint32
	end    int64 // behind its last durable record
	size   int64 // of the file
}

func (s segment) endPosition() Position { return positionOf(s.number, s.end) }

// Open opens the journal in dir, which is made if need be, and cuts what a crash left half-written. It fails when another
// process has the journal, when dir cannot be read, or when a newer version wrote it; a full or failing disk is no reason
// (see Ready).
func Open(dir string, o Options) (*Journal, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	j := newJournal(dir, o)
	if err := j.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("journal: make directory %s: %w", dir, err)
	}
	holder := fmt.Sprintf("pid %d since %s", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	lock, err := j.fs.Lock(filepath.Join(dir, lockName), holder)
	if err != nil {
		return nil, fmt.Errorf("journal: lock %s: %w", dir, err)
	}
	j.lock = lock
	if err := j.recover(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	j.committer.begin()
	return j, nil
}

func newJournal(dir string, o Options) *Journal {
	j := &Journal{dir: dir, o: o, fs: o.FS, log: o.Logger, figures: newFigures(o.Registerer),
		state: newState(), inFlight: map[batchKey]struct{}{}, changed: make(chan struct{})}
	if j.fs == nil {
		j.fs = Disk{}
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	j.committer = newCommitter(j)
	return j
}

// Close writes what is queued, and returns when that is durable or has failed. It may be called twice.
func (j *Journal) Close() error {
	var err error
	j.closing.Do(func() {
		j.mu.Lock()
		j.closed = true
		j.mu.Unlock()
		err = j.committer.stop()
		j.mu.Lock()
		j.wakeReaders()
		j.mu.Unlock()
		if unlockErr := j.lock.Close(); err == nil {
			err = unlockErr
		}
	})
	return err
}

// Ready says why the journal takes no batches at the moment; nil when it does.
func (j *Journal) Ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return ErrClosed
	case j.failure != nil:
		return fmt.Errorf("journal: %s takes no writes: %w", j.dir, j.failure)
	case j.bytes >= j.o.MaxBytes:
		return fmt.Errorf("journal: %s has reached its %d bytes: a store is behind, or MaxBytes is too small", j.dir, j.o.MaxBytes)
	}
	return nil
}

// Define gives a series its ID, the same for the same series for as long as the journal remembers it: while the process runs,
// and over restarts until the series has been idle for a day.
func (j *Journal) Define(series metric.Raw) (SeriesID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id, ok := j.state.dict.bySeries[series]; ok {
		return id, nil
	}
	if j.state.dict.known >= j.o.MaxSeries || j.state.nextSeries >= maxID {
		return 0, ErrSeriesLimit
	}
	row := seriesRow{SeriesDefined: SeriesDefined{ID: j.state.nextSeries, Series: series}, usedHour: j.state.nowMs / hourMs}
	j.state.nextSeries++
	j.state.dict.addSeries(row)
	j.fresh.series = append(j.fresh.series, j.state.dict.series[row.ID])
	j.figures.series.Set(float64(j.state.dict.known))
	return row.ID, nil
}

// Lookup is the ID of a series that is defined already.
func (j *Journal) Lookup(series metric.Raw) (SeriesID, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	id, ok := j.state.dict.bySeries[series]
	return id, ok
}

// SeriesOf is how many series of a topology are defined.
func (j *Journal) SeriesOf(topology string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.dict.ofTopology[topology]
}

// DefineProducer gives a producer its ID; p.ID is ignored.
func (j *Journal) DefineProducer(p ProducerDefined) (ProducerID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id, ok := j.state.dict.byProducer[p.place()]; ok {
		return id, nil
	}
	if len(j.state.dict.byProducer) >= j.o.MaxProducers || j.state.nextProducer >= maxID {
		return 0, ErrProducerLimit
	}
	p.ID = j.state.nextProducer
	j.state.nextProducer++
	j.state.dict.addProducer(p)
	j.fresh.producers = append(j.fresh.producers, j.state.dict.producers[p.ID])
	return p.ID, nil
}

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

// wakeReaders tells readers to look again. The caller holds mu.
func (j *Journal) wakeReaders() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// Oldest is the first position that can still be read.
func (j *Journal) Oldest() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.before
}

// Durable is the position behind the last durable entry. No reader of this journal was ever given a greater one, before the
// start included, unless the newest segment has lost its end.
func (j *Journal) Durable() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}
