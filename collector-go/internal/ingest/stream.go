package ingest

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
)

// stream is one sender's, from Opened on. All of it runs on the handler's goroutine, but for answers.
type stream struct {
	server   *Server
	grpc     grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]
	producer journal.ProducerID
	incoming *incoming
	answers  *answers
	table    *table
	window   window
	epoch    []byte // of the first batch; all others must have it too
}

// answers are the journal's, in order, on their way from its goroutine to the stream's.
type answers struct {
	mu     sync.Mutex
	list   []error
	signal chan struct{} // holds a token when list is not empty
}

func newAnswers() *answers { return &answers{signal: make(chan struct{}, 1)} }

func (a *answers) put(err error) {
	a.mu.Lock()
	a.list = append(a.list, err)
	a.mu.Unlock()
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

func (a *answers) take() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}

// run answers Open, then takes batches until the sender, the collector or an error ends the stream.
func (s *stream) run() error {
	o := s.server.o
	if err := s.grpc.Send(&pb.ExportResponse{Message: &pb.ExportResponse_Opened{
		Opened: &pb.Opened{Window: uint32(o.Window), MaxBatchBytes: uint32(o.MaxBatchBytes)}}}); err != nil {
		return err
	}
	for {
		messages := s.incoming.messages
		if len(s.window.flights) >= o.Window {
			messages = nil // the sender has to wait for answers
		}
		select {
		case m := <-messages:
			if m.err != nil {
				return s.end(m.err)
			}
			if err := s.take(m.request); err != nil {
				return err
			}
		case <-s.answers.signal:
			if err := s.answer(); err != nil {
				return err
			}
		case <-s.server.closing:
			return s.end(errClosing)
		case <-s.grpc.Context().Done():
			return status.FromContextError(s.grpc.Context().Err()).Err()
		}
	}
}

// end waits for the journal's answers to what is under way, says them, and returns the stream's status: last, or success where
// that is the sender's own end of the stream.
func (s *stream) end(last error) error {
	for len(s.window.flights) > 0 {
		select {
		case <-s.answers.signal:
			if err := s.answer(); err != nil {
				return err
			}
		case <-s.grpc.Context().Done():
			return status.FromContextError(s.grpc.Context().Err()).Err()
		}
	}
	if errors.Is(last, io.EOF) {
		return nil
	}
	return last
}

// take looks at one request.
func (s *stream) take(request *pb.ExportRequest) error {
	b := request.GetBatch()
	if b == nil {
		return status.Error(codes.InvalidArgument, "a request after Open must be a Batch; this is none, or cannot be decoded")
	}
	if err := s.check(b); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	now := s.server.o.Now()
	s.server.producers.sent(s.producer, b.GetSendTimeMs(), now)
	if !s.window.takes(b.GetSequence(), b.GetOldestHeldSequence()) {
		s.server.ledger.batches.WithLabelValues("skipped").Inc()
		return nil
	}
	return s.hand(admit(b, s.table, s.server.clock.allowed(now), now), now)
}

// check holds a batch to the protocol and takes its definitions, which count even where the batch is not taken: the sender
// need not repeat them.
func (s *stream) check(b *pb.Batch) error {
	if err := checkBatch(b); err != nil {
		return err
	}
	if s.epoch == nil {
		s.epoch = b.GetEpoch()
	}
	if string(s.epoch) != string(b.GetEpoch()) {
		return errors.New("batch.epoch changed within the stream: a new epoch needs a new stream")
	}
	return s.table.add(b.GetSeries())
}

// hand gives an admitted batch to the journal, or says Full.
func (s *stream) hand(a *admitted, arrived time.Time) error {
	a.batch.Producer = s.producer
	sequence, answers := a.batch.Sequence, s.answers
	b := &booking{admitted: a, server: s.server, arrived: arrived}
	duplicate, err := s.server.journal.Append(&a.batch, func(err error) {
		b.answered(err)
		answers.put(err)
	})
	switch {
	case errors.Is(err, journal.ErrFull):
		return s.sayFull(sequence, err)
	case errors.Is(err, journal.ErrClosed):
		return s.end(errClosing)
	case errors.Is(err, journal.ErrTooLarge):
		return status.Error(codes.InvalidArgument, err.Error())
	case err != nil:
		return status.Error(codes.Internal, err.Error())
	}
	b.handed(duplicate)
	s.window.launch(sequence, a.rejected.messages(sequence))
	return nil
}

// booking enters a batch into the books when the journal has answered, even where the stream is gone by then. The answer may
// come before Append has returned; whichever is second enters it.
type booking struct {
	admitted  *admitted
	server    *Server
	arrived   time.Time
	parts     atomic.Int32
	duplicate bool
	err       error
}

func (b *booking) handed(duplicate bool) {
	b.duplicate = duplicate
	b.enter()
}

func (b *booking) answered(err error) {
	b.err = err
	b.enter()
}

func (b *booking) enter() {
	if b.parts.Add(1) == 2 && b.err == nil {
		a := b.admitted
		b.server.ledger.enter(a.received, &a.rejected, b.duplicate, b.server.o.Now().Sub(b.arrived))
	}
}

// sayFull sends the sender back to a batch, unless it has been sent back further.
func (s *stream) sayFull(sequence uint64, reason error) error {
	s.server.ledger.batches.WithLabelValues("full").Inc()
	if !s.window.refuse(sequence) {
		return nil
	}
	return s.grpc.Send(&pb.ExportResponse{Message: &pb.ExportResponse_Full{
		Full: &pb.Full{Epoch: s.epoch, Sequence: sequence, RetryAfterMs: retryAfterMs(reason)}}})
}

func retryAfterMs(err error) uint32 {
	var full *journal.FullError
	if errors.As(err, &full) {
		return uint32(max(full.RetryAfter.Milliseconds(), 1))
	}
	return 1000
}

// answer passes on what the journal has said since the last time, as few messages as it takes.
func (s *stream) answer() error {
	for _, err := range s.answers.take() {
		if errors.Is(err, journal.ErrClosed) {
			return errClosing
		}
		sequence, tell := s.window.land(err == nil)
		if !tell {
			continue
		}
		s.server.ledger.batches.WithLabelValues("full").Inc()
		if err := s.grpc.Send(&pb.ExportResponse{Message: &pb.ExportResponse_Full{
			Full: &pb.Full{Epoch: s.epoch, Sequence: sequence, RetryAfterMs: retryAfterMs(err)}}}); err != nil {
			return err
		}
	}
	sequence, rejections, ok := s.window.acknowledgement()
	if !ok {
		return nil
	}
	return s.grpc.Send(&pb.ExportResponse{Message: &pb.ExportResponse_Acknowledgement{
		Acknowledgement: &pb.Acknowledgement{Epoch: s.epoch, Sequence: sequence, Rejections: rejections}}})
}
