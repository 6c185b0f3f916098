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
// within grace, or arrive at rate. gRPC itself would wait indefinitely for the rest of a message and keep what
// it has.
//
// A sender that has begun no message may be silent. A frame that is not complete needs no clock here: such a peer
// answers no ping, and is disconnected for that (Options.PingAfter).
type pace struct {
	grace time.Duration
	rate  int64 // bytes a second, of a message, once grace is over
	slow  func(peer string, why error)
}

// leastRate is that of a line on which nobody would send metrics: the largest batch takes four minutes.
const leastRate = 16 << 10

// Why a connection is cut; said in the log and counted.
var (
	errSlowMessage = errors.New("a message was begun and not ended in time")
	errStreamIDs   = errors.New("more streams were begun than a connection may have")
)

// mostStreamIDs bounds the streams of a connection that are followed. gRPC refuses what is beyond its limit at once,
// and that ends them here.
const mostStreamIDs = 1024

// paced are credentials whose connections are cut where they fall tooSlow; plain text or TLS is the inner ones'.
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

// pacedConn follows both directions of a connection and closes it when a message is too slow. It checks when bytes
// arrive and needs no timer: a peer that sends nothing at all is pinged, and its answer is bytes.
type pacedConn struct {
	net.Conn
	pace pace
	in   frames
	out  frames

	looked  time.Time
	highest uint32 // of the streams that were begun

	mu       sync.Mutex
	messages map[uint32]*message // by stream, from its first frame until either side ends it
}

// message is what is under way on a stream: gRPC's five bytes before it, and then itself.
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

// Read implements net.Conn; it fails where the sender is slow.
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

// came follows the received bytes, and returns a reason when the connection must be closed. It checks the speed of
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

// over forgets a stream that a frame ends. It is called under the lock.
func (c *pacedConn) over(f *frames) {
	if f.kind() == frameReset || (f.kind() == frameData || f.kind() == frameHeaders) && f.flags()&flagEndStream != 0 {
		delete(c.messages, f.stream())
	}
}

// data follows a piece of a stream's messages: gRPC's prefix of five bytes, which holds the length, and then the
// message. The caller holds mu.
func (c *pacedConn) data(stream uint32, piece []byte, now time.Time) {
	m := c.messages[stream]
	if m == nil {
		return // it has ended, or never begun
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
