// Package registry keeps the description of each topology: versions, settings, components, resources, and which task
// runs in which worker process since when. It also keeps the annotations on the time axis. Some of these it makes
// itself when a description or a placement changes. It reads everything from the journal, like a feed, and must not
// interpret the values of samples.
//
// Registry (registry.go) reads the journal and saves checkpoints. The state behind it (state.go) has a run for each
// launch of a topology (run.go). placement_change.go collects the moves of a rebalance into one annotation, and
// diff.go compares two descriptions. view.go answers the questions of the API.
package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// name identifies the registry among the readers of the journal.
const name = "registry"

// keptCheckpoints is the number of checkpoints that are kept. The second one is needed if the newest is damaged.
const keptCheckpoints = 2

// Retention decides how much of the journal is kept for its readers. feed.Retention implements it. The registry must be
// one of the readers: if an entry were deleted before a checkpoint contains it, the next restart would lose it.
type Retention interface {
	// Join makes the journal keep its entries for a reader from now on. requestCheckpoint asks the reader to save a
	// checkpoint soon, if the reader has read everything before upTo. It does not block and may be called by any
	// goroutine.
	Join(reader string, requestCheckpoint func(upTo journal.Position))
	// Need states that a reader no longer needs entries before p. If p is 0, the reader needs all entries.
	Need(reader string, p journal.Position) error
}

// Registry keeps the topologies and annotations. It is safe for concurrent use, but Run may be called only once. Only
// Run changes position and ticks. mu guards the state, which Run changes and API requests read.
type Registry struct {
	options     Options
	journal     *journal.Journal
	retention   Retention
	checkpoints *checkpoint.Files
	position    journal.Position // of the last applied entry; only Run uses it
	ticks       int              // since the last checkpoint; only Run uses it
	backoff     journal.Backoff
	figures     *figures

	applied             atomic.Uint64 // a copy of position, for Position
	checkpointRequested atomic.Bool   // the next tick saves a checkpoint

	mu       sync.Mutex
	state    *state
	restored journal.Position // of the restored checkpoint
	writer   *writer
}

// New restores the newest checkpoint. It starts no goroutine; call Run for that. It fails if a newer version of the
// program wrote the checkpoint, because continuing would lose what that version recorded.
func New(j *journal.Journal, retention Retention, o Options) (*Registry, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	saved, err := checkpoint.Open(o.Dir, o.FS)
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	r := &Registry{options: o, journal: j, retention: retention, checkpoints: saved, state: newState(o.Limits, o.Times),
		backoff: journal.DefaultBackoff()}
	r.figures = newFigures(r, o.Registerer)
	r.writer = newWriter()
	retention.Join(name, r.requestCheckpoint)
	if err := r.restore(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return r, nil
}

// restore loads the newest usable checkpoint. If there is none, the state stays empty and is built from what the
// journal still has.
func (r *Registry) restore() error {
	unusable := 0
	r.checkpoints.Discard(r.journal.Durable())
	position, err := r.checkpoints.Newest(r.journal.Durable(), func(state []byte) error {
		restored, err := restoreState(state, r.options.Limits, r.options.Times)
		if err == nil {
			r.state = restored
		}
		return err
	}, func(path string, err error) {
		unusable++
		r.options.Logger.Warn("registry checkpoint is unusable; using the previous one, with a longer replay",
			"file", path, "error", err)
	})
	r.position, r.restored, r.state.position = position, position, position
	r.applied.Store(uint64(position))
	if errors.Is(err, checkpoint.ErrNone) {
		if unusable > 0 {
			r.options.Logger.Error("no usable registry checkpoint; topologies and annotations older than the journal are lost",
				"directory", r.options.Dir)
		}
		return nil
	}
	return err
}

// Run applies the entries of the journal until the journal is closed and read to its end. Then it saves a last
// checkpoint and returns nil. If ctx ends first, it returns nil without saving a checkpoint.
func (r *Registry) Run(ctx context.Context) error {
	reader, err := r.openReader()
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	defer reader.Close()
	for {
		position, entry, err := reader.Next(ctx)
		switch {
		case errors.Is(err, journal.ErrClosed):
			r.checkpoint()
			return nil
		case err != nil && ctx.Err() != nil:
			return nil
		case errors.Is(err, journal.ErrRead):
			r.retryRead(ctx, reader, err)
		case err != nil:
			return fmt.Errorf("registry: read the journal: %w", err)
		default:
			r.backoff.Succeeded()
			r.take(position, entry)
		}
	}
}

// retryRead waits before the journal is read again. After too many failures it skips the part that the disk cannot
// read. The registry misses the changes in that part, and logs an error.
func (r *Registry) retryRead(ctx context.Context, reader *journal.Reader, failure error) {
	if !r.backoff.Failing() {
		r.options.Logger.Error("registry failed to read the journal; retrying", "from", r.position,
			"giving_up_after", r.backoff.SkipAfter, "error", failure)
	}
	r.figures.readFailures.Inc()
	delay, skip := r.backoff.Failed()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	if skip {
		reader.Skip()
		r.figures.unreadable.Inc()
		r.options.Logger.Error("registry skipped an unreadable part of the journal", "after",
			r.position, "error", failure)
	}
}

// openReader opens the journal at the registry's position. If the journal has already deleted entries after it, it logs
// an error and starts at the oldest entry.
func (r *Registry) openReader() (*journal.Reader, error) {
	reader, err := r.journal.Reader(r.position)
	if !errors.Is(err, journal.ErrExpired) {
		return reader, err
	}
	r.options.Logger.Error("the journal deleted entries before the registry read them; their changes are lost",
		"from", r.position,
		"to", r.journal.Oldest())
	return r.journal.Reader(0)
}

// take applies one entry, and saves a checkpoint if one is due. It checks that only at ticks, so requests cause at most
// one checkpoint per second.
func (r *Registry) take(position journal.Position, entry journal.Entry) {
	r.mu.Lock()
	r.state.position = position
	r.state.apply(entry)
	if batch, ok := entry.(*journal.Batch); ok {
		r.writer.applied(batch)
	}
	r.mu.Unlock()
	if r.options.Live != nil {
		r.options.Live.Observe(entry)
	}
	r.position = position
	r.applied.Store(uint64(position))
	if _, tick := entry.(*journal.Tick); tick {
		if r.ticks++; r.checkpointRequested.Swap(false) || r.ticks >= r.options.CheckpointTicks {
			r.ticks = 0
			r.checkpoint()
		}
	}
}

// requestCheckpoint requests a checkpoint at the next tick, because the journal is full. Since two checkpoints are
// kept, the journal can then delete what lies before the older one.
func (r *Registry) requestCheckpoint(upTo journal.Position) {
	if r.applied.Load() >= uint64(upTo) {
		r.checkpointRequested.Store(true)
	}
}

// Position returns the journal position up to which entries are applied.
func (r *Registry) Position() uint64 { return r.applied.Load() }

// checkpoint saves the state, and lets the journal delete what a restart would not read. If saving fails, a restart has
// to replay more, and the journal keeps its entries for that.
func (r *Registry) checkpoint() {
	r.mu.Lock()
	state := r.state.snapshot()
	r.mu.Unlock()
	if err := r.checkpoints.Save(r.position, state); err != nil {
		r.figures.failures.Inc()
		r.options.Logger.Warn("saving a registry checkpoint failed; a restart will replay more", "directory",
			filepath.Clean(r.options.Dir), "error", err)
	}
	if err := r.retention.Need(name, r.checkpoints.Keep(keptCheckpoints)); err != nil {
		r.options.Logger.Warn("deleting old journal segments failed", "error", err)
	}
}
