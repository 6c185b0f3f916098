package load

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a network within the process, because synctest time stands still while a goroutine waits for a socket.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error { close(p.closed); return nil }

func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialled <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// One stall of 2 s in 60 s, over HTTP. An open loop at 20 queries/s through the gateway's target shows it at p99. A
// closed loop, which submits again after its answer, does not.
func TestAStallOverHTTPShowsInTheTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topology, network := newCounter(), pipes{make(chan net.Conn), make(chan struct{})}
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = topology.Query(r.Context(), "")
			_, _ = io.WriteString(w, `{"records":[],"meta":{}}`)
		})}
		go func() { _ = server.Serve(network) }()
		defer func() { _ = server.Close() }()
		gateway := NewGateway("bullet.example", 100)
		gateway.http.Transport = &http.Transport{DialContext: network.dial, MaxIdleConnsPerHost: 100}
		defer gateway.Close()

		open, closed := NewTally(), NewTally()
		loop, err := NewOpenLoop(quick(), gateway, DefaultOpenOptions(20, time.Minute), open.Add)
		require.NoError(t, err)
		keeping := NewClosedLoop(quick(), gateway, DefaultClosedOptions(), closed.Add)
		defer keeping.Close()
		keeping.Hold(1)
		loop.Run(t.Context())
		require.NoError(t, keeping.Drain(t.Context()))

		seen, hidden := open.Result(), closed.Result()
		t.Logf("a stall of 2 s in 60 s: open loop, 20/s: %d queries, p50 %.0f ms, p99 %.0f ms, most %.0f ms; "+
			"closed loop: %d queries, p50 %.0f ms, p99 %.0f ms, most %.0f ms",
			seen.Returned, 1000*seen.Latency.P50, 1000*seen.Latency.P99, 1000*seen.Latency.Most,
			hidden.Returned, 1000*hidden.Latency.P50, 1000*hidden.Latency.P99, 1000*hidden.Latency.Most)
		require.Equal(t, 1200, seen.Returned)
		assert.GreaterOrEqual(t, seen.Latency.P99, 1.5)
		assert.GreaterOrEqual(t, hidden.Latency.Most, 2.0, "one of its queries was held up")
		assert.Less(t, hidden.Latency.P99, 0.1, "the stall hides behind that one")
	})
}
