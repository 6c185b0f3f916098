package ingest

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Stepped is a stream without network and goroutines, for simulations: the caller delivers each request and decides
// when the sender is answered. Everything happens in a known order, so a simulation can be repeated from its seed.
// Admission, limits and accounting are those of any other stream. It is for one goroutine.
type Stepped struct {
	stream *stream
	in     incoming
}

// Step opens a stream. What the collector answers is given to send, from within Step and Answer. The error is the
// status of a stream that is refused.
func (s *Server) Step(open *pb.Open, send func(*pb.ExportResponse)) (*Stepped, error) {
	if err := checkOpen(open); err != nil {
		return nil, err
	}
	p, err := s.connect(open)
	if err != nil {
		return nil, err
	}
	st := &Stepped{stream: newStream(s, sends{send: send}, p, open.GetTopology(), &entry{now: s.o.Now})}
	return st, st.stream.greet()
}

// Take takes an encoded ExportRequest, which is the stream's from then on. The error is the status with which the
// stream has ended; the caller closes it.
func (s *Stepped) Take(encoded []byte) error {
	s.in.decode(encoded)
	err := s.stream.take(&s.in)
	s.in.forget()
	var b *brokenError
	if errors.As(err, &b) {
		return b.status
	}
	return err
}

// HasCapacity reports whether the window takes another batch. While it does not, the requests of a stream wait.
func (s *Stepped) HasCapacity() bool { return s.stream.hasCapacity() }

// Answer passes on what the journal has answered since the last time. The error is the status with which the stream has
// ended.
func (s *Stepped) Answer() error { return s.stream.answer() }

// Close ends the stream, as when its connection broke.
func (s *Stepped) Close() {
	s.stream.close(make(chan struct{}))
	s.stream.server.disconnect(s.stream.producer)
}

// sends is the answering side of a stream.
type sends struct {
	grpc.ServerStream
	send func(*pb.ExportResponse)
}

// Context implements grpc.ServerStream.
func (sends) Context() context.Context { return context.Background() }

// Recv implements grpc.BidiStreamingServer; nobody calls it, since requests are brought.
func (sends) Recv() (*pb.ExportRequest, error) { return nil, io.EOF }

// Send implements grpc.BidiStreamingServer.
func (s sends) Send(response *pb.ExportResponse) error {
	s.send(response)
	return nil
}
