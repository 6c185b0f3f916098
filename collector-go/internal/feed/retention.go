package feed

import (
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
)

// Retention lets go of the journal behind the slowest of its readers, which keep checkpoints. It is safe for concurrent use.
type Retention struct {
	release func(journal.Position) error

	mu    sync.Mutex
	needs map[string]journal.Position
}

// NewRetention releases through release, which is the journal's.
func NewRetention(release func(journal.Position) error) *Retention {
	return &Retention{release: release, needs: map[string]journal.Position{}}
}

// Join makes the journal wait for a reader from now on.
func (r *Retention) Join(reader string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needs[reader] = 0
}

// Need says that a reader no longer needs what is before p, and releases what none needs.
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
