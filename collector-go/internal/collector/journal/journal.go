// Package journal is the collector's write-ahead log and the point of acknowledgement. A batch is acknowledged to its
// sender only after the journal has fsynced it. An acknowledged batch is therefore never lost, and a resent batch is
// never stored twice.
//
// The journal owns the segment files, the order of all entries, deduplication, and the dictionary of series, layouts
// and producers. It does not know streams, the meaning of a metric, or slices. Stores read it through a Reader at their
// own pace, and Release deletes the segments that no reader needs any more.
//
// Three groups of goroutines use it. Ingest streams call Define and Append, which only change memory under Journal.mu.
// The committer (committer.go) is the only goroutine that writes to disk. Each store has one Reader.
//
// Start reading with entry.go (the entries that readers receive), then append.go, committer.go and reader.go. Recovery
// after a crash is in recover.go and replay.go. The format on disk is described in docs/formats/journal.md.
package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

const lockName = "LOCK"

// LockFile returns the path of the lock file of a journal directory. The process that writes to the journal holds a
// lock on this file, so that two collectors never append to the same segments.
func LockFile(dir string) string { return filepath.Join(dir, lockName) }

// Journal appends entries to segments and serves them to readers. It is safe for concurrent use.
//
// One mutex, mu, protects all state in memory: the dictionary, the deduplication state, the queue and the list of
// segments. mu is never held during a write or an fsync, so a slow disk delays acknowledgements but never blocks
// Append.
type Journal struct {
	dir     string
	o       Options
	fs      disk.FS
	log     *slog.Logger
	figures *figures
	lock    disk.Lock

	mu sync.Mutex
	// state is the dictionary, the deduplication state and the clock. Its epochs contain only durable batches.
	state *state // epochs contains only durable batches
	// inFlight holds the batches that are queued or being written. Together with state.epochs it answers whether a
	// batch is a duplicate. A failed write clears it, because those batches will be sent again.
	inFlight  map[batchName]struct{} // queued or being written
	fresh     definitions            // defined, but in no record yet
	queue     queue
	ring      ring
	readers   map[*Reader]Position // how far each open reader has read
	sweptHour int64                // when a tick last searched for idle rows

	// These limit how often a full dictionary is searched for idle rows.
	pressedSeries, pressedLayouts, pressedProducers pressure

	capacityLookSecond int64 // when hasCapacityFor last searched
	shortage           disk.Shortage
	failure            error // why nothing can be written at the moment
	closed             bool
	segments           []segment // oldest first
	bytes              int64     // of all segments
	before             Position  // everything before it was deleted
	newest             uint32    // greatest segment number that was ever used
	durable            Position
	changed            chan struct{} // closed and replaced when any of the above changes for readers

	// releasing serializes Release, which deletes files and must not hold mu while doing so.
	releasing        sync.Mutex
	deletionUnsynced bool // protected by releasing
	committer        *committer
	closing          sync.Once
}

// leastSegments is the minimum number of segments into which MaxBytes is divided. Space is freed by whole segments.
// Larger segments would take a large part of the backlog from a store that lags.
const leastSegments = 8

// batchName identifies a batch for deduplication: the topology and epoch of its sender, and its sequence.
type batchName struct {
	origin   origin
	sequence uint64
}

// Open opens the journal in dir, creates the directory if necessary, and cuts a half-written tail that a crash left.
//
// It fails if another process holds the lock, if dir cannot be read, or if a newer version wrote the journal. A full or
// failing disk is not an error here. The collector starts, refuses batches and retries, so that senders keep their data
// (see Ready).
func Open(dir string, o Options) (_ *Journal, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	j := newJournal(dir, o)
	if err := j.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("journal: make directory %s: %w", dir, err)
	}
	if j.lock, err = j.takeLock(); err != nil {
		return nil, err
	}
	if err := j.recover(); err != nil {
		_ = j.lock.Close()
		return nil, err
	}
	j.committer.begin()
	return j, nil
}

func (j *Journal) takeLock() (disk.Lock, error) {
	holder := fmt.Sprintf("pid %d since %s", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	lock, err := j.fs.Lock(filepath.Join(j.dir, lockName), holder)
	if err != nil {
		return nil, fmt.Errorf("journal: lock %s: %w", j.dir, err)
	}
	return lock, nil
}

// keepLock takes the lock again if the locked directory was removed and an empty one has taken its place. Without the
// new lock, another collector could start in the same directory. keepLock refuses a directory that already has
// segments. They belong to another journal, and appending to them would mix two histories.
func (j *Journal) keepLock() error {
	if linked, err := j.lock.Linked(); err != nil || linked {
		return err
	}
	lock, err := j.takeLock()
	if err != nil {
		return err
	}
	names, err := j.fs.ReadDir(j.dir)
	if err == nil && slices.ContainsFunc(names,
		func(name string) bool { return strings.HasSuffix(name, segmentSuffix) }) {
		err = fmt.Errorf("journal: another journal has replaced %s: stop this collector, or restore its directory",
			j.dir)
	}
	if err != nil {
		_ = lock.Close()
		return err
	}
	_ = j.lock.Close()
	j.lock = lock
	return nil
}

func newJournal(dir string, o Options) *Journal {
	j := &Journal{dir: dir, o: o, fs: o.FS, log: o.Logger, figures: newFigures(o.Registerer), state: newState(),
		inFlight: map[batchName]struct{}{}, changed: make(chan struct{}), readers: map[*Reader]Position{}}
	if j.fs == nil {
		j.fs = disk.System{}
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if j.o.Now == nil {
		j.o.Now = time.Now
	}
	// If the journal is full, a store that lags loses whole segments, so a segment must be a small part of the journal.
	j.o.SegmentBytes = min(o.SegmentBytes, max(o.MaxBytes/leastSegments, leastSegmentBytes))
	j.ring.limit = o.RingBytes
	j.committer = newCommitter(j)
	return j
}

// Close writes the queued records, and returns when they are durable or have failed. It may be called twice; the second
// call does nothing.
func (j *Journal) Close() (err error) {
	j.closing.Do(func() {
		j.mu.Lock()
		j.closed = true
		j.mu.Unlock()
		err = j.committer.stop()
		j.mu.Lock()
		j.notifyReaders()
		j.mu.Unlock()
		if unlockErr := j.lock.Close(); err == nil {
			err = unlockErr
		}
	})
	return err
}

// Ready returns why the journal accepts no batches at the moment, or nil if it accepts them. The error is shown to
// operators, for example by the health check.
func (j *Journal) Ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return ErrClosed
	case j.failure != nil:
		return fmt.Errorf("journal: %s accepts no writes: %w", j.dir, j.failure)
	case j.bytes >= j.o.MaxBytes:
		return fmt.Errorf("journal: %s is full (%d bytes): a store lags behind; raise journal.max_bytes or fix the store", j.dir,
			j.o.MaxBytes)
	}
	return nil
}

// notifyReaders makes waiting readers check for new entries. Closing a channel notifies any number of readers, and a
// reader that is busy does not miss it. The caller must hold mu.
func (j *Journal) notifyReaders() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// Oldest returns the first position that can still be read. Everything before it was deleted by Release.
func (j *Journal) Oldest() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.before
}

// Durable returns the position after the last durable entry. No reader of this journal ever received a greater
// position, not even before a restart, unless the newest segment has lost its end.
func (j *Journal) Durable() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

// NowMs returns the time of the newest entry in ms since the Unix epoch, by the collector's clock, or 0 for an empty
// journal. The journal uses this time for expiry instead of the system clock. A replay then makes the same decisions as
// the first run.
func (j *Journal) NowMs() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.nowMs
}

var (
	// ErrFull is returned by Append if the journal accepts no batch at the moment. errors.As with *FullError gives the
	// reason and when to try again.
	ErrFull = errors.New("journal is full")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("journal is closed")
	// ErrExpired is returned by Reader for a position whose segment was deleted, because the reader lagged for too
	// long.
	ErrExpired = errors.New("journal position has been deleted")
	// ErrAhead is returned by Reader for a position that is not in this journal yet. The journal's directory was
	// replaced, and the position belongs to the previous journal. The caller has to start from the oldest entry.
	ErrAhead = errors.New("position is ahead of the journal")
	// ErrTooLarge is returned for a batch that does not fit into a record. A retry cannot succeed, so the sender must
	// drop it.
	ErrTooLarge = errors.New("batch exceeds the maximum size of a journal record")
	// ErrForgotten is returned by Append for a batch that refers to a series, layout or producer that was idle and was
	// forgotten (see Forgotten). The batch was not queued. Define its series again, and send it with the new ids.
	ErrForgotten = errors.New("batch refers to a definition that the journal has removed")
	// ErrSeriesLimit is returned by Define if Options.MaxSeries are in use and none of them is idle. DefineProducer
	// returns ErrProducerLimit, and DefineLayout ErrLayoutLimit, for the same reason.
	ErrSeriesLimit   = errors.New("series limit of the journal reached")
	ErrProducerLimit = errors.New("producer limit of the journal reached")
	ErrLayoutLimit   = errors.New("layout limit of the journal reached")
	// ErrRead is returned by Reader.Next if the disk fails to return what was written. Next may be called again and
	// then retries. Reader.Skip skips the part that cannot be read. Backoff decides when to do so.
	ErrRead = errors.New("journal cannot be read")
)

// FullError is an ErrFull with its reason. The batch was not queued and nothing is lost: the sender keeps the batch and
// sends it again after RetryAfter.
type FullError struct {
	Reason     string        // "queue", "share" (of the queue), "disk", "write" or "epochs"
	RetryAfter time.Duration // when to try again
	Err        error         // the error of the disk, if the disk is the reason
}

func (e *FullError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%v (%s): %v", ErrFull, e.Reason, e.Err)
	}
	return fmt.Sprintf("%v (%s)", ErrFull, e.Reason)
}

// Is makes errors.Is(err, ErrFull) true.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// Unwrap returns the error of the disk, if there is one.
func (e *FullError) Unwrap() error { return e.Err }
