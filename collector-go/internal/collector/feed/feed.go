// Package feed brings the entries of the journal into one store. Each store has a feed of its own, with its own
// position in the journal, so a store that is slow or unreachable does not hold back the others.
//
// A feed reads an entry, asks the catalog which series it contains, and gives the samples to the slicer. On ticks it
// hands the closed slices to the store. It saves checkpoints of the catalog and the slicer, so that a restart replays
// only the entries after the newest usable one. The replay gives the store the same slices with the same values.
//
// Start reading at Feed.Run in feed.go, then pipeline.go, which applies one entry. skip.go passes over entries that the
// journal abandoned, and transfer.go moves the state of a topology to another collector. The package must not know how
// a store keeps its slices, nor how samples arrived.
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

// Store keeps closed slices. Its methods are called by one goroutine, the feed's.
type Store interface {
	// Append takes the slices that closed from journal entries up to the position, and keeps nothing of the columns.
	// After a restart it may be given slices again, with the same values. rejected counts slices that the store refuses
	// indefinitely, by reason. After an error the call is repeated with the same columns, unless Options.Lost reports
	// that this is useless.
	Append(ctx context.Context, upTo uint64, closed *slice.Columns) (rejected map[string]int, err error)
	// Durable is a journal position: what closed from entries up to it is on disk and need not be given again.
	Durable() uint64
}

// Rewinder is a store that keeps something by Ref. Rewind announces that what comes next closed from entries behind the
// cursor: before the first Append, where it is at most Durable and what closed since then comes again with its
// definitions; and when the feed has passed over entries that the journal abandoned, where it lies ahead and refs are
// as they were. It is called by the feed's goroutine, or before that runs.
type Rewinder interface {
	Rewind(cursor uint64)
}

// Options of a feed.
type Options struct {
	// Name of the store, the label "store" of the feed's figures and its directory's name.
	Name string
	// Dir is where feeds keep their checkpoints, each in a directory of its own.
	Dir string
	// FS is where they are kept; nil is the operating system's.
	FS disk.FS
	// CheckpointTicks is how many of the journal's ticks (seconds) lie between two checkpoints.
	CheckpointTicks int
	// CatchUpTicks is how many ticks' slices are handed over at once while the feed is behind the journal's end: a
	// store on the network would else be sent a request for each second of a backlog. 1: those of one, as when it keeps
	// up.
	CatchUpTicks int
	// FlushSlices hands closed slices on before the next tick when there are this many: a bound on memory while
	// catching up.
	FlushSlices int
	// CloseAtEnd closes all slices that are open at the journal's end. A replay of a finished recording sets it, since
	// no further samples will arrive.
	CloseAtEnd bool
	// Lost reports whether after an error of Append the store is of no use until it is opened again: then the feed
	// ends. nil: never.
	Lost func(error) bool
	// Transfers takes what is known of topologies that their senders carry, once the store has what closed of it; nil
	// for nobody.
	Transfers  *checkpoint.Transfers
	Slicer     slicer.Options
	Catalog    catalog.Options
	Registerer prometheus.Registerer // may be nil
	Logger     *slog.Logger
}

// DefaultOptions for a store of that name.
func DefaultOptions(name, dir string) Options {
	return Options{
		Name: name, Dir: dir,
		CheckpointTicks: 60, // replaying a minute takes well under a second
		CatchUpTicks:    1,
		FlushSlices:     1 << 16, // about 2 MB of columns
		Slicer:          slicerOptions(),
		Catalog:         catalog.DefaultOptions(),
		Logger:          slog.New(slog.DiscardHandler),
	}
}

// slicerOptions are the slicer's, and the collection health that it writes, by the catalogue's names.
func slicerOptions() slicer.Options {
	o := slicer.DefaultOptions()
	o.Health, o.Limits = Health(), catalog.Limits()
	return o
}

// Health has a period of 30 s: often enough to see a worker fall silent within a minute or two, at some eight values a
// worker. The catalogue has some 130 metrics; a worker has about 80 of them.
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

// Feed is one store's reader of the journal. The goroutine of Run owns the pipeline, the position and the counters of
// ticks. Other goroutines use the atomic fields and the channel leave.
type Feed struct {
	options     Options
	journal     *journal.Journal
	store       Store
	retention   *Retention
	checkpoints *checkpoint.Files

	pipeline *pipeline
	position journal.Position // of the last entry applied
	ticks    int              // since the last checkpoint
	waiting  int              // ticks since the last hand-over
	offered  journal.Position // of the last hand-over
	resumed  journal.Position // the store's cursor at the start: a hand-over ends there
	tickMs   int64            // of the last tick

	leave               chan skipRequest // see Leave
	checkpointRequested atomic.Bool      // see hurry
	pause               pause            // nil but in simulations
	patience            journal.Backoff
	figures             *figures
	caught              atomic.Uint64 // the position reached, for CaughtUp
}

// New restores the newest checkpoint that the store's cursor allows. It starts nothing: Run does.
func New(j *journal.Journal, store Store, retention *Retention, o Options) (*Feed, error) {
	saved, err := checkpoint.Open(filepath.Join(o.Dir, o.Name), o.FS)
	if err != nil {
		return nil, err
	}
	f := &Feed{options: o, journal: j, store: store, retention: retention, checkpoints: saved,
		figures:  newFigures(o, j.NowMs),
		leave:    make(chan skipRequest),
		patience: journal.DefaultBackoff()}
	retention.Join(o.Name, f.requestCheckpoint)
	if err := f.restore(journal.Position(store.Durable())); err != nil {
		return nil, fmt.Errorf("feed %s: %w", o.Name, err)
	}
	f.rewind(f.position)
	f.figures.publish(f.pipeline, f.position)
	return f, nil
}

// AheadError is that a store was fed further than the journal goes. Going on would take new slices for old ones.
type AheadError struct {
	Store       string
	Cursor, End journal.Position
	DataDir     string
}

// Error implements error.
func (e AheadError) Error() string {
	return fmt.Sprintf("store %s was fed up to %v of the journal, which ends at %v: the journal's newest files were removed or emptied, or it is not the one that fed this store; put them back, or let bullet-metrics fsck %s --repair go on from where the journal ends: what the store has stays, and what only those files had is lost",
		e.Store, e.Cursor, e.End, e.DataDir)
}

func (f *Feed) rewind(cursor journal.Position) {
	if store, ok := f.store.(Rewinder); ok {
		store.Rewind(uint64(cursor))
	}
}

// restore takes up the state at or before the cursor. Without a checkpoint it starts from the journal's oldest entry;
// that is how a new feed begins, and what is left to one whose checkpoints are gone.
func (f *Feed) restore(cursor journal.Position) error {
	if durable := f.journal.Durable(); cursor > durable {
		return AheadError{Store: f.options.Name, Cursor: cursor, End: durable, DataDir: filepath.Dir(f.options.Dir)}
	}
	f.checkpoints.Discard(f.journal.Durable())
	position, err := f.checkpoints.Newest(cursor, func(state []byte) (err error) {
		f.pipeline, err = restorePipeline(state, f.options)
		return err
	}, func(path string, err error) {
		f.options.Logger.Warn("a checkpoint is unusable; using the one before it, with a longer replay", "file", path,
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
		f.options.Logger.Warn("no usable checkpoint; starting from the journal's oldest entry, where counters start again",
			"store", f.options.Name, "directory", filepath.Join(f.options.Dir, f.options.Name))
	}
	f.pipeline, err = newPipeline(f.options)
	return err
}

// Run feeds the store until the journal is closed and read to its end; then it saves a last checkpoint, so that the
// next start replays nothing. It ends early, without one, when ctx is done. Both return nil.
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

// pause takes the place of all waiting: for a time, or, for 0, for the journal to grow. It returns when Run is to go
// on, with the context's error where that is done.
type pause func(ctx context.Context, d time.Duration) error

// nothingToWaitFor is done from the beginning.
var nothingToWaitFor = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// next waits for the journal's next entry.
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

// retryRead waits before the journal is read again, or, where that has failed for too long, steps over what the disk
// does not give back. What was in there is missing in the store: its samples cannot be counted, the stretch is.
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
		f.options.Logger.Error("skipped a part of the journal that the disk cannot read; its samples are missing in the store",
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
		request.done <- journal.ErrClosed // the next start may be asked again
		err = f.flush(ctx)
	}
	switch {
	case err == nil:
		f.checkpoint()
		return nil
	case ctx.Err() != nil:
		return nil // out of time; what is missing is replayed by the next start
	}
	return fmt.Errorf("feed %s: %w", f.options.Name, err)
}

// openReader starts from the feed's place, or, where the journal has released it, from what there is: that is counted
// as lost history and said.
func (f *Feed) openReader() (*journal.Reader, error) {
	reader, err := f.journal.Reader(f.position)
	if !errors.Is(err, journal.ErrExpired) {
		return reader, err
	}
	oldest := f.journal.Oldest()
	f.options.Logger.Error("the journal no longer has entries that this store still needed; they are missing in the store",
		"store", f.options.Name, "from", f.position, "to", oldest)
	f.figures.expired.Inc()
	f.figures.slices.WithLabelValues("expired", "").Add(float64(f.pipeline.dropOpen()))
	f.rewind(oldest)
	return f.journal.Reader(0)
}

// take applies one entry and hands on what it closed.
func (f *Feed) take(ctx context.Context, position journal.Position, entry journal.Entry) error {
	f.apply(entry)
	f.position = position
	if tick, is := entry.(*journal.Tick); is {
		f.tickMs = tick.TimeMs
		f.figures.givenMs.CompareAndSwap(0, f.tickMs) // the first since the start: nothing after it was given yet
		f.ticks++
		f.waiting++
	}
	checkpointRequested := f.checkpointRequested.Swap(false)
	due := f.ticks >= f.options.CheckpointTicks || checkpointRequested
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
		f.ticks = 0
		f.checkpoint()
	}
	return nil
}

// requestCheckpoint asks for a checkpoint before it is due, and for the store's cursor to be where it is, if all before
// upTo was handed over: the journal has no more room. It is for any goroutine.
func (f *Feed) requestCheckpoint(upTo journal.Position) {
	if f.caught.Load() >= uint64(upTo) {
		f.checkpointRequested.Store(true)
	}
}

// moveCursor makes durable what the store was given. Where that fails, as on a full disk, the journal keeps it, and
// asks again.
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

// apply gives an entry to the pipeline; a batch's time is the stage "extract".
func (f *Feed) apply(entry journal.Entry) {
	if _, is := entry.(*journal.Batch); !is {
		f.pipeline.apply(entry)
		return
	}
	begun := time.Now()
	f.pipeline.apply(entry)
	f.figures.extract.Observe(time.Since(begun).Seconds())
}

// full reports whether it is time to hand over. A hand-over ends where the store's cursor stood at the start, so that
// nothing that the store has already comes with something that it has not. It ends with a segment, too: a store that is
// away while the journal is full then loses what was cut from the oldest segment, and nothing else.
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

// maxLagMs is how far before the journal's newest entry a feed is behind, and no longer busy with the last second.
const maxLagMs = 3000

func (f *Feed) lags() bool { return f.journal.NowMs()-f.tickMs > maxLagMs }

// Delays between attempts to hand slices to a store that fails.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
	// What a store may ask for at most.
	longestAsked = 5 * time.Minute
)

// flush hands the closed slices to the store, again and again until it takes them: this feed waits, no other does.
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
			f.figures.handedOn(closed.Len(), rejected)
			closed.Reset()
			f.figures.pending.Set(0)
			f.caught.Store(uint64(f.position))
			f.figures.givenMs.Store(f.tickMs)
			f.figures.publish(f.pipeline, f.position)
			f.handOut()
			return nil
		}
		if f.options.Lost != nil && f.options.Lost(err) {
			return fmt.Errorf("hand slices to the store: %w", err)
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

// asked is how long the store wants to be left alone, within bounds.
func asked(err error) time.Duration {
	var asks interface{ RetryAfter() time.Duration }
	if errors.As(err, &asks) {
		return min(asks.RetryAfter(), longestAsked)
	}
	return 0
}

// wait ends early when ctx is done, or when the journal releases what the store lacks.
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

// checkpoint saves the state, and releases what a restart would never read. A failure to save costs a longer replay,
// no data.
func (f *Feed) checkpoint() {
	if err := f.checkpoints.Save(f.position, f.pipeline.snapshot()...); err != nil {
		f.figures.failures.Inc()
		f.options.Logger.Warn("saving a checkpoint failed; a restart will replay more", "store", f.options.Name,
			"error", err)
	}
	oldest := f.checkpoints.Prune(journal.Position(f.store.Durable()))
	if err := f.retention.Need(f.options.Name, oldest); err != nil {
		f.options.Logger.Warn("deleting old journal segments failed", "error", err)
	}
}

// Position is the journal position up to which the store has been given everything. Safe from any goroutine.
func (f *Feed) Position() uint64 { return f.caught.Load() }
