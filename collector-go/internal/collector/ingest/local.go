package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// maxLocalWait is how long a local sender retries while the journal is full.
const maxLocalWait = time.Minute

// Local is a sender inside the collector's process, for example a replay. Its batches pass the same admission, limits
// and accounting as those of a stream. A replay therefore accepts exactly what a live collector would. Local is not
// safe for concurrent use.
type Local struct {
	server    *Server
	producer  *producer
	table     *table
	admission admission
	answers   *answers
	epoch     journal.Epoch
	sequence  uint64
}

// Local returns a sender with the given epoch. The caller must close it, so that the journal records its end.
func (s *Server) Local(open *pb.Open, epoch journal.Epoch) (*Local, error) {
	if err := checkOpen(open); err != nil {
		return nil, err
	}
	p, err := s.connect(open)
	if err != nil {
		return nil, fmt.Errorf("connect: %s", status.Convert(err).Message())
	}
	return &Local{server: s, producer: p, epoch: epoch, answers: newAnswers(),
		table: newTable(open.GetTopology(), s.tableLimits(), s)}, nil
}

// Send sets the epoch and sequence of a batch, appends it, and returns when it is durable. rejected lists the samples
// that were not admitted. If the journal is full, Send retries for up to a minute.
func (l *Local) Send(ctx context.Context, b *pb.Batch) (rejected []*pb.Rejection, err error) {
	l.sequence++
	b.Epoch, b.Sequence, b.OldestHeldSequence = l.epoch[:], l.sequence, l.sequence
	defer l.admission.release()
	if err := l.admission.check(b, l.table); err != nil {
		return nil, err
	}
	now := l.server.o.Now()
	l.producer.sent(b.GetSendTimeMs(), now)
	ctx, cancel := context.WithTimeout(ctx, maxLocalWait)
	defer cancel()
	for {
		tally, err := l.hand(b, now)
		if err == nil {
			return tally.messages(l.sequence), nil
		}
		if !errors.Is(err, journal.ErrFull) {
			return nil, err
		}
		select {
		case <-time.After(time.Duration(retryAfterMs(err)) * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// hand appends a batch to the journal and waits until it is durable. After an error the batch can be admitted again.
func (l *Local) hand(b *pb.Batch, arrived time.Time) (*tally, error) {
	rejected, err := l.server.admitAndAppend(&l.admission, b, l.table, l.producer, newAccount(l.server, l.answers),
		arrived)
	if err != nil {
		l.admission.restore()
		return nil, err
	}
	<-l.answers.signal
	if err := l.answers.take()[0]; err != nil {
		l.admission.restore()
		return nil, err
	}
	return rejected, nil
}

// Close ends the sender. The journal records that its producer is no longer connected.
func (l *Local) Close() { l.server.disconnect(l.producer) }

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
