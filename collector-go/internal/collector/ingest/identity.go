package ingest

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// entry is the permission of a stream's caller. A stream lasts as long as its sender, and meanwhile a token may be
// revoked or a certificate may expire. The permission is therefore checked again while the stream is open.
type entry struct {
	guard    *access.Guard // nil if everybody may write
	peer     access.Peer
	required access.Requirement
	caller   access.Caller
	now      func() time.Time
}

// newEntry identifies the caller and checks that it may write at all. The topology is checked later, because only Open
// contains it.
func (s *Server) newEntry(ctx context.Context) (*entry, error) {
	e := &entry{guard: s.o.Guard, required: access.Requirement{Scope: access.Write}, now: s.o.Now}
	if from, ok := peer.FromContext(ctx); ok {
		e.peer.Address = from.Addr.String()
		if info, ok := from.AuthInfo.(credentials.TLSInfo); ok {
			e.peer.TLS = &info.State
		}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	e.peer.Authorization = md.Get("authorization")
	return e, e.check()
}

// check asks the guard whether the caller may still write. The error is the status with which the stream ends.
func (e *entry) check() error {
	if e.guard == nil {
		return nil
	}
	caller, err := e.guard.Admit(e.peer, e.required)
	if err != nil {
		return refusalStatus(err)
	}
	e.caller = caller
	return nil
}

// narrow checks the permission again for the topology that the caller writes to.
func (e *entry) narrow(topology string) error {
	e.required.Topology = topology
	return e.check()
}

// changed returns a channel that is closed when the result of check may have changed. It is nil without a guard.
func (e *entry) changed() <-chan struct{} {
	if e.guard == nil {
		return nil
	}
	return e.guard.Changed()
}

// leastLook bounds the rate of checks if the clock was set back.
const leastLook = time.Second

// ends returns a channel that fires when the caller's certificate expires. It is nil if the caller has none.
func (e *entry) ends() <-chan time.Time {
	if e.caller.Until.IsZero() {
		return nil
	}
	return time.After(max(e.caller.Until.Sub(e.now()), leastLook))
}

// keys returns the names whose quotas a stream uses, each once. The programs of one machine share an address. If a
// token or certificate identifies a local caller, its address therefore does not count.
func (e *entry) keys(topology string) []string {
	keys, address := []string{"topology " + topology}, "address "+quota.Address(e.peer.Address)
	known := e.caller.Name != "" && e.caller.Name != address
	if known {
		keys = append(keys, e.caller.Name)
	}
	if known && quota.Local(e.peer.Address) {
		return keys
	}
	return append(keys, address)
}

// refusalStatus converts a refusal of the guard to the status that the caller receives.
func refusalStatus(err error) error {
	var refusal *access.Refusal
	switch {
	case !errors.As(err, &refusal):
		return status.Error(codes.Internal, err.Error())
	case refusal.Reason == access.Closed:
		return status.Error(codes.Unavailable, refusal.Detail)
	case refusal.Unauthenticated():
		return status.Error(codes.Unauthenticated, refusal.Detail)
	}
	return status.Error(codes.PermissionDenied, refusal.Detail)
}

// handshakes are TLS credentials that report failed handshakes to the guard.
type handshakes struct {
	credentials.TransportCredentials
	guard *access.Guard
}

// ServerHandshake implements credentials.TransportCredentials.
func (h handshakes) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	encrypted, info, err := h.TransportCredentials.ServerHandshake(c)
	if err != nil {
		h.guard.Handshake(c.RemoteAddr().String(), err)
	}
	return encrypted, info, err
}

// Clone implements credentials.TransportCredentials.
func (h handshakes) Clone() credentials.TransportCredentials {
	return handshakes{h.TransportCredentials.Clone(), h.guard}
}
