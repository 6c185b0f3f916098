package ingest

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

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
