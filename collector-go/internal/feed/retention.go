package feed

import (
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
)

// Retention lets go of the journal behind the slowest feed. It is safe for concurrent use.
type Retention struct {
	release func(journal.Position) error

	mu    sync.Mutex
	needs map[string]journal.Position
}

// NewRetention releases through release, which is the journal's.
func NewRetention(release func(journal.Position) error) *Retention {
	return &Retention{release: release, needs: map[string]journal.Position{}}
}

// join makes the journal wait for a feed from now on.
func (r *Retention) join(feed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needs[feed] = 0
}

// need says that a feed no longer needs what is before p, and releases what none needs.
func (r *Retention) need(feed string, p journal.Position) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needs[feed] = p
	for _, other := range r.needs {
		p = min(p, other)
	}
	if p == 0 {
		return nil
	}
	return r.release(p)
}
