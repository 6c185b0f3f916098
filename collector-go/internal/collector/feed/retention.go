package feed

import (
	"context"
	"fmt"
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// Retention releases the journal up to the position that its slowest reader needs. The readers keep checkpoints. It is
// safe for concurrent use.
type Retention struct {
	release func(journal.Position) error

	mu                sync.Mutex
	needs             map[string]journal.Position
	requestCheckpoint map[string]func(upTo journal.Position)
	optional          map[string]*Feed
}

// NewRetention returns a Retention without readers. release is the journal's method of that name.
func NewRetention(release func(journal.Position) error) *Retention {
	return &Retention{release: release, needs: map[string]journal.Position{},
		requestCheckpoint: map[string]func(journal.Position){}, optional: map[string]*Feed{}}
}

// Join registers a reader, for which the journal keeps its entries from now on. requestCheckpoint may be nil. It asks a
// reader that has read everything before upTo to save a checkpoint soon, so that it no longer needs those entries. It
// must not block.
func (r *Retention) Join(reader string, requestCheckpoint func(upTo journal.Position)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needs[reader], r.requestCheckpoint[reader] = 0, requestCheckpoint
}

// MayLag allows a feed to lose entries if the journal is full: Relieve makes it skip the oldest entries that it lacks.
func (r *Retention) MayLag(f *Feed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.optional[f.options.Name] = f
}

// Need records that a reader no longer needs entries before p. It releases the entries that no reader needs.
func (r *Retention) Need(reader string, p journal.Position) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needs[reader] = p
	for _, other := range r.needs {
		p = min(p, other)
	}
	if p == 0 {
		return nil
	}
	return r.release(p)
}

// Relieve releases the oldest segment while the journal is crowded and only feeds that may lag still need that segment.
// Each of these feeds first skips what it lacks of it. crowded is the journal's method.
//
// If another reader needs the segment, Relieve asks it for a checkpoint. If that reader had only not saved a checkpoint
// yet, the next call can release the segment. Otherwise the journal will report that it is full.
func (r *Retention) Relieve(ctx context.Context, crowded func() (oldestEnd journal.Position, is bool)) error {
	for {
		end, is := crowded()
		if !is {
			return nil
		}
		lagging, free := r.lagging(end)
		if !free {
			return nil
		}
		for _, f := range lagging {
			if err := f.Leave(ctx, end); err != nil {
				return fmt.Errorf("skip journal entries of store %s: %w", f.options.Name, err)
			}
		}
		if lagging, free = r.lagging(end); !free || len(lagging) > 0 {
			return nil // a checkpoint could not be saved: the next call tries again
		}
		if err := r.release(end); err != nil {
			return err
		}
	}
}

// lagging returns the feeds that may lag and need entries before p. free is false if another reader needs them too.
// That reader is asked for a checkpoint.
func (r *Retention) lagging(p journal.Position) (lagging []*Feed, free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	free = true
	for reader, need := range r.needs {
		if need >= p {
			continue
		}
		if f := r.optional[reader]; f != nil {
			lagging = append(lagging, f)
			continue
		}
		free = false
		if requestCheckpoint := r.requestCheckpoint[reader]; requestCheckpoint != nil {
			requestCheckpoint(p)
		}
	}
	return lagging, free
}
