package ingest

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// closedByPeer waits until the other side closes.
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

// TestSlowHandshakesAreCut: who connects and says nothing, or half a preface, is cut, and makes room.
func TestSlowHandshakesAreCut(t *testing.T) {
	c := start(t, func(o *Options) { o.HandshakeTimeout, o.MaxConnections = 200*time.Millisecond, 3 })
	for _, says := range []string{"", "PRI * HT", "\x16\x03\x01"} {
		connection, err := net.Dial("tcp", c.address)
		require.NoError(t, err)
		defer connection.Close()
		_, err = connection.Write([]byte(says))
		require.NoError(t, err)
		closedByPeer(t, connection)
	}
	opened(t, c.dial())
}

// TestSilentConnectionsAreCut: who ends the handshake and then answers no ping is cut.
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

func TestHealth(t *testing.T) {
	c := start(t, nil)
	connection, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	health, err := grpc_health_v1.NewHealthClient(connection).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, health.GetStatus())
}

// TestServeEndsInTime: a disk that never answers does not keep Serve from ending.
func TestServeEndsInTime(t *testing.T) {
	slow := newHeldJournal() // never answers
	c := startOn(t, slow, func(o *Options) { o.DrainTimeout = 200 * time.Millisecond })
	s := opened(t, c.dial())
	s.batch(&pb.Batch{Sequence: 1})
	<-slow.appended
	c.stop()
	s.fails(codes.Unavailable, "")
}
