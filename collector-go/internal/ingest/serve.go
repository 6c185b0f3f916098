package ingest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

const (
	maxHeaderBytes   = 16 << 10
	requestOverhead  = 64               // of an ExportRequest over its Batch
	streamBuffer     = 512 << 10        // flow control; fixed, so that gRPC does not grow it by its own estimate; it is widened by quarters
	connectionBuffer = 4 << 20          // of all streams; gRPC widens it as bytes come, so that it holds no memory
	readBuffer       = 64 << 10         // of a connection: four frames a read
	idleConnection   = 10 * time.Minute // without any stream
	leastPing        = 5 * time.Second  // between a client's own pings
)

// Serve takes connections from l until ctx ends, then ends the streams, each with UNAVAILABLE after its batches are
// acknowledged, and returns nil within Options.DrainTimeout. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g, alive := s.grpcServer()
	served := make(chan error, 1)
	go func() { served <- g.Serve(&limitedListener{Listener: l, limit: s.o.MaxConnections, ledger: s.ledger}) }()
	select {
	case err := <-served:
		return fmt.Errorf("ingest: serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	alive.Shutdown()
	s.Shutdown()
	timer := time.AfterFunc(s.o.DrainTimeout, g.Stop)
	defer timer.Stop()
	g.GracefulStop()
	<-served
	return nil
}

// grpcServer is the service with all limits of the transport, and grpc.health.v1 beside it.
func (s *Server) grpcServer() (*grpc.Server, *health.Server) {
	o := s.o
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(o.MaxBatchBytes + requestOverhead),
		grpc.MaxConcurrentStreams(o.MaxStreamsPerConnection),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(o.HandshakeTimeout),
		grpc.InitialWindowSize(streamBuffer),
		grpc.InitialConnWindowSize(connectionBuffer),
		grpc.ReadBufferSize(readBuffer),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: idleConnection, Time: o.PingAfter, Timeout: o.PingTimeout}),
	}
	if s.credentials != nil {
		options = append(options, grpc.Creds(s.credentials))
	}
	g := grpc.NewServer(options...)
	pb.RegisterIngestServiceServer(g, s)
	alive := health.NewServer()
	grpc_health_v1.RegisterHealthServer(g, alive)
	return g, alive
}

// limitedListener closes connections over a limit at once: a flood then costs no memory, and clients with back-off come again.
type limitedListener struct {
	net.Listener
	limit  int
	ledger *ledger

	mu   sync.Mutex
	open int
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.add(1) {
			return &limitedConnection{Conn: connection, listener: l}, nil
		}
		l.ledger.connectionsRefused.Inc()
		_ = connection.Close()
	}
}

// add changes the number of connections, unless it would pass the limit.
func (l *limitedListener) add(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open+n > l.limit {
		return false
	}
	l.open += n
	l.ledger.connections.Set(float64(l.open))
	return true
}

type limitedConnection struct {
	net.Conn
	listener *limitedListener
	once     sync.Once
}

// Close implements net.Conn.
func (c *limitedConnection) Close() error {
	c.once.Do(func() { c.listener.add(-1) })
	return c.Conn.Close()
}
