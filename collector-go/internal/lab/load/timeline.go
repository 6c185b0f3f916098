package load

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Moment holds the counts of a client at one time.
type Moment struct {
	TimeMs int64 `json:"time_ms"`
	Counts
	// P99Ms is over all queries that have ended; nil if none has.
	P99Ms *float64 `json:"p99_ms"`
}

// Timeline records the counts of a client over time. It is safe for concurrent use.
type Timeline struct {
	mu      sync.Mutex
	moments []Moment
	every   int // only each such moment is kept
	given   int
}

// maxMoments bounds the size of a timeline: when it is reached, every other moment is dropped.
const maxMoments = 7200

// Watch records the counts of a client once per period until ctx ends. If show is not nil, it receives each moment.
func (t *Timeline) Watch(ctx context.Context, period time.Duration, client Client, tally *Tally, show func(Moment)) {
	poll.Ticks(ctx, period, func(now time.Time) {
		moment := t.note(now, client.Counts(), tally)
		if show != nil {
			show(moment)
		}
	})
}

// note adds a moment to the timeline and returns it.
func (t *Timeline) note(at time.Time, counts Counts, tally *Tally) Moment {
	moment := Moment{TimeMs: at.UnixMilli(), Counts: counts}
	if p99 := tally.Result().Latency.P99 * 1000; !math.IsNaN(p99) {
		moment.P99Ms = &p99
	}
	t.add(moment)
	return moment
}

func (t *Timeline) add(m Moment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.every = max(1, t.every)
	if t.given++; t.given%t.every != 0 {
		return
	}
	t.moments = append(t.moments, m)
	if len(t.moments) >= maxMoments {
		kept := t.moments[:0]
		for i := 1; i < len(t.moments); i += 2 {
			kept = append(kept, t.moments[i])
		}
		t.moments, t.every = kept, 2*t.every
	}
}

// Moments returns the moments recorded so far, in the order of time.
func (t *Timeline) Moments() []Moment {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Moment(nil), t.moments...)
}
