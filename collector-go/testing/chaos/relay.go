package chaos

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Relay stands between two programs and does to their connections what networks do. It loses no byte of a connection
// that lasts: what a network loses, TCP sends again.
type Relay struct {
	listener net.Listener
	dial     func(ctx context.Context) (net.Conn, error)
	ctx      context.Context
	end      context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	weather Weather
	changed chan struct{} // closed, and replaced, when the weather changes
	open    map[net.Conn]bool
}

// Weather is what becomes of connections. Its zero value is fair.
type Weather struct {
	// HoldUp and HoldDown let nothing pass from who connects, or to it, until the weather changes: a partition, of one
	// direction or both. Connections are taken and led nowhere meanwhile where HoldUp is set.
	HoldUp, HoldDown bool
	// Delay is the longest that a piece waits, each connection by a share of it that is drawn for it, so that
	// connections overtake each other.
	Delay time.Duration
	// Latency is for every piece towards who connects.
	Latency time.Duration
	// BytesPerSecond is how much passes to who connects, of each connection; 0 for all.
	BytesPerSecond int
}

// NewRelay listens on loopback and leads every connection to where dial leads.
func NewRelay(dial func(ctx context.Context) (net.Conn, error)) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: listener, dial: dial, changed: make(chan struct{}), open: map[net.Conn]bool{}}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.running.Go(r.accept)
	return r, nil
}

// RelayTo is NewRelay to an address of this host.
func RelayTo(address string) (*Relay, error) {
	return NewRelay(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	})
}

// Address is where to connect.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Set changes the weather, of open connections too.
func (r *Relay) Set(w Weather) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weather = w
	close(r.changed)
	r.changed = make(chan struct{})
}

// Cut closes all connections that are open.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		_ = c.Close()
	}
}

// Close ends it and all its connections.
func (r *Relay) Close() {
	r.end()
	_ = r.listener.Close()
	r.Cut()
	r.running.Wait()
}

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.lead(near) })
	}
}

// lead carries one connection until either end closes it.
func (r *Relay) lead(near net.Conn) {
	defer r.register(near)()
	if r.await(func(w Weather) bool { return w.HoldUp }) != nil {
		return
	}
	far, err := r.dial(r.ctx)
	if err != nil {
		return
	}
	defer r.register(far)()
	share := rand.Float64()
	delay := func(w Weather) time.Duration { return time.Duration(share * float64(w.Delay)) }
	var both sync.WaitGroup
	both.Go(func() {
		r.carry(near, far, func(w Weather) bool { return w.HoldUp }, delay, func(Weather) int { return 0 })
	})
	both.Go(func() {
		r.carry(far, near, func(w Weather) bool { return w.HoldDown }, func(w Weather) time.Duration {
			return delay(w) + w.Latency
		},
			func(w Weather) int { return w.BytesPerSecond })
	})
	both.Wait()
}

// register lets a connection be closed by Cut. What it returns closes and forgets it.
func (r *Relay) register(c net.Conn) (forget func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[c] = true
	if r.ctx.Err() != nil {
		_ = c.Close()
	}
	return func() {
		_ = c.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, c)
	}
}

// carry carries one direction. When it ends, both do.
func (r *Relay) carry(from, to net.Conn, held func(Weather) bool, delay func(Weather) time.Duration,
	rate func(Weather) int) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		for piece := buffer[:n]; len(piece) > 0; {
			if r.await(held) != nil || r.wait(delay) != nil {
				return
			}
			now := piece
			if most := r.now(rate); most > 0 {
				now = piece[:min(most, len(piece))]
				if wait(r.ctx, time.Second) != nil {
					return
				}
			}
			if _, err := to.Write(now); err != nil {
				return
			}
			piece = piece[len(now):]
		}
		if err != nil {
			_ = r.await(held) // nobody learns of an end either
			return
		}
	}
}

func (r *Relay) now(of func(Weather) int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return of(r.weather)
}

func (r *Relay) wait(of func(Weather) time.Duration) error {
	r.mu.Lock()
	d := of(r.weather)
	r.mu.Unlock()
	if d <= 0 {
		return nil
	}
	return wait(r.ctx, d)
}

// await waits while something is held.
func (r *Relay) await(held func(Weather) bool) error {
	for {
		r.mu.Lock()
		is, changed := held(r.weather), r.changed
		r.mu.Unlock()
		if !is {
			return nil
		}
		select {
		case <-changed:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
}
