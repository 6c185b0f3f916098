package feed

import (
	"context"
	"fmt"
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// Retention releases the journal behind the slowest of its readers, which keep checkpoints. It is safe for concurrent
// use.
type Retention struct {
	release func(journal.Position) error

	mu                sync.Mutex
	needs             map[string]journal.Position
	requestCheckpoint map[string]func(upTo journal.Position)
	optional          map[string]*Feed
}

// NewRetention releases through release, which is the journal's.
func NewRetention(release func(journal.Position) error) *Retention {
	return &Retention{release: release, needs: map[string]journal.Position{},
		requestCheckpoint: map[string]func(journal.Position){}, optional: map[string]*Feed{}}
}

// Join makes the journal wait for a reader from now on. hurry, which may be nil, asks a reader that has read what lies
// before upTo to keep a checkpoint soon, so that it no longer needs that; it must not block.
func (r *Retention) Join(reader string, requestCheckpoint func(upTo journal.Position)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needs[reader], r.requestCheckpoint[reader] = 0, requestCheckpoint
}

// MayLag lets a feed be left behind where the journal has no more room: Relieve makes it abandon the oldest that it
// lacks.
func (r *Retention) MayLag(f *Feed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.optional[f.options.Name] = f
}

// Need records that a reader no longer needs what is before p, and releases what none needs.
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

// Relieve releases the oldest segment while the journal is crowded and only feeds that may lag still need it; each of
// these abandons what it lacks of it first. crowded is the journal's. Another reader that needs the segment is hurried:
// the next call finds it gone where that reader only had not kept a checkpoint yet, and else the journal will say that
// it is full.
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
				return fmt.Errorf("leave store %s behind: %w", f.options.Name, err)
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

// lagging returns the feeds that need something before p. free is false if a reader needs it that must not be left
// behind.
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
