// Package feed brings the entries of the journal into one store. Each store has its own feed and its own position in
// the journal. A store that is slow or unreachable therefore does not delay the others.
//
// A feed reads an entry, asks the catalog which series it contains, and gives the samples to the slicer. On ticks it
// hands the closed slices to the store. It saves checkpoints of the catalog and the slicer, so that a restart replays
// only the entries after the newest usable one. The replay gives the store the same slices with the same values.
//
// Start reading at Feed.Run in feed.go. pipeline.go applies one entry. skip.go skips entries that the journal is about
// to release, and transfer.go moves the state of a topology to another collector. The package does not depend on how a
// store keeps its slices, nor on how samples arrived.
package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Store keeps closed slices. Only the feed's goroutine calls its methods.
type Store interface {
	// Append stores the slices that closed from journal entries up to the position upTo. It must not keep references to
	// the columns. After a restart it may receive slices again, with the same values.
	//
	// rejected counts the slices that the store refuses permanently, by reason. After an error the feed repeats the
	// call with the same columns, unless Options.Lost reports that this is useless.
	Append(ctx context.Context, upTo uint64, closed *slice.Columns) (rejected map[string]int, err error)
	// Durable returns a journal position. Slices that closed from entries up to it are on disk and need not be sent
	// again.
	Durable() uint64
}

// Rewinder is a store that keeps state by Ref. Rewind announces that the next slices close from entries after the
// cursor. The feed's goroutine calls it, or its creator before that goroutine runs.
//
// Rewind is called in two cases. Before the first Append the cursor is at most Durable, and slices that closed since
// then follow again with their definitions. After the feed skipped entries that the journal released, the cursor lies
// ahead, and refs are unchanged.
type Rewinder interface {
	Rewind(cursor uint64)
}

// Options configure a feed.
type Options struct {
	// Name is the name of the store. It is the label "store" of the feed's metrics and the name of its directory.
	Name string
	// Dir is the directory of all feeds' checkpoints. Each feed has a subdirectory of its own.
	Dir string
	// FS is the file system of the checkpoints; nil for the operating system's.
	FS disk.FS
	// CheckpointTicks is the least number of journal ticks (seconds) between two checkpoints. See checkpointDue.
	CheckpointTicks int
	// CatchUpTicks is the number of ticks whose slices are handed over together while the feed lags behind the
	// journal's end. Without it, a remote store would receive one request for each second of a backlog. 1 hands over
	// the slices of each tick, as a feed that keeps up does.
	CatchUpTicks int
	// FlushSlices hands over closed slices before the next tick if there are at least this many. It bounds the memory
	// that catching up needs.
	FlushSlices int
	// CloseAtEnd closes all slices that are open at the journal's end. A replay of a finished recording sets it, since
	// no further samples will arrive.
	CloseAtEnd bool
	// Lost reports whether the store is unusable after an error of Append until it is opened again. The feed then ends.
	// nil means never.
	Lost func(error) bool
	// Transfers receives the state of topologies that senders own, once the store has the slices that closed. nil if
	// topologies do not move.
	Transfers  *checkpoint.Transfers
	Slicer     slicer.Options
	Catalog    catalog.Options
	Registerer prometheus.Registerer // may be nil
	Logger     *slog.Logger
}

// DefaultOptions returns the default options of the feed of a store.
func DefaultOptions(name, dir string) Options {
	return Options{
		Name: name, Dir: dir,
		CheckpointTicks: 60, // a minute is replayed in well under a second
		CatchUpTicks:    1,
		FlushSlices:     1 << 16, // about 2 MB of columns
		Slicer:          slicerOptions(),
		Catalog:         catalog.DefaultOptions(),
		Logger:          slog.New(slog.DiscardHandler),
	}
}

// slicerOptions returns the slicer's defaults with the collection health, which uses the catalog's names.
func slicerOptions() slicer.Options {
	o := slicer.DefaultOptions()
	o.Health, o.Limits = Health(), catalog.Limits()
	return o
}

// Health returns the configuration of collection health. The period of 30 s shows within a minute or two that a worker
// fell silent, at about eight values per worker. The catalog has about 130 metrics, of which a worker has about 80.
func Health() slicer.Health {
	return slicer.Health{PeriodMs: catalog.CollectionPeriod.Milliseconds(), MaxMetrics: 256, Steady: catalog.Steady(),
		Lazy: catalog.Lazy(), Names: slicer.HealthNames{
			Interval: catalog.CollectionInterval, Seen: catalog.CollectionSeen, Samples: catalog.CollectionSamples,
			Missing: catalog.CollectionMissing, Late: catalog.CollectionLate, Refused: catalog.CollectionRefused,
			WorkerSamples: catalog.CollectionWorkerSamples, WorkerMissing: catalog.CollectionWorkerMissing,
			WorkerLate:    catalog.CollectionWorkerLate,
			WorkerRefused: catalog.CollectionWorkerRefused, WorkerRatio: catalog.CollectionWorkerRatio,
			Ahead: catalog.CollectionSkew, AheadLeast: catalog.CollectionSkewLeast,
			AheadMost: catalog.CollectionSkewMost, Dropped: catalog.CollectionDropped}}
}

// Feed is one store's reader of the journal. The goroutine of Run owns the pipeline, the position and the tick
// counters. Other goroutines use only the atomic fields and the channel leave.
type Feed struct {
	options     Options
	journal     *journal.Journal
	store       Store
	retention   *Retention
	checkpoints *checkpoint.Files

	pipeline *pipeline
	position journal.Position // of the last applied entry
	ticks    int              // since the last checkpoint
	grown    int64            // bytes of the journal since the last checkpoint
	saved    int64            // size of the last checkpoint, bytes; 0 before the first
	waiting  int              // ticks since the last hand-over
	offered  journal.Position // position of the last hand-over
	resumed  journal.Position // the store's cursor at the start, at which a hand-over must end
	tickMs   int64            // time of the last tick

	leave               chan skipRequest // see Leave
	checkpointRequested atomic.Bool      // see requestCheckpoint
	pause               pause            // nil except in simulations
	patience            journal.Backoff
	figures             *figures
	caught              atomic.Uint64 // position up to which everything was handed over, for Position
}

// New restores the newest checkpoint that is not after the store's cursor. It starts nothing; call Run.
func New(j *journal.Journal, store Store, retention *Retention, o Options) (*Feed, error) {
	saved, err := checkpoint.Open(filepath.Join(o.Dir, o.Name), o.FS)
	if err != nil {
		return nil, err
	}
	f := &Feed{options: o, journal: j, store: store, retention: retention, checkpoints: saved,
		figures: newFigures(o, j.NowMs), leave: make(chan skipRequest), patience: journal.DefaultBackoff()}
	retention.Join(o.Name, f.requestCheckpoint)
	if err := f.restore(journal.Position(store.Durable())); err != nil {
		return nil, fmt.Errorf("feed %s: %w", o.Name, err)
	}
	f.rewind(f.position)
	f.figures.publish(f.pipeline, f.position)
	return f, nil
}

// AheadError reports that a store was fed beyond the end of the journal. Continuing would mistake new slices for old
// ones.
type AheadError struct {
	Store       string
	Cursor, End journal.Position
	DataDir     string
}

// Error implements error.
func (e AheadError) Error() string {
	return fmt.Sprintf("store %s has read the journal up to %v, but the journal ends at %v: its newest files were removed or emptied, or it belongs to another store. Put the files back, or continue at the journal's end with bullet-metrics fsck %s --repair. The store keeps its data; data that only those files had is lost",
		e.Store, e.Cursor, e.End, e.DataDir)
}

func (f *Feed) rewind(cursor journal.Position) {
	if store, ok := f.store.(Rewinder); ok {
		store.Rewind(uint64(cursor))
	}
}

// restore loads the newest checkpoint at or before the cursor. Without one it starts from the journal's oldest entry.
// That is the case for a new feed, and for a feed whose checkpoints are gone.
func (f *Feed) restore(cursor journal.Position) error {
	if durable := f.journal.Durable(); cursor > durable {
		return AheadError{Store: f.options.Name, Cursor: cursor, End: durable, DataDir: filepath.Dir(f.options.Dir)}
	}
	f.checkpoints.Discard(f.journal.Durable())
	position, err := f.checkpoints.Newest(cursor, func(state []byte) (err error) {
		f.pipeline, err = restorePipeline(state, f.options)
		return err
	}, func(path string, err error) {
		f.options.Logger.Warn("checkpoint is unusable; using the previous one, with a longer replay", "file", path,
			"error", err)
	})
	if err == nil {
		f.position = position
		f.resumed = cursor
		return nil
	}
	if !errors.Is(err, checkpoint.ErrNone) {
		return err
	}
	if cursor > 0 {
		f.options.Logger.Warn("no usable checkpoint; starting from the journal's oldest entry with new counters",
			"store", f.options.Name, "directory", filepath.Join(f.options.Dir, f.options.Name))
	}
	f.pipeline, err = newPipeline(f.options)
	return err
}

// Run feeds the store until the journal is closed and read to its end. It then saves a last checkpoint, so that the
// next start replays nothing. If ctx is done it ends earlier, without a checkpoint. It returns nil in both cases.
func (f *Feed) Run(ctx context.Context) error {
	reader, err := f.openReader()
	if err != nil {
		return fmt.Errorf("feed %s: %w", f.options.Name, err)
	}
	defer func() { _ = reader.Close() }()
	for {
		if request, is := f.pendingSkip(); is {
			if reader, err = f.skipTo(ctx, reader, request, false); err != nil && ctx.Err() == nil {
				return fmt.Errorf("feed %s: %w", f.options.Name, err)
			}
		}
		position, entry, err := f.next(ctx, reader)
		switch {
		case errors.Is(err, journal.ErrClosed):
			return f.finish(ctx)
		case err != nil && ctx.Err() != nil:
			return nil
		case errors.Is(err, journal.ErrRead):
			err = f.retryRead(ctx, reader, err)
		case err != nil:
			return fmt.Errorf("feed %s: read the journal: %w", f.options.Name, err)
		default:
			f.patience.Succeeded()
			err = f.take(ctx, position, entry)
		}
		if request, left := asLeft(err); left {
			reader, err = f.skipTo(ctx, reader, request, true)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("feed %s: %w", f.options.Name, err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// pause replaces all waiting in simulations. It waits for a duration, or, if d is 0, for the journal to grow. It
// returns when Run shall continue, with the error of the context if that is done.
type pause func(ctx context.Context, d time.Duration) error

// nothingToWaitFor is a context that is already done, so that Reader.Next does not block.
var nothingToWaitFor = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// next returns the journal's next entry and waits for it if necessary.
func (f *Feed) next(ctx context.Context, reader *journal.Reader) (journal.Position, journal.Entry, error) {
	for f.pause != nil {
		position, entry, err := reader.Next(nothingToWaitFor)
		if !errors.Is(err, context.Canceled) {
			return position, entry, err
		}
		if err := f.pause(ctx, 0); err != nil {
			return 0, nil, err
		}
	}
	return reader.Next(ctx)
}

// retryRead waits before the journal is read again. If reading has failed for too long, it skips the part that the disk
// cannot read. The samples of that part are missing in the store. Only the number of skipped parts is counted.
func (f *Feed) retryRead(ctx context.Context, reader *journal.Reader, failure error) error {
	if !f.patience.Failing() {
		f.options.Logger.Error("reading the journal failed; retrying", "store", f.options.Name, "from", f.position,
			"giving_up_after", f.patience.SkipAfter, "error", failure)
	}
	f.figures.failures.Inc()
	delay, skip := f.patience.Failed()
	if err := f.wait(ctx, delay); err != nil {
		return err
	}
	if skip {
		reader.Skip()
		f.figures.unreadable.Inc()
		f.options.Logger.Error("skipped an unreadable part of the journal; its samples are missing in the store",
			"store", f.options.Name, "after", f.position, "error", failure)
	}
	return nil
}

func (f *Feed) finish(ctx context.Context) error {
	if f.options.CloseAtEnd {
		f.pipeline.slicer.CloseAll()
	}
	err := f.flush(ctx)
	for request, left := asLeft(err); left; request, left = asLeft(err) {
		request.done <- journal.ErrClosed // the requester may ask again after the next start
		err = f.flush(ctx)
	}
	switch {
	case err == nil:
		f.checkpoint()
		return nil
	case ctx.Err() != nil:
		return nil // out of time; the next start replays the rest
	}
	return fmt.Errorf("feed %s: %w", f.options.Name, err)
}

// openReader starts at the feed's position. If the journal has released that position, it starts at the oldest entry
// that is left. It counts the loss as expired and logs it.
func (f *Feed) openReader() (*journal.Reader, error) {
	reader, err := f.journal.Reader(f.position)
	if !errors.Is(err, journal.ErrExpired) {
		return reader, err
	}
	oldest := f.journal.Oldest()
	f.options.Logger.Error("the journal deleted entries before this store read them; they are missing in the store",
		"store", f.options.Name, "from", f.position, "to", oldest)
	f.figures.expired.Inc()
	f.figures.slices.WithLabelValues("expired", "").Add(float64(f.pipeline.dropOpen()))
	f.rewind(oldest)
	return f.journal.Reader(0)
}

// take applies one entry and hands over the slices if that is due.
func (f *Feed) take(ctx context.Context, position journal.Position, entry journal.Entry) error {
	f.apply(entry)
	f.grown += position.Since(f.position)
	f.position = position
	if tick, is := entry.(*journal.Tick); is {
		f.tickMs = tick.TimeMs
		f.figures.givenMs.CompareAndSwap(0, f.tickMs) // first tick since the start: nothing newer was handed over yet
		f.ticks++
		f.waiting++
	}
	checkpointRequested := f.checkpointRequested.Swap(false)
	due := f.checkpointDue() || checkpointRequested
	if !due && !f.full() {
		return nil
	}
	if err := f.flush(ctx); err != nil {
		return err
	}
	if checkpointRequested {
		f.moveCursor(ctx)
	}
	if due {
		f.checkpoint()
	}
	return nil
}

const (
	// mostCheckpointIntervals bounds the time between two checkpoints, as a multiple of Options.CheckpointTicks.
	mostCheckpointIntervals = 10
	// checkpointShare is the number of bytes of the journal for each byte of checkpoints, unless that much takes longer
	// than about a second to replay: quickReplayBytes.
	checkpointShare  = 4
	quickReplayBytes = 8 << 20
)

// checkpointDue reports whether a checkpoint is due. A checkpoint contains all series, whether they changed or not. It
// therefore waits until the journal has grown by more than the last checkpoint took.
func (f *Feed) checkpointDue() bool {
	enough := min(checkpointShare*f.saved, max(f.saved, quickReplayBytes))
	return f.ticks >= f.options.CheckpointTicks &&
		(f.grown >= enough || f.ticks >= mostCheckpointIntervals*f.options.CheckpointTicks)
}

// requestCheckpoint requests an early checkpoint and an advance of the store's cursor, because the journal is nearly
// full. It does nothing unless everything before upTo was handed over. It is safe for concurrent use.
func (f *Feed) requestCheckpoint(upTo journal.Position) {
	if f.caught.Load() >= uint64(upTo) {
		f.checkpointRequested.Store(true)
	}
}

// moveCursor makes durable what the store received, so that its cursor advances. If that fails, for example on a full
// disk, the journal keeps the entries and requests it again.
func (f *Feed) moveCursor(ctx context.Context) {
	store, ok := f.store.(interface{ Flush(context.Context) error })
	if !ok {
		return
	}
	if err := store.Flush(ctx); err != nil {
		f.figures.failures.Inc()
		f.options.Logger.Warn("store append failed, and the journal is nearly full", "store", f.options.Name,
			"error", err)
	}
}

// apply gives an entry to the pipeline. It observes how long a batch takes.
func (f *Feed) apply(entry journal.Entry) {
	if _, is := entry.(*journal.Batch); !is {
		f.pipeline.apply(entry)
		return
	}
	begun := time.Now()
	f.pipeline.apply(entry)
	f.figures.extract.Observe(time.Since(begun).Seconds())
}

// full reports whether to hand over slices now. A hand-over ends at the cursor that the store had at the start. Slices
// that the store already has are then not mixed with new ones. It also ends with each journal segment. If a store is
// unreachable while the journal is full, it then loses only the slices that were cut from the oldest segment.
func (f *Feed) full() bool {
	switch {
	case f.pipeline.closed().Len() >= f.options.FlushSlices, f.position == f.resumed:
		return true
	case f.waiting == 0:
		return false
	case f.position.Segment() != f.offered.Segment():
		return true
	}
	return f.waiting >= f.options.CatchUpTicks || !f.lags()
}

// maxLagMs is how far the feed may be behind the journal's newest entry without counting as lagging.
const maxLagMs = 3000

func (f *Feed) lags() bool { return f.journal.NowMs()-f.tickMs > maxLagMs }

// Delays between attempts to hand slices to a store that fails.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
	// longestAsked bounds the delay that a store may request.
	longestAsked = 5 * time.Minute
)

// flush hands the closed slices to the store and retries until the store accepts them. Only this feed waits.
func (f *Feed) flush(ctx context.Context) error {
	f.pipeline.payGaps()
	closed := f.pipeline.closed()
	f.waiting, f.offered = 0, f.position
	f.figures.pending.Set(float64(closed.Len()))
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		begun := time.Now()
		rejected, err := f.store.Append(ctx, uint64(f.position), closed)
		if err == nil {
			if closed.Len() > 0 {
				f.figures.write.Observe(time.Since(begun).Seconds())
			}
			delivered := closed.Len() // less what the store refused
			for reason, n := range rejected {
				f.figures.slices.WithLabelValues("rejected", reason).Add(float64(n))
				delivered -= n
			}
			f.figures.slices.WithLabelValues("delivered", "").Add(float64(delivered))
			closed.Reset()
			f.figures.pending.Set(0)
			f.caught.Store(uint64(f.position))
			f.figures.givenMs.Store(f.tickMs)
			f.figures.publish(f.pipeline, f.position)
			f.handOut()
			return nil
		}
		if f.options.Lost != nil && f.options.Lost(err) {
			return fmt.Errorf("append slices to the store: %w", err)
		}
		if delay == firstRetry {
			f.options.Logger.Warn("store append failed; retrying", "store", f.options.Name, "error", err)
		}
		f.figures.failures.Inc()
		if err := f.wait(ctx, max(delay, asked(err))); err != nil {
			return err
		}
	}
}

// asked returns the delay that the store requests with an error, at most longestAsked, or 0.
func asked(err error) time.Duration {
	var asks interface{ RetryAfter() time.Duration }
	if errors.As(err, &asks) {
		return min(asks.RetryAfter(), longestAsked)
	}
	return 0
}

// wait waits for d. It ends early if ctx is done, or if the journal must release entries that the store lacks.
func (f *Feed) wait(ctx context.Context, d time.Duration) error {
	if f.pause != nil {
		return f.pause(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case request := <-f.leave:
		return skipInterrupt{request}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkpoint saves the state and releases the journal entries that a restart would not read. A failure to save does not
// lose data, but makes a later replay longer.
func (f *Feed) checkpoint() {
	f.ticks, f.grown = 0, 0
	state := f.pipeline.snapshot()
	f.saved = 0
	for _, part := range state {
		f.saved += int64(len(part))
	}
	if err := f.checkpoints.Save(f.position, state...); err != nil {
		f.saved = 0 // the next one does not wait for the journal
		f.figures.failures.Inc()
		f.options.Logger.Warn("saving a checkpoint failed; a restart will replay more", "store", f.options.Name,
			"error", err)
	}
	oldest := f.checkpoints.Prune(journal.Position(f.store.Durable()))
	if err := f.retention.Need(f.options.Name, oldest); err != nil {
		f.options.Logger.Warn("deleting old journal segments failed", "error", err)
	}
}

// Position returns the journal position up to which the store has received everything. It is safe for concurrent use.
func (f *Feed) Position() uint64 { return f.caught.Load() }
