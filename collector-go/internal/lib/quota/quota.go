// Package quota shares a limited number of slots among clients, so that no client can hold all of them. Slots
// represent connections, streams or running queries. The package knows keys and numbers, but not who is behind a key.
package quota

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
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

// Listener accepts a connection if a slot is free for its address, and otherwise closes it at once. A flood of
// connections therefore costs no memory, and clients within their share are still served.
type Listener struct {
	net.Listener
	slots   *Slots
	refused func(peer string, why error)
}

// Listen returns a listener that wraps l. refused is called for each connection that is closed at once. It is also
// called, with an empty peer, if accepting fails, for example because the process has no file descriptors left. Servers
// retry by themselves in this case, and log the failure where nobody looks.
func Listen(l net.Listener, slots *Slots, refused func(peer string, why error)) *Listener {
	return &Listener{Listener: l, slots: slots, refused: refused}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			switch {
			case errors.Is(err, syscall.EMFILE):
				l.refused("", fmt.Errorf("%w: raise the limit of open files (ulimit -n, LimitNOFILE of systemd)", err))
			case !errors.Is(err, net.ErrClosed):
				l.refused("", err)
			}
			return nil, err // unchanged, because net/http continues after a temporary net.Error
		}
		peer := connection.RemoteAddr().String()
		release, err := l.slots.Take(Address(peer))
		if err == nil {
			return &limited{Conn: connection, release: release}, nil
		}
		_ = connection.Close()
		l.refused(peer, err)
	}
}

// limited is a connection that returns its slot when it is closed.
type limited struct {
	net.Conn
	release func()
	once    sync.Once
	err     error
}

// Close implements net.Conn.
func (c *limited) Close() error {
	c.once.Do(func() {
		c.err = c.Conn.Close()
		c.release()
	})
	return c.err
}

// networkBits is the length of the IPv6 prefix that counts as one client, because a host can use any address of its
// /64.
const networkBits = 64

// ipOf returns the IP address of a peer, which is "host:port" or a host. It returns the zero Addr if the host is not
// an IP address.
func ipOf(peer string) netip.Addr {
	if both, err := netip.ParseAddrPort(peer); err == nil {
		return both.Addr()
	}
	ip, _ := netip.ParseAddr(peer)
	return ip
}

// Local reports whether a peer's address is a loopback address.
func Local(peer string) bool { return ipOf(peer).Unmap().IsLoopback() }

// Address returns the key for a peer, which is "host:port" or a host. The key is the IPv4 address or the /64 network
// of the IPv6 address. A peer without an IP address is its own key.
func Address(peer string) string {
	ip := ipOf(peer).Unmap().WithZone("")
	switch {
	case !ip.IsValid():
		return peer
	case ip.Is4():
		return ip.String()
	}
	network, err := ip.Prefix(networkBits)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
