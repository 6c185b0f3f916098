package ingest

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// closedByPeer waits until the other side closes the connection.
func closedByPeer(t *testing.T, connection net.Conn) {
	require.NoError(t, connection.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.Copy(io.Discard, connection)
	var timeout net.Error
	if err != nil {
		require.NotErrorAs(t, err, &timeout)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxConnections = 2 })
	good := opened(t, c.dial())
	second, err := net.Dial("tcp", c.address)
	require.NoError(t, err)
	defer second.Close()
	for range 50 {
		surplus, err := net.Dial("tcp", c.address)
		require.NoError(t, err)
		closedByPeer(t, surplus)
		require.NoError(t, surplus.Close())
	}
	good.batch(&pb.Batch{Sequence: 1})
	good.acknowledged(1)
}

// TestSlowHandshakesAreCut checks that a client that connects and sends nothing, or half a preface, is disconnected and
// frees its connection.
func TestSlowHandshakesAreCut(t *testing.T) {
	c := start(t, func(o *Options) { o.HandshakeTimeout, o.MaxConnections = 200*time.Millisecond, 3 })
	for _, preface := range []string{"", "PRI * HT", "\x16\x03\x01"} {
		connection, err := net.Dial("tcp", c.address)
		require.NoError(t, err)
		defer connection.Close()
		_, err = connection.Write([]byte(preface))
		require.NoError(t, err)
		closedByPeer(t, connection)
	}
	opened(t, c.dial())
}

// TestSilentConnectionsAreCut checks that a client that finishes the handshake and then answers no ping is
// disconnected.
func TestSilentConnectionsAreCut(t *testing.T) {
	c := start(t, func(o *Options) { o.PingAfter, o.PingTimeout = time.Second, 200*time.Millisecond })
	connection, err := net.Dial("tcp", c.address)
	require.NoError(t, err)
	defer connection.Close()
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" // and empty SETTINGS
	_, err = connection.Write([]byte(preface))
	require.NoError(t, err)
	closedByPeer(t, connection)
}

// TestConnectionsWithoutAStreamAreClosed covers C3: a connection that answers every ping but opens no stream is closed.
// A stream keeps another one open.
func TestConnectionsWithoutAStreamAreClosed(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxIdle = 200 * time.Millisecond })
	good := opened(t, c.dial())
	idle, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer idle.Close()
	idle.Connect()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, until := range []connectivity.State{connectivity.Ready, connectivity.Idle} {
		for state := idle.GetState(); state != until; state = idle.GetState() {
			require.True(t, idle.WaitForStateChange(ctx, state), "still %v", state)
		}
	}
	good.batch(&pb.Batch{Sequence: 1})
	good.acknowledged(1)
}

// dialFrom connects from one of this host's addresses.
func (c *collector) dialFrom(address string) *grpc.ClientConn {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	connection, err := grpc.NewClient("passthrough:///"+c.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", to)
		}))
	require.NoError(c.t, err)
	c.t.Cleanup(func() { connection.Close() })
	return connection
}

// TestOneAddressDoesNotTakeAllConnections covers C3: an address that opens all connections that it can leaves some to
// others.
func TestOneAddressDoesNotTakeAllConnections(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxConnections = 9 })
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	var surplus []net.Conn
	for range 20 {
		hostile, err := dialer.DialContext(t.Context(), "tcp", c.address)
		require.NoError(t, err)
		defer hostile.Close()
		surplus = append(surplus, hostile)
	}
	for _, hostile := range surplus[6:] {
		closedByPeer(t, hostile)
	}
	good := opened(t, pb.NewIngestServiceClient(c.dialFrom("127.0.0.3")))
	good.batch(&pb.Batch{Sequence: 1})
	good.acknowledged(1)
}

// TestStreamsAreShared checks that neither one topology nor one address can use all streams.
func TestStreamsAreShared(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxStreams = 9 })
	hostile := pb.NewIngestServiceClient(c.dialFrom("127.0.0.2"))
	for range 6 {
		opened(t, hostile)
	}
	export(t, hostile).fails(codes.ResourceExhausted, "topology bullet uses 6 of 9 slots")
	require.ErrorContains(t, attempt(t, hostile, "another"), "address 127.0.0.2 uses 6 of 9 slots")
	require.NoError(t, attempt(t, pb.NewIngestServiceClient(c.dialFrom("127.0.0.3")), "another"))
}

// TestWatchingHealthIsBounded covers C3: watches of the collector's health need no credentials. They are limited in
// time, and one address cannot use all of them.
func TestWatchingHealthIsBounded(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxWatches, o.WatchTime = 3, time.Minute })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watch := func(from string) (grpc_health_v1.Health_WatchClient, error) {
		stream, err := grpc_health_v1.NewHealthClient(c.dialFrom(from)).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		require.NoError(t, err)
		_, err = stream.Recv()
		return stream, err
	}
	first, err := watch("127.0.0.2")
	require.NoError(t, err)
	_, err = watch("127.0.0.2")
	require.NoError(t, err)
	_, err = watch("127.0.0.2")
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	_, err = watch("127.0.0.3")
	require.NoError(t, err)
	c.stop()
	for err == nil { // the last message before the end is that it does not serve
		_, err = first.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)

	short := start(t, func(o *Options) { o.WatchTime = 100 * time.Millisecond })
	stream, err := grpc_health_v1.NewHealthClient(short.dialFrom("127.0.0.2")).Watch(ctx,
		&grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	for err == nil {
		_, err = stream.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "start a new one")
}

func TestHealth(t *testing.T) {
	c := start(t, nil)
	connection, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	health, err := grpc_health_v1.NewHealthClient(connection).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, health.GetStatus())
}

// TestServeEndsInTime checks that a disk that never answers does not keep Serve from ending.
func TestServeEndsInTime(t *testing.T) {
	slow := newHeldJournal() // never answers
	c := startOn(t, slow, func(o *Options) { o.DrainTimeout = 200 * time.Millisecond })
	s := opened(t, c.dial())
	s.batch(&pb.Batch{Sequence: 1})
	<-slow.appended
	c.stop()
	s.fails(codes.Unavailable, "")
}
