package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// ProducerOptions say what a producer sends, and how fast. Its batches are numbered from 1; each holds one sample of
// each of its series.
type ProducerOptions struct {
	// Topology and Host name it; "" for names of its own. No two producers of a ledger may share both.
	Topology, Host string
	// Series is how many samples a batch has; 20 where it is 0.
	Series int
	// From is the event time of the first batch, whole seconds; ten hours ago where it is zero. Step is from batch to
	// batch, whole seconds, 1 s where it is 0: an hour of event time with 1 s goes by with 3,600 batches, whatever time
	// that takes. No batch is made before its time.
	From time.Time
	Step time.Duration
	// Pause is between batches that are made; 0 for as fast as they are acknowledged.
	Pause time.Duration
	// Batches is how many it makes; 0 for until it is stopped.
	Batches uint64
	// Window bounds batches under way; the collector's own, and 32 where it is 0.
	Window uint64
	// Answer is how long it waits for an acknowledgement before it begins another stream; 30 s where it is 0.
	Answer time.Duration
	// Credentials are for its connections; plain text where it is nil.
	Credentials credentials.TransportCredentials
	// Token is sent with each stream where it is not "".
	Token string
	// Dial makes its connections; nil for the system's.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

func (o ProducerOptions) completed(place int) ProducerOptions {
	if o.Topology == "" {
		o.Topology = "chaos-" + strconv.Itoa(place)
	}
	if o.Host == "" {
		o.Host = "host-" + strconv.Itoa(place)
	}
	if o.Series == 0 {
		o.Series = 20
	}
	if o.From.IsZero() {
		o.From = time.Now().Add(-10 * time.Hour)
	}
	o.From = o.From.Truncate(time.Second)
	o.Step = max(o.Step, time.Second)
	if o.Window == 0 {
		o.Window = 32
	}
	if o.Answer == 0 {
		o.Answer = 30 * time.Second
	}
	if o.Credentials == nil {
		o.Credentials = insecure.NewCredentials()
	}
	return o
}

// Producer is one sender. It is safe for concurrent use.
type Producer struct {
	options ProducerOptions
	address string
	seed    uint64
	epoch   [16]byte
	ctx     context.Context
	end     context.CancelFunc
	ended   chan struct{}

	mu           sync.Mutex
	changed      chan struct{} // closed, and replaced, at every change of what is below
	sent         uint64        // the newest batch that was ever sent
	acknowledged uint64        // all batches up to it were
	last         uint64        // no batch behind it is made, but the end
	finished     bool          // the end is acknowledged
	rejected     map[uint64]uint64
	tally        Sending
	failure      error // of the last stream
}

// unbounded is the last batch of a producer that is to be stopped.
const unbounded = math.MaxUint64 - 1

// Sending is how a producer's sending went.
type Sending struct {
	// Streams counts those that were opened, Fulls the batches that were turned away for want of room.
	Streams, Fulls int
	// Rejected counts samples that were refused for good; Example is one reason.
	Rejected int64
	Example  string
	// LongestSilence is the longest time from one acknowledgement to the next.
	LongestSilence time.Duration

	heard time.Time
}

func newProducer(ctx context.Context, address string, options ProducerOptions, seed uint64) *Producer {
	p := &Producer{options: options, address: address, seed: seed, last: unbounded, ended: make(chan struct{}),
		changed: make(chan struct{}), rejected: map[uint64]uint64{}}
	if options.Batches > 0 {
		p.last = options.Batches
	}
	p.ctx, p.end = context.WithCancel(ctx)
	binary.BigEndian.PutUint64(p.epoch[:], seed)
	binary.BigEndian.PutUint64(p.epoch[8:], uint64(time.Now().UnixNano()))
	p.tally.heard = time.Now()
	return p
}

// run opens streams until the producer's end.
func (p *Producer) run() {
	defer close(p.ended)
	for p.ctx.Err() == nil {
		err := p.stream()
		p.change(func() { p.failure = err })
		select {
		case <-time.After(20 * time.Millisecond):
		case <-p.ctx.Done():
		}
	}
}

// change changes what is shared, and wakes who waits for it.
func (p *Producer) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until something holds of what is shared.
func (p *Producer) await(ctx context.Context, holds func() bool) error {
	for {
		p.mu.Lock()
		is, changed := holds(), p.changed
		p.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			return errors.Join(fmt.Errorf("%s/%s: %d of %d batches acknowledged, %d times full: %w", p.options.Topology,
				p.options.Host, p.acknowledged, p.sent, p.tally.Fulls, ctx.Err()),
				p.failure)
		}
	}
}

// stream is one connection, from its opening to its end.
func (p *Producer) stream() error {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	options := []grpc.DialOption{grpc.WithTransportCredentials(p.options.Credentials)}
	if p.options.Dial != nil {
		options = append(options, grpc.WithContextDialer(p.options.Dial))
	}
	connection, err := grpc.NewClient("passthrough:///"+p.address, options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	s, err := p.open(ctx, connection)
	if err != nil {
		return err
	}
	received := make(chan error, 1)
	go func() {
		err := s.receive()
		cancel()
		received <- err
	}()
	failure := s.send(ctx)
	cancel()
	if err := <-received; errors.Is(failure, context.Canceled) {
		failure = err
	}
	return failure
}

// Acknowledged is how many samples were.
func (p *Producer) Acknowledged() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	samples := int64(p.batches()) * int64(p.options.Series)
	for _, n := range p.rejected {
		samples -= int64(n)
	}
	return samples
}

// batches is how many of samples were acknowledged: all but the end. The caller holds mu.
func (p *Producer) batches() uint64 {
	return min(p.acknowledged, p.last)
}

// Sending is how it went so far.
func (p *Producer) Sending() Sending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tally
}

// AwaitAcknowledged waits until so many batches are.
func (p *Producer) AwaitAcknowledged(ctx context.Context, batches uint64) error {
	return p.await(ctx, func() bool { return p.acknowledged >= batches })
}

// AwaitFresh waits until a batch is acknowledged that is not sent yet, or until there is none to come.
func (p *Producer) AwaitFresh(ctx context.Context) error {
	p.mu.Lock()
	next := min(p.sent+1, p.last)
	p.mu.Unlock()
	return p.AwaitAcknowledged(ctx, next)
}

// Finish makes no more batches, waits for what was sent, and sends the end: a sample of another series two minutes on,
// at which the collector closes all before it.
func (p *Producer) Finish(ctx context.Context) error {
	p.change(func() {
		if p.last == unbounded {
			p.last = p.sent
		}
	})
	return p.await(ctx, func() bool { return p.finished })
}

// Stop ends it at once, in the middle of what it sends.
func (p *Producer) Stop() {
	p.end()
	<-p.ended
}
