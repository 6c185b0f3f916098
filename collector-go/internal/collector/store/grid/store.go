// Package grid is the embedded store: it keeps closed slices on the collector's own disk and answers queries from them.
//
// The store has two halves. New slices go into a head in memory (head.go, column.go, chunk.go). About every ten minutes
// the head is frozen and written as immutable files, one part for each six-hour partition (flush.go). Package part has
// the files' format. A manifest lists the parts and the journal position up to which they have everything
// (manifest.go). Small parts are merged into larger ones in the background (merge.go), and retention deletes whole
// parts (retention.go).
//
// The store has no log of its own, because the journal is the log. After a crash the feed replays the journal from
// Durable. Slices that are already in parts are recognised and not stored twice. The store knows neither the journal
// nor the slicer nor the catalog. It only sees slices and positions.
//
// Read Store first. Then read append.go for how a slice gets into the head, flush.go for how it gets to disk, and
// querier.go and package read for queries. docs/formats/grid.md describes the directory and the files.
package grid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

var (
	// ErrNoSpace means that the memory for slices is full and could not be written to disk. Nothing was stored. Free
	// disk space or lower the retention, and call Append with the same slices again. The store needs no restart.
	ErrNoSpace = errors.New("grid store: memory is full and cannot be written to disk")
	// ErrClosed means that the store is closed and must be opened again.
	ErrClosed = errors.New("grid store: closed")
)

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Store is the grid store. Only one goroutine, the feed's, may call Append and Rewind. All other methods may be called
// from any goroutine at any time. Queries block nothing except Close.
//
// Three groups of fields have different owners. The fields up to stop are set once by Open. Whoever writes files holds
// turn, which guards the fields from sequence to shortage. The mutex lock guards everything below it. It is held only
// for short steps in memory, so that a query never waits for the disk.
//
// A slice is in one of three places: the live head, the frozen head that is being written, or a part. It moves from one
// to the next. Queries always see it, because a frozen head is dropped only after the manifest with its parts is
// published.
type Store struct {
	dir     string
	options Options
	fs      disk.FS
	log     *slog.Logger
	figures *figures
	locked  io.Closer
	durable atomic.Uint64
	// closing is done when Close is called. Work in the background then ends as soon as it can.
	closing context.Context
	stop    context.CancelFunc

	// turn is held by whoever writes files. It is a channel with one element, so that waiting for it can end with a
	// context.
	turn     chan struct{}
	workers  sync.WaitGroup
	sequence uint64   // of the newest manifest that was tried; turn guards this and the next six fields
	stale    []uint64 // sequences of other manifests that may be on disk
	unlisted []uint64 // numbers of parts in a manifest that may or may not be on disk
	asides   []asideFile
	order    order
	texts    part.Cache
	shortage disk.Shortage
	met      damageMet
	// lingering is the total size of parts that no manifest lists but that queries still read, in bytes.
	lingering atomic.Int64

	lock      sync.RWMutex // guards all fields below
	closed    bool
	manifest  manifest // the published manifest
	pieces    []*piece // its parts, by age
	live      *head    // takes new slices
	frozen    *freeze  // the head that is being written, or nil
	newestMs  int64    // end of the newest slice in the store
	handed    uint64   // journal position up to which slices were handed over
	replayed  uint64   // slices that come with a position up to it are in parts already
	handovers int      // hand-overs with slices since the last freeze
	idle      int      // hand-overs without a slice in a row
	pause     int      // hand-overs until a failed write is tried again
	working   bool     // a worker runs
	failing   bool     // the last work in the background failed
	readers   int
	unread    chan struct{} // closed when, after Close, the last reader ends
}

// Open opens the store in dir, which it creates if it is missing, and locks it against other processes. A newly opened
// store has nothing in memory: the caller must hand over again what closed from journal records at or after Durable.
func Open(dir string, options Options) (_ *Store, err error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.filled()
	s := &Store{dir: dir, options: options, fs: options.FS, log: options.Logger, turn: make(chan struct{}, 1)}
	s.closing, s.stop = context.WithCancel(context.Background())
	if err := s.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("grid store: make %s: %w", dir, err)
	}
	holder := fmt.Sprintf("pid %d since %s", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	if s.locked, err = s.fs.Lock(s.path("lock"), holder); err != nil {
		return nil, fmt.Errorf("grid store: lock %s: %w", dir, err)
	}
	s.figures = newFigures(s)
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, s.closeParts(), s.locked.Close())
	}
	s.live = newHead(newTable())
	s.figures.Register(s.options.Registerer)
	return s, nil
}

// Durable returns the journal position up to which everything that closed is in parts on disk. The journal may delete
// what is before it, so it must never be ahead of the published manifest. It does not wait for a lock.
func (s *Store) Durable() uint64 { return s.durable.Load() }

// Memory returns the bytes that slices take in memory, and the bytes that their series take. Both are estimates from
// the sizes of the structures. memory_test.go checks them against the Go heap.
func (s *Store) Memory() (slices, series int) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.sliceBytes(), s.live.table.memory()
}

// sliceBytes returns the bytes that slices take in memory. The caller holds lock.
func (s *Store) sliceBytes() int {
	n := s.live.bytes()
	if s.frozen != nil {
		n += s.frozen.bytes()
	}
	return n
}

// maxClose limits how long Close waits for queries and for a part that is being written.
const maxClose = 10 * time.Second

// Close writes what is in memory unless ctx is done, waits for running queries, and releases the directory. The journal
// replays what could not be written. It may be called twice.
func (s *Store) Close(ctx context.Context) error {
	s.lock.Lock()
	if s.closed {
		s.lock.Unlock()
		return nil
	}
	s.closed = true
	s.unread = make(chan struct{})
	if s.readers == 0 {
		close(s.unread)
	}
	s.stop()
	s.lock.Unlock()
	s.figures.Unregister()
	var flushed error
	if ctx.Err() == nil {
		flushed = s.flush(ctx)
	}
	limit, cancel := context.WithTimeout(context.Background(), maxClose)
	defer cancel()
	if err := s.await(limit); err != nil {
		return errors.Join(flushed, err)
	}
	select {
	case <-s.unread:
	default:
		select {
		case <-s.unread:
		case <-ctx.Done():
			return errors.Join(flushed, s.leftOpen(ctx.Err()))
		case <-limit.Done():
			return errors.Join(flushed, s.leftOpen(limit.Err()))
		}
	}
	return errors.Join(flushed, s.closeParts(), s.locked.Close())
}

// leftOpen releases the directory although queries still read from it. Their files stay open until the process ends.
// Another process may open the store meanwhile, because a part never changes after it is published.
func (s *Store) leftOpen(err error) error {
	return errors.Join(fmt.Errorf("grid store: queries are still running; files stay open until the process ends: %w",
		err), s.locked.Close())
}

// await waits until no worker runs.
func (s *Store) await(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("grid store: a part is still being written; the directory stays locked until the process ends: %w",
			ctx.Err())
	}
}

// closeParts closes every open part, including those of a frozen head that no manifest lists yet.
func (s *Store) closeParts() (err error) {
	open := slices.Clone(s.pieces)
	if s.frozen != nil {
		open = slices.AppendSeq(open, maps.Values(s.frozen.written))
	}
	for _, p := range open {
		err = errors.Join(err, p.Close())
	}
	return err
}
