package ingest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// wired is one side of a connection, as bytes.
type wired struct {
	t testing.TB
	bytes.Buffer
	framer *http2.Framer
}

func newWired(t testing.TB) *wired {
	w := &wired{t: t}
	w.framer = http2.NewFramer(&w.Buffer, nil)
	w.framer.AllowIllegalWrites = true
	return w
}

func (w *wired) headers(stream uint32, end bool) *wired {
	require.NoError(w.t, w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x82},
		EndHeaders: true, EndStream: end}))
	return w
}

func (w *wired) data(stream uint32, piece []byte) *wired {
	require.NoError(w.t, w.framer.WriteData(stream, false, piece))
	return w
}

func (w *wired) padded(stream uint32, piece []byte, padding int) *wired {
	require.NoError(w.t, w.framer.WriteDataPadded(stream, false, piece, make([]byte, padding)))
	return w
}

func (w *wired) reset(stream uint32) *wired {
	require.NoError(w.t, w.framer.WriteRSTStream(stream, http2.ErrCodeCancel))
	return w
}

// prefixed returns a message of n bytes as gRPC sends it.
func prefixed(n int) []byte {
	return append([]byte{0, 0, byte(n >> 16), byte(n >> 8), byte(n)}, make([]byte, n)...)
}

// TestPace checks that a sender must continue a message that it has begun, however frames and padding divide it. A
// sender that has begun none may be silent.
func TestPace(t *testing.T) {
	const late = 30 * time.Second // after the first bytes
	for name, c := range map[string]struct {
		in, server func(w *wired)
		after      []byte // arrives late, in a separate frame
		cut        bool
	}{
		"a whole message, then silence": {in: func(w *wired) {
			w.headers(1, false).data(1, prefixed(1000))
		}},
		"an empty message": {in: func(w *wired) {
			w.headers(1, false).data(1, prefixed(0))
		}},
		"two messages in one frame": {in: func(w *wired) {
			w.headers(1, false).data(1, append(prefixed(7), prefixed(9)...))
		}},
		"half of a prefix": {
			in: func(w *wired) { w.headers(1, false).data(1, []byte{0, 0}) }, cut: true},
		"half of a message": {
			in: func(w *wired) { w.headers(1, false).data(1, prefixed(1000)[:500]) }, cut: true},
		"half of the second message": {
			in: func(w *wired) { w.headers(1, false).data(1, append(prefixed(7), prefixed(9)[:8]...)) }, cut: true},
		"padding is no part of a message": {
			in: func(w *wired) { w.headers(1, false).padded(1, prefixed(100)[:50], 200) }, cut: true},
		"a whole message with padding": {in: func(w *wired) {
			w.headers(1, false).padded(1, prefixed(100), 200)
		}},
		"its rest comes late": {
			in: func(w *wired) { w.headers(1, false).data(1, prefixed(1000)[:500]) }, after: prefixed(1000)[500:]},
		"a byte of its rest comes late": {
			in: func(w *wired) { w.headers(1, false).data(1, prefixed(1000)[:500]) }, after: []byte{1}, cut: true},
		"a large one that comes at the rate": {in: func(w *wired) {
			w.headers(1, false).data(1, prefixed(1 << 20)[:700<<10])
		}},
		"half a message of a stream that its sender abandoned": {in: func(w *wired) {
			w.headers(1, false).data(1, prefixed(1000)[:500]).reset(1)
		}},
		"half a message of a stream that the server ended": {
			in: func(w *wired) { w.headers(1, false).data(1, prefixed(1000)[:500]) }, server: func(w *wired) {
				w.headers(1, true)
			}},
		"half a message of a stream that the server reset": {
			in: func(w *wired) { w.headers(1, false).data(1, prefixed(1000)[:500]) }, server: func(w *wired) {
				w.reset(1)
			}},
		"half a message beside a stream that the server ended": {
			in:     func(w *wired) { w.headers(1, false).headers(3, false).data(1, prefixed(1000)[:500]) },
			server: func(w *wired) { w.reset(3) }, cut: true},
		"data of a stream that never began": {in: func(w *wired) {
			w.data(1, prefixed(1000)[:500])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			conn := newPacedConn(nil, pace{grace: 20 * time.Second, rate: 16 << 10})
			began := time.Now()
			in, out := newWired(t), newWired(t)
			in.WriteString(http2.ClientPreface)
			require.NoError(t, in.framer.WriteSettings())
			c.in(in)
			for in.Len() > 0 {
				require.NoError(t, conn.came(in.Next(1+random.IntN(in.Len())), began))
			}
			if c.server != nil {
				c.server(out)
			}
			for out.Len() > 0 {
				conn.out.read(out.Next(1+random.IntN(out.Len())), nil, conn.over)
			}
			last := newWired(t)
			require.NoError(t, last.framer.WritePing(true, [8]byte{}))
			if c.after != nil {
				last.data(1, c.after)
			}
			why := conn.came(last.Bytes(), began.Add(late))
			if c.cut {
				require.ErrorIs(t, why, errSlowMessage)
				return
			}
			require.NoError(t, why)
		})
	}
}

func TestStreamsThatAreFollowedAreBounded(t *testing.T) {
	conn := newPacedConn(nil, pace{grace: time.Second})
	in := newWired(t)
	in.WriteString(http2.ClientPreface)
	for stream := uint32(1); stream < 3*mostStreamIDs; stream += 2 {
		in.headers(stream, false)
	}
	require.ErrorIs(t, conn.came(in.Bytes(), time.Now()), errStreamIDs)
}

// TestAMessageWithoutARestIsCut covers C3: a stream that was opened correctly, and a batch whose rest never arrives,
// from a client that answers every ping.
func TestAMessageWithoutARestIsCut(t *testing.T) {
	c := start(t, func(o *Options) { o.MessageGrace, o.PingAfter = 100*time.Millisecond, time.Second })
	good := opened(t, c.dial())
	connection, err := net.Dial("tcp", c.address)
	require.NoError(t, err)
	defer connection.Close()
	require.NoError(t, connection.SetDeadline(time.Now().Add(patience)))
	_, err = connection.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	framer := http2.NewFramer(connection, connection)
	require.NoError(t, framer.WriteSettings())
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"},
		{":path", pb.IngestService_Export_FullMethodName}, {":authority", c.address},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(),
		EndHeaders: true}))
	open, err := proto.Marshal(
		&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "slow", Host: "h"}}})
	require.NoError(t, err)
	require.NoError(t, framer.WriteData(1, false, append(prefixed(len(open))[:5], open...)))
	require.NoError(t, framer.WriteData(1, false, prefixed(1 << 20)[:100]))
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			var timeout net.Error
			require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "it was not cut")
			break
		}
		if ping, is := frame.(*http2.PingFrame); is && !ping.IsAck() {
			require.NoError(t, framer.WritePing(true, ping.Data))
		}
	}
	require.EqualValues(t, 1, testutil.ToFloat64(c.server.stats.connectionsSlow))
	good.batch(&pb.Batch{Sequence: 1})
	good.acknowledged(1)
}
