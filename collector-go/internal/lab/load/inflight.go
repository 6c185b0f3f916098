package load

import (
	"sync"
	"time"
)

// InFlight counts the queries in flight, from the submission of a query until its outcome was observed. A step uses it
// to wait for exactly the queries that were submitted before its end. It is safe for concurrent use. A nil InFlight
// counts nothing.
type InFlight struct {
	mu      sync.Mutex
	next    int64
	started map[int64]time.Time
}

// NewInFlight returns a counter without queries.
func NewInFlight() *InFlight { return &InFlight{started: map[int64]time.Time{}} }

// begin counts a query until end is called.
func (u *InFlight) begin() (end func()) {
	if u == nil {
		return func() {}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	id := u.next
	u.next++
	u.started[id] = time.Now()
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.started, id)
	}
}

// Before returns the number of queries in flight that were started before a moment.
func (u *InFlight) Before(moment time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, started := range u.started {
		if started.Before(moment) {
			n++
		}
	}
	return n
}

// Now returns the number of queries in flight.
func (u *InFlight) Now() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.started)
}
