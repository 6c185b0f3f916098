package bench

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// Load defines how rows are sent.
type Load struct {
	// Topology is the topology's name under which the rows are stored.
	Topology string
	// Clients is the number of senders. Each has a stream from its own address; the hosts are distributed over them in
	// turn.
	Clients int
	// RowsPerBatch is the number of rows in a message; all belong to one step and one client.
	RowsPerBatch int
	// InFlight limits the unacknowledged batches of a client; 0 means the collector's limit.
	InFlight int
	// StartMs is the time of the first step in ms since the Unix epoch; Step is the time between steps.
	StartMs int64
	Step    time.Duration
	// Tags states whether each series has TSBS' tags.
	Tags bool
	// Lead bounds how many steps a client may be ahead of the slowest. It must be at least 1.
	Lead int
}

// Target is the collector that rows are sent to.
type Target struct {
	// Address is the collector's gRPC address, host:port.
	Address string
	// TLS configures the connections. TokenFile holds the collector's token; "" means none.
	TLS       sender.TLS
	TokenFile string
}

// Fleet is the set of clients that send a load.
type Fleet struct {
	rows    *Rows
	load    Load
	clients []*client
	wire    atomic.Int64 // number of bytes sent

	mu       sync.Mutex // guards the following fields
	moved    sync.Cond
	slowest  int // the least number of steps that a client has sent
	finished int // the step after which sending ends
	broken   bool
}

// Connect opens one stream per client, and distributes the hosts over them in turn. If one cannot be opened, the
// others are closed again, and its error is returned.
func Connect(ctx context.Context, target Target, rows *Rows, load Load) (*Fleet, error) {
	f := &Fleet{rows: rows, load: load}
	f.moved.L = &f.mu
	transport, err := target.TLS.Credentials()
	if err != nil {
		return nil, err
	}
	for i := range load.Clients {
		c := &client{load: load, latency: hdrhistogram.New(1, longestLatency, 3)}
		c.epoch = binary.BigEndian.AppendUint64(nil, uint64(i)+1)
		c.epoch = binary.BigEndian.AppendUint64(c.epoch, uint64(time.Now().UnixNano()))
		for h := i; h < rows.Hosts; h += load.Clients {
			c.hosts = append(c.hosts, h)
		}
		c.walk = rows.Walk(c.hosts)
		if err := c.open(ctx, target, i, grpc.WithTransportCredentials(transport), f.dialed(i)); err != nil {
			f.Abandon()
			return nil, err
		}
		f.clients = append(f.clients, c)
	}
	return f, nil
}

// dialed returns the dial option of client i. It counts the sent bytes. If the collector is on this machine, each
// client has its own source address, as workers on different hosts have, because each address may have only a share of
// the streams.
func (f *Fleet) dialed(i int) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		var dialer net.Dialer
		if to, err := netip.ParseAddrPort(address); err == nil && to.Addr().Is4() && to.Addr().IsLoopback() {
			dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i/250), byte(1+i%250))}
		}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return &counted{conn, &f.wire}, nil
	})
}

// counted is a connection that counts the sent bytes.
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

// Full reports whether an error of Connect or Send means that the collector has no capacity for another stream.
func Full(err error) bool { return status.Code(err) == codes.ResourceExhausted }

// each calls part for every client concurrently, and returns the first error. The error stops the other clients,
// because a fleet with fewer clients would measure another load.
func (f *Fleet) each(part func(*client) error) error {
	var running sync.WaitGroup
	var first error
	for _, c := range f.clients {
		running.Go(func() {
			if err := part(c); err != nil {
				f.mu.Lock()
				defer f.mu.Unlock()
				if !f.broken {
					f.broken, first = true, err
				}
				f.moved.Broadcast()
			}
		})
	}
	running.Wait()
	return first
}

// Define sends the definitions of all clients.
func (f *Fleet) Define() error { return f.each((*client).define) }

// Send sends up to the given number of further steps, rounded down to a multiple of whole. It ends earlier when until
// has passed, again at a multiple of whole. All clients end at the same step. It returns the number of steps sent.
func (f *Fleet) Send(steps, whole int, until time.Time) (int, error) {
	begun := f.clients[0].at
	f.finished = begun + steps/whole*whole
	err := f.each(func(c *client) error {
		for f.mayStep(c) {
			c.walk.Next()
			for m := range c.messages() {
				if err := c.sendMessage(m, f.load.StartMs+int64(c.at)*f.load.Step.Milliseconds()); err != nil {
					return err
				}
			}
			f.stepped(c)
			if !until.IsZero() && time.Now().After(until) {
				f.endAt(begun, whole)
			}
		}
		return nil
	})
	return f.finished - begun, err
}

// Skip skips a number of steps, so that the next rows are later by that much. Call it between two calls of Send.
func (f *Fleet) Skip(steps int) {
	for _, c := range f.clients {
		c.at += steps
	}
	f.slowest += steps
}

// mayStep waits until a client is no longer too far ahead of the slowest. It returns false if the client has reached
// the end or another client has failed.
func (f *Fleet) mayStep(c *client) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.broken && c.at < f.finished && c.at-f.slowest >= f.load.Lead {
		f.moved.Wait()
	}
	return !f.broken && c.at < f.finished
}

// stepped counts a step of a client, and notifies the clients that wait for the slowest. Only the slowest client can
// change that, so for others it returns at once.
func (f *Fleet) stepped(c *client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.at++; c.at-1 > f.slowest {
		return
	}
	slowest := c.at
	for _, other := range f.clients {
		slowest = min(slowest, other.at)
	}
	if slowest > f.slowest {
		f.slowest = slowest
		f.moved.Broadcast()
	}
}

// endAt makes all clients end at the first step that none has passed and that is a multiple of whole after begun.
func (f *Fleet) endAt(begun, whole int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	furthest := begun
	for _, c := range f.clients {
		furthest = max(furthest, c.at+1) // it may be sending that step
	}
	f.finished = min(f.finished, begun+(furthest-begun+whole-1)/whole*whole)
	f.moved.Broadcast()
}

// Close waits until everything is acknowledged. The error states permanently rejected samples.
func (f *Fleet) Close() error { return f.each((*client).close) }

// Await waits until everything that was sent is acknowledged.
func (f *Fleet) Await() error { return f.each(func(c *client) error { return c.await(0) }) }

// Abandon closes the streams without waiting. It may be called twice, and during Send, which then fails.
func (f *Fleet) Abandon() {
	for _, c := range f.clients {
		c.stream.Close()
	}
}

// Sums returns the sum of all values sent so far, by metric.
func (f *Fleet) Sums() []float64 {
	sums := make([]float64, f.rows.Metrics)
	for _, c := range f.clients {
		for m, v := range c.walk.Sums {
			sums[m] += v
		}
	}
	return sums
}

// WireBytes returns the number of bytes sent so far, including HTTP/2 framing.
func (f *Fleet) WireBytes() int64 { return f.wire.Load() }

// Fulls returns how often the collector refused a batch for lack of capacity. Call it after Await or Close.
func (f *Fleet) Fulls() (n uint64) {
	for _, c := range f.clients {
		n += c.fulls
	}
	return n
}

// Latency returns the quantiles of the time from a batch's first sending to its acknowledgement, in ms. Call it after
// Await or Close.
func (f *Fleet) Latency() Quantiles {
	all := hdrhistogram.New(1, longestLatency, 3)
	for _, c := range f.clients {
		all.Merge(c.latency)
	}
	at := func(q float64) float64 { return float64(all.ValueAtQuantile(q)) / 1000 }
	return Quantiles{P50: at(50), P99: at(99), P999: at(99.9)}
}

// Pace sends one step at its scheduled time: the messages of all clients are spread over the step that begins then.
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
				if err := c.sendMessage(m, begins.UnixMilli()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
