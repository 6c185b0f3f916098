package ingest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// Fixed settings of the transport. They bound the resources of a connection before its sender is known.
const (
	maxHeaderBytes  = 16 << 10
	requestOverhead = 64 // bytes of an ExportRequest in addition to its Batch
	// flow control; fixed, so that gRPC does not grow it by its own estimate; increased in quarters
	streamBuffer     = 512 << 10
	connectionBuffer = 4 << 20         // of all streams; gRPC increases it as bytes arrive, so that it takes no memory
	readBuffer       = 64 << 10        // of a connection: four frames per read
	leastPing        = 5 * time.Second // between a client's own pings
)

// Serve accepts connections from l until ctx ends. It then ends the streams, each with UNAVAILABLE after its batches
// are acknowledged, and returns nil within Options.DrainTimeout. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g, alive := s.grpcServer()
	served := make(chan error, 1)
	go func() { served <- g.Serve(quota.Listen(l, s.connections, s.refused)) }()
	var looking sync.WaitGroup
	defer looking.Wait()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if s.o.Guard != nil {
		looking.Go(func() { s.o.Guard.Run(watching) })
	}
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

// grpcServer returns the gRPC server with all limits of the transport, and a grpc.health.v1 service.
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
		experimental.BufferPool(&FramePool{}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: o.MaxIdle, Time: o.PingAfter, Timeout: o.PingTimeout}),
	}
	transport := insecure.NewCredentials()
	if o.Guard != nil {
		if config := o.Guard.TLS(); config != nil {
			transport = handshakes{credentials.NewTLS(config), o.Guard}
		}
	}
	g := grpc.NewServer(append(options, grpc.Creds(paced{transport, pace{o.MessageGrace, leastRate, s.slow}}))...)
	pb.RegisterIngestServiceServer(g, s)
	alive := health.NewServer()
	grpc_health_v1.RegisterHealthServer(g, &boundedHealth{alive, s, quota.New(o.MaxWatches)})
	return g, alive
}

// refused counts and logs a connection that was closed because of the limit of connections or an address's share.
func (s *Server) refused(peer string, why error) {
	s.stats.connectionsRefused.Inc()
	s.note(peer, fmt.Errorf("connection: %w", why))
}

// slow counts and logs a connection that was closed because a message was too slow.
func (s *Server) slow(peer string, why error) {
	s.stats.connectionsSlow.Inc()
	s.note(peer, fmt.Errorf("connection cut: %w", why))
}

// note counts and logs a peer that was refused or disconnected for lack of capacity. The guard limits the rate of log
// lines.
func (s *Server) note(peer string, why error) {
	if s.o.Guard != nil {
		s.o.Guard.Note(access.NoSlots, peer, why.Error())
	}
}

// boundedHealth serves grpc.health.v1, which needs no credentials. A watch occupies a stream, so watches are limited in
// number, per address, and in time. Otherwise anybody could use up the collector's streams.
type boundedHealth struct {
	*health.Server
	server *Server
	slots  *quota.Slots
}

// Watch implements grpc.health.v1. It ends after WatchTime, and clients then watch again.
func (h *boundedHealth) Watch(r *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer) error {
	address := ""
	if from, ok := peer.FromContext(stream.Context()); ok {
		address = from.Addr.String()
	}
	release, err := h.slots.Take(quota.Address(address))
	if err != nil {
		h.server.note(address, err)
		return refuse(h.server.o.WatchTime, "too many health watches: %v", err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(stream.Context(), h.server.o.WatchTime)
	defer cancel()
	go func() {
		select {
		case <-h.server.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := h.Server.Watch(r, timedWatch{stream, ctx}); ctx.Err() == nil {
		return err
	}
	return status.Errorf(codes.Unavailable, "a health watch ends after %v; start a new one", h.server.o.WatchTime)
}

// timedWatch is a watch with a context of its own, which is cancelled after WatchTime.
type timedWatch struct {
	grpc_health_v1.Health_WatchServer
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (w timedWatch) Context() context.Context { return w.ctx }
