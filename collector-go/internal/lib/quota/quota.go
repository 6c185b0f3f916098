// Package quota shares a bounded number of places among those who take them, so that none has all of them: connections,
// streams, queries. It knows keys and numbers, and not who stands behind a key.
package quota

import (
	"fmt"
	"sync"
)

// shareOfFree is how many times as many places as are free a key may hold. So one that stands alone may hold two thirds
// of all, two may hold two fifths each, and some are free for one that comes, whatever the others do.
const shareOfFree = 2

// Places are a bounded number of places. They are safe for concurrent use.
type Places struct {
	limit int

	mu    sync.Mutex
	taken int
	held  map[string]int
}

// New returns limit places, at least one.
func New(limit int) *Places { return &Places{limit: max(limit, 1), held: map[string]int{}} }

// FullError is why there is no place.
type FullError struct {
	Key   string // who holds its share; "" where all places are taken
	Held  int
	Limit int // of all
}

func (e *FullError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("all %d places are taken", e.Limit)
	}
	return fmt.Sprintf("%s holds %d of %d places, its share while others may come", e.Key, e.Held, e.Limit)
}

// Take takes one place in the names of all keys, which differ; the empty key has no share. release gives it back, and
// may be called twice. The error is a *FullError.
func (p *Places) Take(keys ...string) (release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if full := p.full(keys); full != nil {
		return nil, full
	}
	p.add(keys, 1)
	var once sync.Once
	return func() {
		once.Do(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.add(keys, -1)
		})
	}, nil
}

// Taken is how many places are taken.
func (p *Places) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

func (p *Places) full(keys []string) *FullError {
	free := p.limit - p.taken
	if free == 0 {
		return &FullError{Limit: p.limit}
	}
	for _, key := range keys {
		if held := p.held[key]; key != "" && held >= shareOfFree*free {
			return &FullError{Key: key, Held: held, Limit: p.limit}
		}
	}
	return nil
}

func (p *Places) add(keys []string, n int) {
	p.taken += n
	for _, key := range keys {
		if key == "" {
			continue
		}
		if p.held[key] += n; p.held[key] == 0 {
			delete(p.held, key)
		}
	}
}
