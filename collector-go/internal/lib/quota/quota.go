// Package quota shares a limited number of slots among clients, so that no client can hold all of them. Slots
// represent connections, streams or running queries. The package knows keys and numbers, but not who is behind a key.
package quota

import (
	"fmt"
	"sync"
)

// shareOfFree limits a key to this many times the number of free slots. A single key may hold two thirds of all slots,
// and two keys may hold two fifths each. Some slots always remain free for a new key.
//
// A fixed limit per key would waste slots if there are few keys, or would allow many keys to use up all slots.
const shareOfFree = 2

// Slots is a limited number of slots. Nobody waits for a slot: Take fails at once, and the caller decides what to
// answer. Slots is safe for concurrent use.
type Slots struct {
	limit int

	mu    sync.Mutex
	taken int
	byKey map[string]int
}

// New returns limit slots, but at least one.
func New(limit int) *Slots { return &Slots{limit: max(limit, 1), byKey: map[string]int{}} }

// FullError is the reason why no slot is available.
type FullError struct {
	Key   string // the key that has used up its share; "" if all slots are taken
	Used  int
	Limit int // total number of slots
}

func (e *FullError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("all %d slots are in use", e.Limit)
	}
	return fmt.Sprintf("%s uses %d of %d slots, its maximum share", e.Key, e.Used, e.Limit)
}

// Take takes one slot that counts against all keys, which must be different. An empty key has no limit. release
// returns the slot and may be called more than once. The error is a *FullError.
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

// Taken returns the number of taken slots.
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
