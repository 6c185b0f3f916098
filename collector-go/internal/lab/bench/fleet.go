package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// Load is how rows are sent.
type Load struct {
	// Topology is the name under which they are stored.
	Topology string
	// Clients are the senders, each a stream from an address of its own; the hosts are spread over them in turns.
	Clients int
	// RowsPerBatch is the rows of a message: hosts at one step, of a client's.
	RowsPerBatch int
	// InFlight is how many batches a client has under way unacknowledged, 0 for as many as the collector allows.
	InFlight int
	// StartMs is the time of the first step, ms since the Unix epoch; Step the time from each to the next.
	StartMs int64
	Step    time.Duration
	// Tags reports whether each series carries TSBS' tags.
	Tags bool
	// Trimmed sends values in as few bytes as each needs, as Storm's plugin does, not as doubles.
	Trimmed bool
	// Lead is how many steps a client may be before the slowest.
	Lead int
}

// Target is where rows go.
type Target struct {
	// Address is the collector's gRPC, host:port.
	Address string
	// Loopback states that it is on this machine: clients then come from addresses of their own, as workers do, since
	// an address has but its share of the streams.
	Loopback bool
	// TLS states how connections are protected, TokenFile holds the token that the collector wants; "" for none.
	TLS       sender.TLS
	TokenFile string
}

// Fleet is the clients that send a load.
type Fleet struct {
	rows    *Rows
	load    Load
	clients []*client
	wire    atomic.Int64 // bytes sent

	mu       sync.Mutex // guards what follows
	moved    sync.Cond
	slowest  int64
	finished int64 // the step after which sending ends
	broken   bool
}

// Connect opens the streams of a fleet, one a client, and spreads the hosts over them in turns. Where one cannot be
// opened, those that were are closed again, and the error is that one's.
func Connect(ctx context.Context, target Target, rows *Rows, load Load) (*Fleet, error) {
	f := &Fleet{rows: rows, load: load}
	f.moved.L = &f.mu
	transport, err := target.TLS.Credentials()
	if err != nil {
		return nil, err
	}
	if ctx, err = sender.Authorized(ctx, target.TokenFile); err != nil {
		return nil, err
	}
	for i := range load.Clients {
		c := &client{load: load, received: make(chan struct{}), latency: hdrhistogram.New(1, longestLatency, 3)}
		c.moved.L = &c.mu
		binary.BigEndian.PutUint64(c.epoch[:], uint64(i)+1)
		binary.BigEndian.PutUint64(c.epoch[8:], uint64(time.Now().UnixNano()))
		for h := i; h < rows.Hosts; h += load.Clients {
			c.hosts = append(c.hosts, h)
		}
		c.walk = rows.Walk(c.hosts)
		var err error
		if c.conn, err = grpc.NewClient(target.Address, grpc.WithTransportCredentials(transport),
			f.dialed(target, i)); err == nil {
			err = c.open(ctx, load.Topology, 6700+i)
		}
		if err != nil {
			if c.conn != nil {
				_ = c.conn.Close()
			}
			f.Abandon()
			return nil, err
		}
		f.clients = append(f.clients, c)
	}
	return f, nil
}

// dialed makes a client's connections. It counts the bytes that are sent, and on this machine gives each client an
// address of its own, as workers on hosts of their own have.
func (f *Fleet) dialed(target Target, i int) grpc.DialOption {
	var dialer net.Dialer
	if target.Loopback {
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i/250), byte(1+i%250))}
	}
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return &counted{conn, &f.wire}, nil
	})
}

// counted is a connection whose sent bytes are counted.
type counted struct {
	net.Conn
	sent *atomic.Int64
}

// Write implements net.Conn.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// Full says of an error of Connect or Send that the collector has no room for another stream.
func Full(err error) bool { return status.Code(err) == codes.ResourceExhausted }

// each runs a part for every client at once, and returns the first error. The others are stopped by that, since a fleet
// with fewer clients would measure another load.
func (f *Fleet) each(part func(*client) error) error {
	var running sync.WaitGroup
	var first error
	for _, c := range f.clients {
		running.Go(func() {
			if err := part(c); err != nil {
				f.mu.Lock()
				if !f.broken {
					f.broken, first = true, err
				}
				f.mu.Unlock()
				f.moved.Broadcast()
			}
		})
	}
	running.Wait()
	return first
}

// Define sends all definitions.
func (f *Fleet) Define() error { return f.each((*client).define) }

// errBroken is of clients that end since another has failed.
var errBroken = errors.New("another client failed")

// Send sends up to so many further steps; it ends before where until has passed, with a number of steps that is a
// multiple of whole. All clients end at the same step. It returns how many were sent.
func (f *Fleet) Send(ctx context.Context, steps, whole int, until time.Time) (int, error) {
	begun := f.clients[0].at.Load()
	f.finished = begun + int64(steps/whole*whole)
	ending := context.AfterFunc(ctx, f.Abandon)
	defer ending()
	err := f.each(func(c *client) error { return f.march(c, begun, int64(whole), until) })
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return int(f.finished - begun), err
}

// Skip leaves out so many steps: the rows that come next are so much later. It is called between two calls of Send.
func (f *Fleet) Skip(steps int) {
	for _, c := range f.clients {
		c.at.Add(int64(steps))
	}
	f.slowest += int64(steps)
}

// march sends a client's steps.
func (f *Fleet) march(c *client, begun, whole int64, until time.Time) error {
	for {
		at := c.at.Load()
		if !until.IsZero() && time.Now().After(until) {
			f.endAt(begun, whole)
		}
		if goes, err := f.mayStep(at); !goes {
			return err
		}
		c.walk.Next()
		if err := c.sendStep(f.load.StartMs+at*f.load.Step.Milliseconds(), true); err != nil {
			return err
		}
		f.stepped(c)
	}
}

// mayStep waits until a client is no longer too far before the slowest; false where it has come to the end, or another
// client failed.
func (f *Fleet) mayStep(at int64) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at < f.finished {
		switch {
		case f.broken:
			return false, errBroken
		case f.load.Lead == 0 || at-f.slowest < int64(f.load.Lead):
			return true, nil
		}
		f.moved.Wait()
	}
	return false, nil
}

// stepped counts a step of a client, and lets those go on that waited for the slowest. Only the client that was the
// slowest can change that, so others return at once.
func (f *Fleet) stepped(c *client) {
	before := c.at.Add(1) - 1
	if f.load.Lead == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if before > f.slowest {
		return
	}
	slowest := int64(math.MaxInt64)
	for _, other := range f.clients {
		slowest = min(slowest, other.at.Load())
	}
	if slowest > f.slowest {
		f.slowest = slowest
		f.moved.Broadcast()
	}
}

// endAt lets all clients end at the first step that none has passed and that is whole.
func (f *Fleet) endAt(begun, whole int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	furthest := begun
	for _, c := range f.clients {
		furthest = max(furthest, c.at.Load()+1) // it may be sending that one
	}
	end := begun + (max(furthest-begun, 1)+whole-1)/whole*whole
	f.finished = min(f.finished, end)
	f.moved.Broadcast()
}

// Close waits until all is acknowledged. The error names samples that were rejected indefinitely.
func (f *Fleet) Close() error { return f.each((*client).close) }

// Await waits until all that was sent is acknowledged.
func (f *Fleet) Await() error { return f.each(func(c *client) error { return c.await(0) }) }

// Abandon ends the streams without waiting for anything; it may be called twice, and during Send, which then fails.
func (f *Fleet) Abandon() {
	for _, c := range f.clients {
		_ = c.conn.Close()
	}
}

// Sums are, by metric, of all values sent so far.
func (f *Fleet) Sums() []float64 {
	sums := make([]float64, f.rows.Metrics)
	for _, c := range f.clients {
		for m, v := range c.walk.Sums {
			sums[m] += v
		}
	}
	return sums
}

// WireBytes are what was sent so far, HTTP/2's framing included.
func (f *Fleet) WireBytes() int64 { return f.wire.Load() }

// Fulls is how often the collector answered that it has no room for a batch.
func (f *Fleet) Fulls() (n uint64) {
	for _, c := range f.clients {
		c.mu.Lock()
		n += c.fulls
		c.mu.Unlock()
	}
	return n
}

// Latency are the quantiles of the time from a batch's first sending to its acknowledgement, ms.
func (f *Fleet) Latency() Quantiles {
	all := hdrhistogram.New(1, longestLatency, 3)
	for _, c := range f.clients {
		c.mu.Lock()
		all.Merge(c.latency)
		c.mu.Unlock()
	}
	at := func(q float64) float64 { return float64(all.ValueAtQuantile(q)) / 1000 }
	return Quantiles{P50: at(50), P99: at(99), P999: at(99.9)}
}

// Quantiles are of a time, ms.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
}

// Pace sends a step as it falls due: the messages of all clients spread over the time that begins then.
func (f *Fleet) Pace(ctx context.Context, begins time.Time) error {
	const slots = 50
	for slot := range slots {
		select {
		case <-time.After(time.Until(begins.Add(time.Duration(slot) * f.load.Step / slots))):
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, c := range f.clients {
			if slot == 0 {
				c.walk.Next()
			}
			for m := slot; m < c.messages(); m += slots {
				if err := c.sendMessage(m, begins.UnixMilli(), true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
