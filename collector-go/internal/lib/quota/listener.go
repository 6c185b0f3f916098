package quota

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

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
