package experiment

import (
	"context"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
)

// inFlight is a target of queries that knows which are under way, and since when.
type inFlight struct {
	target load.Submitter

	mu      sync.Mutex
	next    int64
	started map[int64]time.Time
	sum     time.Duration // of the lives of the queries that ended
}

// Query implements load.Submitter.
func (u *inFlight) Query(ctx context.Context, bql string) (load.Answer, error) {
	began := time.Now()
	u.mu.Lock()
	id := u.next
	u.next++
	u.started[id] = began
	u.mu.Unlock()
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.started, id)
		u.sum += time.Since(began)
	}()
	return u.target.Query(ctx, bql)
}

// before is how many queries under way were started before a moment.
func (u *inFlight) before(moment time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, started := range u.started {
		if started.Before(moment) {
			n++
		}
	}
	return n
}

// lives is the time that all queries together have been under way until now: its growth over a time is the mean number
// of queries under way in it.
func (u *inFlight) lives() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	total, now := u.sum, time.Now()
	for _, started := range u.started {
		total += now.Sub(started)
	}
	return total
}
