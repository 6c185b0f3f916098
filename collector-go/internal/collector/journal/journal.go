// Package journal is the collector's log and the point of acknowledgement: what it has fsynced is never lost and never
// doubled. It keeps entries (entry.go) in segments on disk, in one order for all readers, with a dictionary of its own
// for series and producers. It knows nothing of streams, of what a metric means, or of slices.
//
// The format on disk is described in docs/formats/journal.md.
package journal

import (
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

// LockFile is the file of a journal's directory that the process holds a lock of which writes there.
func LockFile(dir string) string { return filepath.Join(dir, lockName) }

// Journal is safe for concurrent use.
type Journal struct {
	dir     string
	o       Options
	fs      disk.FS
	log     *slog.Logger
	figures *figures
	lock    disk.Lock

	mu        sync.Mutex
	state     *state                 // its epochs hold what is durable
	inFlight  map[batchName]struct{} // queued or being written
	fresh     definitions            // defined, and in no record yet
	queue     queue
	ring      ring
	readers   map[*Reader]Position // how far each that is open has read
	sweptHour int64                // when a tick last looked for what is idle

	pressedSeries, pressedLayouts, pressedProducers pressure

	roomSecond int64 // when hasRoomFor last looked
	shortage   disk.Shortage
	failure    error // why nothing can be written at the moment
	closed     bool
	segments   []segment // oldest first
	bytes      int64     // of all segments
	before     Position  // what is before it was deleted
	newest     uint32    // number of the newest segment that was ever begun
	durable    Position
	changed    chan struct{} // closed and replaced when any of the above changes for readers

	releasing        sync.Mutex
	deletionUnsynced bool // guarded by releasing
	committer        *committer
	closing          sync.Once
}

// leastSegments is in how many segments the journal comes at least.
const leastSegments = 8

// batchName is what a batch is known by.
type batchName struct {
	origin   origin
	sequence uint64
}

// Open opens the journal in dir, which is made if need be, and cuts what a crash left half-written. It fails when
// another process has the journal, when dir cannot be read, or when a newer version wrote it; a full or failing disk is
// no reason (see Ready).
func Open(dir string, o Options) (*Journal, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	j := newJournal(dir, o)
	if err := j.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("journal: make directory %s: %w", dir, err)
	}
	var err error
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

// keepLock takes the lock of an empty directory that has come in the place of the one that was locked. Another
// collector may have it, or have written there.
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
		err = fmt.Errorf("journal: %s has become another journal's: end this collector, or give it its directory back",
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
	j := &Journal{dir: dir, o: o, fs: o.FS, log: o.Logger, figures: newFigures(o.Registerer),
		state: newState(), inFlight: map[batchName]struct{}{}, changed: make(chan struct{}),
		readers: map[*Reader]Position{}}
	if j.fs == nil {
		j.fs = disk.System{}
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if j.o.Now == nil {
		j.o.Now = time.Now
	}
	// Where the journal makes room at the cost of a store that is behind, no more than a small part of it goes at once.
	j.o.SegmentBytes = min(o.SegmentBytes, max(o.MaxBytes/leastSegments, leastSegmentBytes))
	j.ring.limit = o.RingBytes
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

// Ready returns why the journal takes no batches at the moment; nil when it does.
func (j *Journal) Ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return ErrClosed
	case j.failure != nil:
		return fmt.Errorf("journal: %s accepts no writes: %w", j.dir, j.failure)
	case j.bytes >= j.o.MaxBytes:
		return fmt.Errorf("journal: %s has reached its %d bytes: a store is behind, or MaxBytes is too small", j.dir,
			j.o.MaxBytes)
	}
	return nil
}

// wakeReaders makes readers look again. The caller holds mu.
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

// Durable is the position behind the last durable entry. No reader of this journal was ever given a greater one, before
// the start included, unless the newest segment has lost its end.
func (j *Journal) Durable() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

// NowMs is the time of the newest entry, by the collector's clock; 0 where there is none.
func (j *Journal) NowMs() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.nowMs
}
