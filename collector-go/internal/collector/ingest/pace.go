package ingest

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// pace is the lowest speed at which a sender may continue a message that it has begun. The message must be complete
// within grace, or arrive at rate. gRPC itself would wait indefinitely for the rest of a message and keep the part that
// has arrived.
//
// A sender that has begun no message may be silent. An incomplete frame needs no check here: such a peer answers no
// ping, and is disconnected for that (Options.PingAfter).
type pace struct {
	grace time.Duration
	rate  int64 // bytes per second of a message after grace
	slow  func(peer string, why error)
}

// leastRate is too slow for sending metrics in practice: the largest batch would take four minutes.
const leastRate = 16 << 10

// Reasons for closing a connection. They are logged and counted.
var (
	errSlowMessage = errors.New("the rest of a message did not arrive in time")
	errStreamIDs   = errors.New("the connection opened too many streams")
)

// mostStreamIDs bounds the streams of a connection that are tracked. gRPC refuses streams beyond its own limit at once,
// which also removes them here.
const mostStreamIDs = 1024

// paced are credentials whose connections are closed if a message is too slow. The inner credentials decide about TLS.
type paced struct {
	credentials.TransportCredentials
	pace pace
}

// ServerHandshake implements credentials.TransportCredentials.
func (p paced) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	inner, info, err := p.TransportCredentials.ServerHandshake(c)
	if err != nil {
		return inner, info, err
	}
	return newPacedConn(inner, p.pace), info, nil
}

// Clone implements credentials.TransportCredentials.
func (p paced) Clone() credentials.TransportCredentials {
	return paced{p.TransportCredentials.Clone(), p.pace}
}

// pacedConn tracks both directions of a connection and closes it if a message is too slow. It checks when bytes arrive
// and needs no timer: a peer that sends nothing at all receives a ping, and its answer consists of bytes.
type pacedConn struct {
	net.Conn
	pace pace
	in   frames
	out  frames

	looked  time.Time
	highest uint32 // greatest id of a stream that was begun

	mu       sync.Mutex
	messages map[uint32]*message // by stream, from its first frame until either side ends the stream
}

// message is the current message on a stream: gRPC's prefix of five bytes, and then the content.
type message struct {
	prefix [5]byte
	have   int
	left   int64
	came   int64
	begun  time.Time // zero between messages
}

const prefaceBytes = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

func newPacedConn(c net.Conn, p pace) *pacedConn {
	return &pacedConn{Conn: c, pace: p, in: frames{preface: prefaceBytes}, messages: map[uint32]*message{}}
}

// Read implements net.Conn. It returns an error if the sender is too slow.
func (c *pacedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		if why := c.came(p[:n], time.Now()); why != nil {
			c.pace.slow(c.RemoteAddr().String(), why)
			return 0, why
		}
	}
	return n, err
}

// Write implements net.Conn.
func (c *pacedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.read(p[:n], nil, c.over)
	return n, err
}

// came tracks the received bytes, and returns a reason if the connection must be closed. It checks the speed of
// messages twenty times per grace period, not at every read.
func (c *pacedConn) came(p []byte, now time.Time) (why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in.read(p, func(stream uint32, piece []byte) { c.data(stream, piece, now) }, func(f *frames) {
		if stream := f.stream(); f.kind() == frameHeaders && stream > c.highest {
			c.highest, c.messages[stream] = stream, &message{}
		}
		c.over(f)
	})
	if len(c.messages) > mostStreamIDs {
		return errStreamIDs
	}
	if now.Sub(c.looked) < c.pace.grace/20 {
		return nil
	}
	c.looked = now
	for _, m := range c.messages {
		if m.tooSlow(c.pace, now) {
			return errSlowMessage
		}
	}
	return nil
}

// over forgets a stream that a frame ends. The caller must hold mu.
func (c *pacedConn) over(f *frames) {
	if f.kind() == frameReset || (f.kind() == frameData || f.kind() == frameHeaders) && f.flags()&flagEndStream != 0 {
		delete(c.messages, f.stream())
	}
}

// data tracks a piece of a stream's messages. Each message follows gRPC's prefix of five bytes, which contains its
// length. The caller must hold mu.
func (c *pacedConn) data(stream uint32, piece []byte, now time.Time) {
	m := c.messages[stream]
	if m == nil {
		return // the stream has ended, or was never begun
	}
	for len(piece) > 0 {
		if m.begun.IsZero() {
			m.begun, m.have, m.came = now, 0, 0
		}
		if m.have < len(m.prefix) {
			n := copy(m.prefix[m.have:], piece)
			piece, m.have = piece[n:], m.have+n
			if m.have < len(m.prefix) {
				return
			}
			m.left = int64(binary.BigEndian.Uint32(m.prefix[1:]))
		}
		n := min(m.left, int64(len(piece)))
		piece, m.left, m.came = piece[n:], m.left-n, m.came+n
		if m.left == 0 {
			m.begun = time.Time{}
		}
	}
}

// tooSlow reports whether the message has arrived more slowly than pace allows.
func (m *message) tooSlow(p pace, now time.Time) bool {
	if m.begun.IsZero() {
		return false
	}
	late := now.Sub(m.begun) - p.grace
	return late > 0 && float64(m.came) < late.Seconds()*float64(p.rate)
}
