// Package quota shares a bounded number of slots among those who take them, so that nobody holds all of them. Slots
// stand for connections, streams or queries in flight. The package knows keys and numbers, but not who is behind a key.
package quota

import (
	"fmt"
	"sync"
)

// shareOfFree limits a key to this many times the number of free slots. A key that stands alone may hold two thirds of
// all slots, and two keys may hold two fifths each. Some slots stay free for a new key, whatever the others do.
//
// A fixed limit for each key would either waste slots while few are there, or let many keys use up all of them.
const shareOfFree = 2

// Slots is a bounded number of slots. Nobody waits for one: Take fails at once, and the caller decides what to answer.
// It is safe for concurrent use.
type Slots struct {
	limit int

	mu    sync.Mutex
	taken int
	byKey map[string]int
}

// New returns limit slots, at least one.
func New(limit int) *Slots { return &Slots{limit: max(limit, 1), byKey: map[string]int{}} }

// FullError is the reason why no slot was given.
type FullError struct {
	Key   string // who holds its share; "" where all slots are taken
	Used  int
	Limit int // of all
}

func (e *FullError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("all %d places are taken", e.Limit)
	}
	return fmt.Sprintf("%s holds %d of %d places, its share while others may come", e.Key, e.Used, e.Limit)
}

// Take takes one slot that counts against all keys, which must differ; the empty key has no share. release returns the
// slot, and may be called twice. The error is a *FullError.
func (p *Slots) Take(keys ...string) (release func(), err error) {
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

// Taken returns how many slots are taken.
func (p *Slots) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

func (p *Slots) full(keys []string) *FullError {
	free := p.limit - p.taken
	if free == 0 {
		return &FullError{Limit: p.limit}
	}
	for _, key := range keys {
		if byKey := p.byKey[key]; key != "" && byKey >= shareOfFree*free {
			return &FullError{Key: key, Used: byKey, Limit: p.limit}
		}
	}
	return nil
}

func (p *Slots) add(keys []string, n int) {
	p.taken += n
	for _, key := range keys {
		if key == "" {
			continue
		}
		if p.byKey[key] += n; p.byKey[key] == 0 {
			delete(p.byKey, key)
		}
	}
}
