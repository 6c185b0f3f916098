package sender

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// answerLimit is how long the collector may take to admit a stream, and to acknowledge a batch of a Sender.
const answerLimit = 30 * time.Second

var errSilent = fmt.Errorf("the collector sent nothing for %s", answerLimit)

// Stream is a stream of batches that a collector has admitted, on a connection of its own. It holds the batches in
// flight, which are those that the collector has neither acknowledged nor refused. One goroutine calls its methods.
// The definitions of series and layouts that were sent are valid for this stream only.
//
// A Stream does not choose batches, and does not reconnect. A Sender sends what is in its queue; a benchmark sends what
// it generates. Await returns the batches that the collector refused, because only the caller knows whether they still
// matter.
type Stream struct {
	// Opened is how the collector has admitted the stream.
	Opened *pb.Opened

	connection *grpc.ClientConn
	export     pb.IngestService_ExportClient
	handle     func(*pb.ExportResponse)
	answered   chan struct{} // signals an answer
	ended      chan struct{} // closed at the end of the stream
	failure    error         // why the stream has ended; valid once ended is closed

	mu       sync.Mutex
	inFlight []*pb.Batch // oldest first
	full     *pb.Full    // the newest refusal, until Await handles it
}

// Dial connects to the collector at an address, opens a stream, and waits until it is admitted. The stream ends when
// ctx ends. tokenFile has the token for the collector; "" for none. handle is called for each answer by another
// goroutine, and must not call the stream. What handle has changed can be read once Await(ctx, 0) or Close has
// returned.
func Dial(ctx context.Context, address, tokenFile string, open *pb.Open, handle func(*pb.ExportResponse),
	options ...grpc.DialOption) (*Stream, error) {
	ctx, err := authorized(ctx, tokenFile)
	if err != nil {
		return nil, err
	}
	s := &Stream{handle: handle, answered: make(chan struct{}, 1), ended: make(chan struct{})}
	if s.connection, err = grpc.NewClient(address, options...); err != nil {
		return nil, fmt.Errorf("the collector at %s: %w", address, err)
	}
	if err := s.open(ctx, open); err != nil {
		_ = s.connection.Close()
		return nil, err
	}
	go s.receive()
	return s, nil
}

// Refused returns why the collector at an address lets nobody with these credentials write, or "" if it would, does not
// answer, or a file cannot be read. It opens a stream and sends nothing. Whether a topology is allowed, only Open would
// tell.
func Refused(ctx context.Context, address, tokenFile string, t TLS) string {
	transport, err := t.Credentials()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if ctx, err = authorized(ctx, tokenFile); err != nil {
		return ""
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return ""
	}
	defer connection.Close()
	export, err := pb.NewIngestServiceClient(connection).Export(ctx)
	if err == nil {
		_ = export.CloseSend()
		_, err = export.Recv()
	}
	if code := status.Code(err); code == codes.Unauthenticated || code == codes.PermissionDenied {
		return status.Convert(err).Message()
	}
	return ""
}

func (s *Stream) open(ctx context.Context, open *pb.Open) (err error) {
	if s.export, err = pb.NewIngestServiceClient(s.connection).Export(ctx); err != nil {
		return err
	}
	err = s.export.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}})
	if err != nil && !errors.Is(err, io.EOF) { // the reason of io.EOF comes from Recv
		return err
	}
	limit := time.AfterFunc(answerLimit, func() { _ = s.connection.Close() })
	response, err := s.export.Recv()
	switch {
	case !limit.Stop():
		return errSilent
	case err != nil:
		return err
	case response.GetOpened() == nil:
		return fmt.Errorf("the collector answered Open with %T", response.GetMessage())
	}
	s.Opened = response.GetOpened()
	return nil
}

// receive handles the collector's answers until the stream ends.
func (s *Stream) receive() {
	defer close(s.ended)
	for {
		response, err := s.export.Recv()
		if err != nil {
			s.failure = err
			return
		}
		s.mu.Lock()
		if response.GetFull() != nil {
			s.full = response.GetFull()
		}
		for len(s.inFlight) > 0 && s.inFlight[0].GetSequence() <= response.GetAcknowledgement().GetSequence() {
			s.inFlight = s.inFlight[1:]
		}
		s.handle(response)
		s.mu.Unlock()
		select {
		case s.answered <- struct{}{}:
		default:
		}
	}
}

// Send sends a batch, which is then in flight. The batch must not change until it is acknowledged or refused. An error
// is the reason why the stream has ended.
func (s *Stream) Send(b *pb.Batch) error {
	s.mu.Lock()
	s.inFlight = append(s.inFlight, b)
	b.OldestHeldSequence = s.inFlight[0].GetSequence()
	s.mu.Unlock()
	err := s.export.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}})
	if errors.Is(err, io.EOF) {
		<-s.ended // the reason comes from Recv
		return s.failure
	}
	return err
}

// Await waits until at most the given number of batches are in flight. If the collector refuses batches for lack of
// capacity, Await waits for as long as the collector asks, and returns them: they are no longer in flight, and the
// caller sends them again or drops them. Only the end of the stream cuts that wait short. An error is the reason why
// the stream has ended, or the cause of the end of ctx.
func (s *Stream) Await(ctx context.Context, inFlight int) (refused []*pb.Batch, err error) {
	for {
		s.mu.Lock()
		full, n := s.full, len(s.inFlight)
		s.full = nil
		s.mu.Unlock()
		if full != nil {
			pause(s.export.Context(), time.Duration(full.GetRetryAfterMs())*time.Millisecond)
			if refused = s.takeBack(full.GetSequence()); len(refused) > 0 {
				return refused, nil
			}
			continue
		}
		if n <= inFlight {
			return nil, nil
		}
		select {
		case <-s.answered:
		case <-s.ended:
			return nil, s.failure
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// AwaitResending is like Await, but sends again what the collector refuses, so that a full collector costs only time.
func (s *Stream) AwaitResending(ctx context.Context, inFlight int) error {
	for {
		refused, err := s.Await(ctx, inFlight)
		if err != nil || len(refused) == 0 {
			return err
		}
		for _, b := range refused {
			if err := s.Send(b); err != nil {
				return err
			}
		}
	}
}

// takeBack removes the batches in flight from a sequence on, and returns them. The collector skips what was sent after
// a refused batch.
func (s *Stream) takeBack(sequence uint64) (refused []*pb.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.inFlight) && s.inFlight[n].GetSequence() < sequence {
		n++
	}
	refused, s.inFlight = s.inFlight[n:], s.inFlight[:n:n]
	return refused
}

// Close ends the stream and its connection without waiting for acknowledgements. It may be called twice, and by
// another goroutine.
func (s *Stream) Close() {
	_ = s.connection.Close()
	<-s.ended
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
