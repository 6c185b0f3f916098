// Package embedded keeps closed slices on this machine, in Prometheus' tsdb used as a library. It owns a directory of blocks,
// the head in memory, and a cursor: the place in the journal from which the head can be built again. It keeps no log of its
// own (the journal is the log), and knows neither journal, slicer nor catalogue.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
)

var (
	// ErrNoSpace says that the disk has less room left than Options.MinFreeBytes; nothing was taken. Free space, or lower the
	// retention, and hand the same slices over again.
	ErrNoSpace = errors.New("embedded store: too little room left on the disk")
	// ErrFailed says that the disk refused what the head had to write, so that the head is lost. Close the store, open it anew
	// and replay from Durable; nothing that was durable is lost.
	ErrFailed = errors.New("embedded store: the disk failed and the head is lost; it must be opened again")
	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("embedded store: closed")
)

const blocksDir = "blocks"

// Store is the embedded store. Append, Flush, Snapshot and Close take turns; queries come from any goroutine meanwhile, and
// hold up none of them but Close.
type Store struct {
	dir     string
	options Options
	log     *slog.Logger
	figures *figures
	locker  *tsdbutil.DirLocker
	db      *tsdb.DB
	gate    gate
	readers readers
	durable atomic.Uint64
	lost    atomic.Pointer[error] // ErrFailed with its cause, once the head is lost

	turn   sync.Mutex // held by Append, Flush, Snapshot and Close
	closed bool
	series []series // by slice.Ref
	idle   int      // hand-overs without a slice since the last with one

	compaction sync.Mutex // held while blocks are written; taken after turn, before state

	state     sync.Mutex // guards all below, and is held for moments only
	saved     cursor     // as on disk
	handovers handovers
	held      occupancy
	settledMs int64 // what the head or blocks held at the last open or rewind ends before it
	retryMs   int64 // after a failed compaction: the newest slice end before which it is not tried again
	writing   bool  // a compaction runs in the background
	writers   sync.WaitGroup
}

// Open opens the store in dir, which it makes where it is missing, and locks it. The head is empty: hand over again what closed
// from journal records at or after Durable.
func Open(dir string, options Options) (*Store, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, options: options, log: options.Logger, retryMs: math.MinInt64}
	s.held = newOccupancy(options.BlockDuration.Milliseconds())
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func (s *Store) open() (err error) {
	if err := s.lock(); err != nil {
		return err
	}
	if s.saved, err = readCursor(s.dir); err != nil {
		return err
	}
	blocks := filepath.Join(s.dir, blocksDir)
	// What a head left here belongs to samples that come again from the journal.
	if err := os.RemoveAll(filepath.Join(blocks, "chunks_head")); err != nil {
		return fmt.Errorf("embedded store: remove the last head: %w", err)
	}
	retention := &retention{time: s.options.RetentionTime, bytes: s.options.RetentionBytes}
	if s.db, err = tsdb.Open(blocks, tsdbLogger(s.log), nil, s.tsdbOptions(retention), nil); err != nil {
		return fmt.Errorf("embedded store: open %s: %w", blocks, err)
	}
	s.db.DisableCompactions() // compaction is ours: see compaction.go
	s.figures = newFigures(s.options.Registerer, s)
	retention.expired = s.figures.expired
	s.rewind(s.db.Head().MaxTime())
	return nil
}

func (s *Store) lock() error {
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return fmt.Errorf("embedded store: %w", err)
	}
	locker, err := tsdbutil.NewDirLocker(s.dir, "embedded_store", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return fmt.Errorf("embedded store: lock %s: %w", s.dir, err)
	}
	if err := locker.Lock(); err != nil {
		return fmt.Errorf("embedded store: %s is in use by another process: %w", s.dir, err)
	}
	s.locker = locker
	return nil
}

func (s *Store) tsdbOptions(r *retention) *tsdb.Options {
	o := tsdb.DefaultOptions()
	o.WALSegmentSize = -1 // no log, neither WAL nor WBL: the journal is the log
	o.NoLockfile = true   // ours covers the directory
	o.MinBlockDuration = s.options.BlockDuration.Milliseconds()
	o.MaxBlockDuration = s.options.MaxBlockDuration.Milliseconds()
	o.OutOfOrderTimeWindow = s.options.OutOfOrderWindow.Milliseconds()
	o.RetentionDuration = 0
	o.BlocksToDelete = r.expire
	o.NewCompactorFunc = s.gate.newCompactor
	o.CompactionDelay = math.MaxInt64     // so db.Compact merges blocks and leaves the head to us
	o.StripeSize = 2048                   // stripes of the series map; tsdb's 16384 is for millions of series
	o.MaxBlockChunkSegmentSize = 16 << 20 // allocated ahead for every block written; tsdb's 512 MiB would fill a small disk
	// The head's chunks are written by the goroutine that appends, and never behind its back: tsdb panics where it cannot write
	// them, and only there can it be caught (guard). So no queue, and no reload by tsdb's own clock.
	o.HeadChunksWriteQueueSize = 0
	o.BlockReloadInterval = math.MaxInt64
	return o
}

// rewind starts again from the saved cursor: at open, and where the feed starts over. Slices that end before settledMs and
// are too old for tsdb are then known to be stored.
func (s *Store) rewind(settledMs int64) {
	s.handovers = newHandovers(s.saved.position, s.saved.newestMs)
	s.durable.Store(s.saved.position)
	s.settledMs = settledMs
}

// Durable is the journal position before the oldest slice that is not yet in a block on disk, as last written to disk. What
// closed from records before it never needs to be handed over again. It may be called at any time from any goroutine.
func (s *Store) Durable() uint64 { return s.durable.Load() }

// ready says why nothing can be done; turn is held.
func (s *Store) ready() error {
	if s.closed {
		return ErrClosed
	}
	if lost := s.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

// Snapshot writes all blocks (as hard links where the file system has them) into dir, which must not exist, while the store
// runs; what is in memory is first written into blocks. Prometheus, promtool and Thanos read the result.
func (s *Store) Snapshot(ctx context.Context, dir string) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("embedded store: snapshot: %s exists; name a directory that does not", dir)
	}
	if err := s.compactAll(ctx); err != nil {
		return err
	}
	if err := s.db.Snapshot(dir, false); err != nil {
		return fmt.Errorf("embedded store: snapshot into %s: %w", dir, err)
	}
	return nil
}

// Flush writes everything into blocks and advances the cursor to all that was handed over. A store that is fed does so by
// itself, also where it is fed with nothing for a while.
func (s *Store) Flush(ctx context.Context) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	return s.compactAll(ctx)
}

// maxClose bounds Close where its context does not: queries that still run are not waited for any longer.
const maxClose = 10 * time.Second

// Close flushes, unless ctx is done, waits for queries under way, and releases the directory. What it could not flush is
// replayed from the journal. It may be called twice.
func (s *Store) Close(ctx context.Context) error {
	last, flushed := s.shut(ctx)
	if !last {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxClose)
	defer cancel()
	s.figures.unregister()
	if err := s.readers.close(ctx); err != nil {
		return errors.Join(flushed, err, s.release())
	}
	return errors.Join(flushed, s.end(), s.release())
}

// shut takes the last turn.
func (s *Store) shut(ctx context.Context) (last bool, flushed error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.closed {
		return false, nil
	}
	s.closed = true
	if s.lost.Load() != nil || ctx.Err() != nil {
		return true, nil
	}
	return true, s.compactAll(ctx)
}

// end closes tsdb. Where the head is lost, a panic inside tsdb may have left a series locked, on which all that follows would
// wait for ever; so it is given a second, and left behind.
func (s *Store) end() error {
	closed := make(chan error, 1)
	go func() {
		s.writers.Wait()
		closed <- s.guard(s.db.Close)
	}()
	var limit <-chan time.Time
	if s.lost.Load() != nil {
		limit = time.After(time.Second)
	}
	select {
	case err := <-closed:
		return err
	case <-limit:
		return nil
	}
}

func (s *Store) release() error {
	if s.locker == nil {
		return nil
	}
	return s.locker.Release()
}

// guard runs work of tsdb that writes the head's chunks. Where these cannot be written tsdb panics; then the head is lost.
func (s *Store) guard(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", ErrFailed, cause)
			s.lost.CompareAndSwap(nil, &err)
		}
	}()
	return work()
}
