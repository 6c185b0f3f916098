package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// extent is how much of the head is written into blocks.
type extent int

const (
	wholeRanges extent = iota // block ranges that no slice in order can reach any more
	everything                // up to the newest slice
)

// compactWhereDue starts to write blocks in the background when the head holds one and a half block ranges; state is held. A
// failure leaves the head as it is: it is logged, counted and tried again a tenth of a range later, until the head is full
// (Options.MaxHeadSamples); then Append says it.
func (s *Store) compactWhereDue() {
	newest := s.db.Head().MaxTime()
	if s.writing || newest < s.retryMs || !s.compactable(newest) {
		return
	}
	s.writing = true
	s.writers.Go(func() {
		err := s.compactBehindAppends(context.Background())
		s.state.Lock()
		defer s.state.Unlock()
		s.writing = false
		if err != nil {
			s.retryMs = newest + s.options.BlockDuration.Milliseconds()/10
			s.log.Warn("embedded store cannot write blocks; what it holds stays in memory and in the journal, and it will try again", "error", err)
		}
	})
}

// compactable says whether the head's oldest block range lies behind all that is appended in order once newestMs was.
func (s *Store) compactable(newestMs int64) bool {
	oldest := s.db.Head().MinTime()
	return oldest != math.MaxInt64 && newestMs-oldest > s.options.BlockDuration.Milliseconds()*3/2
}

// compactBehindAppends writes whole block ranges while slices are appended, but for its first moments.
func (s *Store) compactBehindAppends(ctx context.Context) error {
	s.turn.Lock()
	release := sync.OnceFunc(s.turn.Unlock)
	defer release()
	if err := s.ready(); err != nil {
		return err
	}
	return s.compact(ctx, wholeRanges, release)
}

// compactAll writes everything; its caller holds turn, so that nothing is appended meanwhile.
func (s *Store) compactAll(ctx context.Context) error {
	return s.compact(ctx, everything, func() {})
}

// compact writes blocks, advances the cursor, and merges blocks. Its caller holds turn; release is called when slices may be
// appended again.
//
// The order matters. What came out of order goes first, and then only ranges that were whole before it went: so at no time is
// there a block newer than a slice that was out of order when it came and is still in memory only. tsdb, whose window counts
// back from its newest block after a restart, therefore takes that slice again.
func (s *Store) compact(ctx context.Context, upTo extent, release func()) error {
	s.compaction.Lock()
	defer s.compaction.Unlock()
	started := time.Now()
	err := s.guard(func() error { return s.writeBlocks(ctx, upTo, release) })
	if err == nil {
		err = s.merge(ctx)
	}
	s.figures.compacted(time.Since(started), err)
	return err
}

func (s *Store) writeBlocks(ctx context.Context, upTo extent, release func()) error {
	newest, handed := s.mark()
	s.gate.onWrite(release)
	if err := s.db.CompactOOOHead(ctx); err != nil {
		return fmt.Errorf("embedded store: write out-of-order blocks: %w", err)
	}
	release()
	width := s.options.BlockDuration.Milliseconds()
	for s.compactable(newest) {
		from := s.db.Head().MinTime()
		if err := s.writeBlock(from, from-from%width+width); err != nil {
			return err
		}
	}
	if upTo == everything {
		if err := s.writeRest(newest); err != nil {
			return err
		}
	}
	return s.advance(handed, upTo)
}

// mark says how far the head is filled: its newest time, and the journal position up to which all has been appended.
func (s *Store) mark() (newestMs int64, handed uint64) {
	s.state.Lock()
	defer s.state.Unlock()
	return s.db.Head().MaxTime(), s.handovers.upTo
}

// writeRest writes all that is left in the head, into as many blocks as it has block ranges.
func (s *Store) writeRest(newestMs int64) error {
	head, width := s.db.Head(), s.options.BlockDuration.Milliseconds()
	for from := head.MinTime(); from <= newestMs; from = head.MinTime() {
		if err := s.writeBlock(from, min(newestMs+1, from-from%width+width)); err != nil {
			return err
		}
	}
	return nil
}

// writeBlock writes the slices that end within [from, to) into a block and drops them from the head. tsdb syncs every file of
// a block and its directories, renames it into place and syncs the parent before this returns.
func (s *Store) writeBlock(from, to int64) error {
	err := s.db.CompactHead(tsdb.NewRangeHeadWithIsolationDisabled(s.db.Head(), from, to-1))
	if err != nil {
		return fmt.Errorf("embedded store: write block: %w", err)
	}
	return nil
}

// advance moves the cursor to the oldest slice that is not in a block. Of what closed before journal position handed, all that
// came out of order is in blocks, and all that came in order and ends before the head's first time.
func (s *Store) advance(handed uint64, upTo extent) error {
	s.state.Lock()
	defer s.state.Unlock()
	next := cursor{handed: handed, stored: s.db.Head().MinTime()}
	next.position, next.newestMs = s.handovers.settle(handed, next.stored)
	s.held.settle(next.stored, upTo)
	if next == s.saved {
		return nil
	}
	if err := next.write(s.dir); err != nil {
		return err
	}
	s.saved = next
	s.durable.Store(next.position)
	return nil
}

// gate is tsdb's compactor with word of when it begins to write. tsdb's CompactOOOHead first lists what it will write and
// notes the newest chunk of it; afterwards it drops every older chunk. A slice that is appended while it lists can fill a
// chunk of a series that it has passed already, and is dropped unwritten. So nothing is appended until it begins to write.
type gate struct {
	tsdb.Compactor
	next atomic.Pointer[func()]
}

func (g *gate) onWrite(f func()) { g.next.Store(&f) }

func (g *gate) Write(dest string, b tsdb.BlockReader, mint, maxt int64, base *tsdb.BlockMeta) ([]ulid.ULID, error) {
	if f := g.next.Swap(nil); f != nil {
		(*f)()
	}
	return g.Compactor.Write(dest, b, mint, maxt, base)
}

// newCompactor is tsdb's own default but for the gate.
func (g *gate) newCompactor(ctx context.Context, r prometheus.Registerer, l *slog.Logger, ranges []int64, pool chunkenc.Pool, o *tsdb.Options) (tsdb.Compactor, error) {
	c, err := tsdb.NewLeveledCompactorWithOptions(ctx, r, l, ranges, pool, tsdb.LeveledCompactorOptions{
		MaxBlockChunkSegmentSize:    o.MaxBlockChunkSegmentSize,
		EnableOverlappingCompaction: o.EnableOverlappingCompaction,
		PD:                          o.PostingsDecoderFactory,
	})
	g.Compactor = c
	return g, err
}

// merge joins blocks into longer ones, drops what overlaps twice, and deletes what retention says. tsdb's own Compact is kept
// from writing the head by its compaction delay, so that this is all that it does.
func (s *Store) merge(ctx context.Context) error {
	if err := s.db.Compact(ctx); err != nil {
		return fmt.Errorf("embedded store: merge blocks: %w", err)
	}
	return nil
}
