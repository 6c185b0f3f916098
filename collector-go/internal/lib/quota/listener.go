package quota

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Listener accepts a connection when a slot is free for its address, and closes it at once otherwise. A flood of
// connections then costs no memory, and clients within their share are still served.
type Listener struct {
	net.Listener
	slots   *Slots
	refused func(peer string, why error)
}

// Listen puts a listener in front of l. refused is called with each connection that is closed at once, and, with no
// peer, when none can be accepted, as where the process has no descriptors left: servers try that again by themselves
// and log it where nobody looks.
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
			return nil, err // as it was: net/http goes on after a net.Error that is temporary
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
