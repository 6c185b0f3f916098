package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endpoint is a query endpoint that answers one query after the other, each in service, but for one stall in which it
// answers nobody.
type endpoint struct {
	turn    sync.Mutex
	service time.Duration
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	e.turn.Lock()
	defer e.turn.Unlock()
	time.Sleep(e.service)
	_, _ = io.WriteString(w, `{"records":[],"meta":{}}`)
}

func (e *endpoint) stall(length time.Duration) {
	e.turn.Lock()
	defer e.turn.Unlock()
	time.Sleep(length)
}

// One stall, over HTTP and by the clock: an open loop through the gateway's target says so at p99, and a closed loop
// beside it, which asks again when it has its answer, does not. With BULLET_METRICS_BENCH_LOAD set, 2 s in 60 s at 20
// queries/s; else the same in short.
func TestAStallOverHTTPShowsInTheTail(t *testing.T) {
	rate, length, stall, service := 50.0, 4*time.Second, 600*time.Millisecond, 4*time.Millisecond
	if os.Getenv("BULLET_METRICS_BENCH_LOAD") != "" {
		rate, length, stall, service = 20, time.Minute, 2*time.Second, 20*time.Millisecond
	}
	target := &endpoint{service: service}
	server := httptest.NewServer(target)
	defer server.Close()
	gateway := NewGateway(server.URL, 100)
	defer gateway.Close()

	open, closed := NewTally(), NewTally()
	var openHeldUp, closedHeldUp atomic.Int64 // queries that took half of the stall or more
	counting := func(into *Tally, heldUp *atomic.Int64) func(Outcome) {
		return func(o Outcome) {
			into.Add(o)
			if o.Latency() >= stall/2 {
				heldUp.Add(1)
			}
		}
	}
	loop, err := NewOpenLoop(quick(), gateway, DefaultOpenOptions(rate, length), counting(open, &openHeldUp))
	require.NoError(t, err)
	held := NewHeld(quick(), gateway, DefaultHeldOptions(), counting(closed, &closedHeldUp))
	defer held.Close()
	held.Hold(1)
	var stalled sync.WaitGroup
	stalled.Go(func() { time.Sleep(length / 2); target.stall(stall) })
	loop.Run(t.Context())
	stalled.Wait()
	require.NoError(t, held.Drain(t.Context()))

	seen, hidden := open.Result(), closed.Result()
	t.Logf("a stall of %s in %s: open loop, %g/s: %d queries, p50 %.1f ms, p99 %.0f ms, client late by %.1f ms (p99); closed loop: %d queries, p99 %.1f ms",
		stall, length, rate,
		seen.Returned, 1000*seen.Latency.P50, 1000*seen.Latency.P99, 1000*seen.Lateness.P99, hidden.Returned,
		1000*hidden.Latency.P99)
	require.Equal(t, int(rate*length.Seconds()), seen.Returned)
	assert.GreaterOrEqual(t, seen.Latency.P99, 0.75*stall.Seconds())
	assert.GreaterOrEqual(t, hidden.Latency.Most, 0.75*stall.Seconds(), "one of its queries was held up")
	// By counts, since a busy machine stretches every time: of the queries that fell due in the stall one of the closed
	// loop's waited.
	assert.GreaterOrEqual(t, openHeldUp.Load(), int64(rate*stall.Seconds()/4),
		"those that fell due in the stall's first half")
	assert.LessOrEqual(t, closedHeldUp.Load(), openHeldUp.Load()/4, "the stall hides behind that one")
}
