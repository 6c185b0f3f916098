package ingest

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Stepped is a stream without network and goroutines, for simulations. The caller delivers each request and decides
// when the sender is answered. Everything happens in a defined order, so a simulation can be repeated from its seed.
// Admission, limits and accounting are those of any other stream. It is not safe for concurrent use.
type Stepped struct {
	stream *stream
	in     incoming
}

// Step opens a stream. The collector's answers are passed to send, during Step and Answer. An error is the status of a
// stream that is refused.
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

// Take processes an encoded ExportRequest and takes ownership of its bytes. An error is the status with which the
// stream has ended. The caller must then close it.
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

// HasCapacity reports whether the window accepts another batch. While it does not, the requests of a stream wait.
func (s *Stepped) HasCapacity() bool { return s.stream.hasCapacity() }

// Answer sends what the journal has answered since the last call. An error is the status with which the stream has
// ended.
func (s *Stepped) Answer() error { return s.stream.answer() }

// Close ends the stream as if its connection had failed.
func (s *Stepped) Close() {
	s.stream.close(make(chan struct{}))
	s.stream.server.disconnect(s.stream.producer)
}

// sends is the sending side of a Stepped stream.
type sends struct {
	grpc.ServerStream
	send func(*pb.ExportResponse)
}

// Context implements grpc.ServerStream.
func (sends) Context() context.Context { return context.Background() }

// Recv implements grpc.BidiStreamingServer. It is never called, because Take receives the requests.
func (sends) Recv() (*pb.ExportRequest, error) { return nil, io.EOF }

// Send implements grpc.BidiStreamingServer.
func (s sends) Send(response *pb.ExportResponse) error {
	s.send(response)
	return nil
}
