package feed

import (
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
)

// link is the network between a plugin's host and the collector's. If a direction is blocked, messages in transit
// arrive when it is open again, as with TCP, unless an end has closed the connection by then.
type link struct {
	*simulated
	delayMs int64 // the longest delay of a message
	blocked [2]bool
	conns   []*conn
}

// The directions of a link.
const (
	up = iota
	down
)

// conn is a connection with its stream. Each end learns independently that the other one is gone.
type conn struct {
	*link
	plugin *plugin
	ways   [2]oneWay
	cut    bool // nothing on it arrives any more

	// The collector's end.
	life     *life
	stream   *ingest.Stepped // nil if there is none
	heardMs  int64
	stalled  [][]byte // requests for which the window has no capacity
	closing  bool     // the plugin's end of stream follows them
	answered bool     // an answer is scheduled
}

// oneWay is one direction of a connection, which keeps the order of messages.
type oneWay struct {
	lastMs int64
	held   []func()
}

// transmit sends something to the other end.
func (c *conn) transmit(direction int, arrive func()) {
	to := &c.ways[direction]
	to.lastMs = max(to.lastMs, c.nowMs+1+c.upTo(c.delayMs))
	c.at(to.lastMs-c.nowMs, "arrival", func() { c.arrive(direction, arrive) })
}

func (c *conn) arrive(direction int, arrive func()) {
	to := &c.ways[direction]
	switch {
	case c.cut:
	case c.blocked[direction] || len(to.held) > 0:
		to.held = append(to.held, arrive)
	default:
		arrive()
	}
}

// block closes directions of a link for a while, once or repeatedly for short times.
func (k *link) block(directions [2]bool, ms int64) {
	k.note("block")
	k.happen["partitions"]++
	if directions[up] != directions[down] {
		k.happen["asymmetric"]++
	}
	k.blocked = directions
	k.at(ms, "unblock", k.open)
}

// open delivers what is waiting.
func (k *link) open() {
	k.blocked = [2]bool{}
	for _, c := range k.conns {
		for direction := range c.ways {
			if len(c.ways[direction].held) > 0 {
				k.at(1+k.upTo(k.delayMs), "sent again", func() { c.release(direction) })
			}
		}
	}
}

// release delivers what was held in a direction, before what is in transit.
func (c *conn) release(direction int) {
	to := &c.ways[direction]
	for len(to.held) > 0 && !c.cut && !c.blocked[direction] {
		next := to.held[0]
		to.held = to.held[1:]
		next()
	}
}

// flap blocks a link for several short moments.
func (k *link) flap(times int) {
	if times == 0 {
		return
	}
	k.happen["flaps"]++
	k.block([2]bool{true, true}, 200+k.upTo(3000))
	k.at(4000+k.upTo(3000), "flap", func() { k.flap(times - 1) })
}

// reset cuts all connections of a link. What was in transit to the collector may have arrived.
func (k *link) reset() {
	k.happen["cuts"]++
	for _, c := range k.conns {
		c.at(k.upTo(3), "cut", func() { c.cut = true })
		c.at(3+k.upTo(2000), "the collector notices", func() { c.closeServer() })
		c.at(3+k.upTo(2000), "the plugin notices", func() { c.plugin.lost(c, 0) })
	}
}

// dial connects and sends the stream's Open.
func (p *plugin) dial() *conn {
	c := &conn{link: p.link, plugin: p}
	p.link.conns = append(p.link.conns, c)
	c.transmit(up, c.open)
	return c
}

// open handles the arrival of the Open.
func (c *conn) open() {
	c.life = c.simulated.life
	if c.life == nil {
		c.transmit(down, func() { c.plugin.lost(c, 0) })
		return
	}
	place := c.plugin.place
	stream, err := c.life.server.Step(&bulletmetricsv1.Open{Topology: place.Topology, TopologyId: place.TopologyID,
		Host: place.Host, Port: place.Port,
		Task: place.Task, PluginVersion: "1"}, c.say)
	if err != nil {
		c.note("refused stream")
		c.happen["streams_refused"]++
		c.transmit(down, func() { c.plugin.lost(c, 5000) })
		return
	}
	c.happen["streams"]++
	c.stream, c.heardMs = stream, c.nowMs
	c.life.conns = append(c.life.conns, c)
	c.life.commitSoon()
	c.keepAlive()
}

// say sends an answer of the collector.
func (c *conn) say(response *bulletmetricsv1.ExportResponse) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(response)
	require.NoError(c.t, err)
	c.note("answer", hashOf(string(encoded), 0))
	c.transmit(down, func() {
		said := &bulletmetricsv1.ExportResponse{}
		require.NoError(c.t, proto.Unmarshal(encoded, said))
		c.plugin.hear(c, said)
	})
}

// keepAlive ends a connection through which no ping passes any more.
func (c *conn) keepAlive() {
	c.at(5000, "ping", func() {
		switch {
		case c.stream == nil:
		case c.blocked[up] || c.blocked[down]:
			if c.nowMs-c.heardMs > 25_000 {
				c.happen["half_open"]++
				c.closeServer()
				return
			}
			c.keepAlive()
		default:
			c.heardMs = c.nowMs
			c.keepAlive()
		}
	})
}

// send sends an encoded request.
func (c *conn) send(encoded []byte) {
	c.transmit(up, func() {
		if c.stream != nil {
			c.heardMs = c.nowMs
			c.stalled = append(c.stalled, encoded)
			c.take()
		}
	})
}

// take lets ingest process what has arrived, as far as its window has capacity.
func (c *conn) take() {
	for len(c.stalled) > 0 && c.stream != nil && c.stream.HasCapacity() {
		next := c.stalled[0]
		c.stalled = c.stalled[1:]
		require.NoError(c.t, c.stream.Take(next), "a plugin that keeps to the protocol was cut off")
		c.answerSoon()
		c.life.commitSoon()
	}
	if c.closing && len(c.stalled) == 0 {
		c.closeServer()
	}
}

// answerSoon schedules the stream's goroutine.
func (c *conn) answerSoon() {
	if c.answered || c.stream == nil {
		return
	}
	c.answered = true
	c.at(c.upTo(3), "answers", func() {
		c.answered = false
		if c.stream != nil {
			require.NoError(c.t, c.stream.Answer())
			c.take()
		}
	})
}

// finish closes the plugin's end of the connection.
func (c *conn) finish() {
	c.transmit(up, func() {
		c.closing = true
		c.take()
	})
}

// closeServer ends the stream at the collector.
func (c *conn) closeServer() {
	if c.stream == nil {
		return
	}
	c.stream.Close()
	c.life.commitSoon()
	c.forget()
}

func (c *conn) forget() {
	c.stream, c.stalled = nil, nil
	c.transmit(down, func() { c.plugin.lost(c, 0) })
}

// lostServer ends the collector's end together with its process. If the machine died too, nobody is notified.
func (c *conn) lostServer(silently bool) {
	if c.stream == nil {
		return
	}
	if silently {
		c.stream, c.stalled = nil, nil
		return
	}
	c.forget()
}
