package ingest

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// stream is one sender's stream after its Open. The receiving goroutine owns table and admission. It shares window and
// the fields below mu with the handler's goroutine, which sends answers. Only the handler's goroutine calls Send,
// because gRPC does not allow two concurrent sends.
type stream struct {
	server   *Server
	grpc     grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]
	producer *producer
	answers  *answers
	entry    *entry

	// Owned by the receiving goroutine.
	table         *table
	admission     admission
	stateTransfer *stateTransfer // nil if its sender transfers no state

	mu     sync.Mutex // held while a batch is processed
	window window
	epoch  []byte // of the first batch; all others must have the same
	full   []*pb.Full
	freed  chan struct{} // holds a token if the window may have capacity again
	closed bool          // no more batches are accepted
}

// newStream returns a stream for a connected producer. run serves it; Stepped drives it by hand.
func newStream(s *Server, g grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse], p *producer, topology string,
	e *entry) *stream {
	return &stream{server: s, grpc: g, producer: p, entry: e, answers: newAnswers(), freed: make(chan struct{}, 1),
		table: newTable(topology, s.tableLimits(), s)}
}

// answers is a list of the journal's answers, in order, from the journal's goroutine to the stream's. put never blocks,
// because a slow client must not delay the journal for other streams. The window bounds the list.
type answers struct {
	mu     sync.Mutex
	list   []error
	spare  []error
	signal chan struct{} // holds a token if there are answers to send
}

func newAnswers() *answers { return &answers{signal: make(chan struct{}, 1)} }

// put appends an answer and signals the handler. The journal's goroutine calls it, so it must not block.
func (a *answers) put(err error) {
	a.mu.Lock()
	a.list = append(a.list, err)
	a.mu.Unlock()
	a.notify()
}

func (a *answers) notify() { signal(a.signal) }

// signal puts a token into a channel of capacity one, unless it holds one already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take returns the list of answers, which is valid until the next call but one. Two slices are used in turn, so that
// answers cause no allocation.
func (a *answers) take() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list, a.spare = a.spare[:0], list
	return list
}

// run sends Opened, then serves the stream until the sender, the collector or an error ends it. It also ends the stream
// when the caller's token is revoked or its certificate expires.
func (s *stream) run() error {
	if err := s.greet(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	stopped := make(chan struct{})
	defer s.close(stopped)
	go func() { ended <- s.receive(stopped) }()
	changed, over := s.entry.changed(), s.entry.ends()
	for {
		select {
		case err := <-ended:
			return s.end(err)
		case <-s.answers.signal:
			if err := s.answer(); err != nil {
				return err
			}
		case <-s.stateChanged():
			if err := s.sendState(); err != nil {
				return err
			}
		case <-changed:
			changed = s.entry.changed() // before the check, so that no change is missed
			if err := s.entry.check(); err != nil {
				return err
			}
			over = s.entry.ends()
		case <-over:
			if err := s.entry.check(); err != nil {
				return err
			}
			over = s.entry.ends()
		case <-s.server.closing:
			return s.end(errClosing)
		case <-s.grpc.Context().Done():
			return status.FromContextError(s.grpc.Context().Err()).Err()
		}
	}
}

// greet answers Open with the limits of the collector, so that the sender can adapt its batches to them.
func (s *stream) greet() error {
	o := s.server.o
	opened := &pb.Opened{Window: uint32(o.Window), MaxBatchBytes: uint32(o.MaxBatchBytes), TakesBlocks: true}
	if x := s.stateTransfer; x != nil {
		opened.GivesStates, opened.WantsState, opened.TakenSequence = true, x.awaits, x.lastSequence
	}
	return s.grpc.Send(&pb.ExportResponse{Message: &pb.ExportResponse_Opened{Opened: opened}})
}

// receive processes requests until an error ends the stream. It stops reading while the window is full, so that HTTP/2
// flow control slows the sender down. The goroutine ends after the handler has returned, because gRPC then ends
// RecvMsg.
func (s *stream) receive(stopped <-chan struct{}) error {
	in := &incoming{}
	for {
		if err := in.receive(s.grpc); err != nil {
			return err
		}
		if err := s.await(stopped); err != nil {
			return err
		}
		if err := s.take(in); err != nil {
			return err
		}
		in.forget() // the next request may take long to arrive
	}
}

// errStopped ends the receiving goroutine of a stream that has ended. It is never sent to the sender.
var errStopped = errors.New("the stream has ended")

// await returns when the window has capacity. Until then the sender has to wait for answers. The window thereby bounds
// the memory of one stream.
func (s *stream) await(stopped <-chan struct{}) error {
	for {
		if s.hasCapacity() {
			return nil
		}
		select {
		case <-s.freed:
		case <-stopped:
			return errStopped
		}
	}
}

// hasCapacity reports whether the window has capacity for another batch.
func (s *stream) hasCapacity() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.window.flights) < s.server.o.Window
}

// close makes the stream accept no more batches. The journal can then record the end of the stream after all of its
// batches.
func (s *stream) close(stopped chan struct{}) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(stopped)
}

// end sends the outstanding answers and returns the stream's status: last, or success if the sender closed its side. It
// waits for the journal's answers to batches in flight, unless the sender broke the protocol.
func (s *stream) end(last error) error {
	s.mu.Lock()
	s.closed = true
	flights := len(s.window.flights)
	s.mu.Unlock()
	var broken *brokenError
	if errors.As(last, &broken) {
		return broken.status
	}
	for flights > 0 {
		select {
		case <-s.answers.signal:
			if err := s.answer(); err != nil {
				return err
			}
		case <-s.grpc.Context().Done():
			return status.FromContextError(s.grpc.Context().Err()).Err()
		}
		s.mu.Lock()
		flights = len(s.window.flights)
		s.mu.Unlock()
	}
	if err := s.answer(); err != nil {
		return err
	}
	if errors.Is(last, io.EOF) {
		return nil
	}
	return last
}

// brokenError is the status of a stream that ends at once, without waiting for batches in flight.
type brokenError struct{ status error }

func (e *brokenError) Error() string { return e.status.Error() }

// broken returns an error that ends the stream at once with a status.
func broken(code codes.Code, err error) error { return &brokenError{status.Error(code, err.Error())} }

// take handles one request: a part of a state, or a batch. It holds mu, so that the end of the stream cannot overtake
// the batch.
func (s *stream) take(in *incoming) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errStopped
	}
	begun := time.Now().Add(-in.decoded) // without the time that the batch waited for the window
	if in.refused != nil && !errors.Is(in.refused, errWire) {
		return broken(codes.InvalidArgument, in.refused)
	}
	if x := s.stateTransfer; x != nil && x.awaits && in.request.GetState() != nil {
		return s.receiveState(in.request.GetState())
	}
	b := in.request.GetBatch()
	if x := s.stateTransfer; b != nil && x != nil && (x.awaits || string(b.GetEpoch()) != string(x.sent)) {
		return broken(codes.InvalidArgument, errors.New("a Batch arrived before the requested State, or its epoch is not open.epoch"))
	}
	if b == nil {
		return broken(codes.InvalidArgument, errors.New("a request after Open must be a valid Batch message"))
	}
	if err := s.check(b); errors.Is(err, errLayouts) {
		return &brokenError{refuse(time.Second, "%v", err)}
	} else if err != nil {
		return broken(codes.InvalidArgument, err)
	}
	now := s.server.o.Now()
	s.producer.sent(b.GetSendTimeMs(), now)
	if !s.window.takes(b.GetSequence(), b.GetOldestHeldSequence()) {
		s.server.stats.skipped.Inc()
		return nil
	}
	return s.hand(b, now, begun)
}

// check validates a batch against the protocol and adds its definitions. All batches of a stream must have the same
// epoch, because an acknowledgement names only one.
func (s *stream) check(b *pb.Batch) error {
	if err := s.admission.check(b, s.table); err != nil {
		return err
	}
	if s.epoch == nil {
		s.epoch = bytes.Clone(b.GetEpoch()) // that of b belongs to the message
	}
	if string(s.epoch) != string(b.GetEpoch()) {
		return errors.New("batch.epoch changed within the stream: a new epoch needs a new stream")
	}
	return nil
}

// hand appends a batch without its rejected samples to the journal, or answers Full if a limit is reached. begun is the
// start of decoding, adjusted for the time that the batch waited for the window.
func (s *stream) hand(b *pb.Batch, arrived, begun time.Time) error {
	defer s.admission.release()
	sequence, topology, samples := b.GetSequence(), s.producer.place.Topology, s.admission.samples(b)
	if err := s.server.rates.take(topology, samples, arrived); err != nil {
		s.server.stats.overRate(topology)
		s.sayFull(sequence, err)
		return nil
	}
	account := newAccount(s.server, s.answers)
	rejected, err := s.server.admitAndAppend(&s.admission, b, s.table, s.producer, account, arrived)
	if err != nil {
		s.server.rates.giveBack(topology, samples)
	}
	switch {
	case err == nil:
		s.window.launch(sequence, rejected.messages(sequence))
		s.server.stats.accept.Observe(time.Since(begun).Seconds())
		return nil
	case errors.Is(err, journal.ErrFull), errors.Is(err, journal.ErrProducerLimit):
		s.sayFull(sequence, err)
		return nil
	case errors.Is(err, journal.ErrClosed):
		return errClosing
	case errors.Is(err, journal.ErrTooLarge):
		return broken(codes.InvalidArgument, err)
	}
	return broken(codes.Internal, err)
}

// mostRenewals bounds how often one batch is admitted again because the journal has forgotten an id. Each attempt
// defines the ids again. More than one attempt is needed only if the journal forgets them again meanwhile.
const mostRenewals = 3

// admitAndAppend admits a checked batch and appends it to the journal. If the journal has forgotten an id that the
// batch uses, it defines the id again and retries. The sender does not notice.
func (s *Server) admitAndAppend(a *admission, b *pb.Batch, t *table, p *producer, account *account, arrived time.Time) (
	*tally, error) {
	for renewals := 0; ; renewals++ {
		err := a.admit(b, t, s.clock.allowed(arrived), arrived)
		if err == nil {
			a.batch.Producer = p.name()
			account.admitted(a, p.place.Topology, arrived)
			rejected := a.rejected
			var duplicate bool
			if duplicate, err = s.journal.Append(a.batch, account.done); err == nil {
				account.handed(duplicate)
				return rejected, nil
			}
		}
		if !errors.Is(err, journal.ErrForgotten) || renewals == mostRenewals {
			return nil, err
		}
		a.restore()
		t.renewAll(b)
		if err := s.producers.renew(p); err != nil {
			return nil, err
		}
	}
}

// account adds a batch to the statistics once two facts are known: whether Append reported a duplicate, and whether the
// batch became durable. The journal may answer before Append returns, and whichever comes second does the counting.
// This also works after the stream has ended, so that the totals always balance. Accounts are pooled.
type account struct {
	server    *Server
	answers   *answers
	done      func(error)
	topology  string
	received  int
	rejected  *tally
	arrived   time.Time
	parts     atomic.Int32
	duplicate bool
	err       error
}

// newAccount returns an account from the pool. Its done callback is created once, because a method value allocates.
func newAccount(s *Server, answers *answers) *account {
	b, _ := s.accounts.Get().(*account)
	if b == nil {
		b = &account{}
		b.done = b.answered
	}
	b.server, b.answers = s, answers
	return b
}

// admitted records the result of admitting a batch.
func (b *account) admitted(a *admission, topology string, arrived time.Time) {
	b.topology = topology
	b.received, b.rejected, b.arrived = a.received, a.rejected, arrived
}

// handed records the result of Append.
func (b *account) handed(duplicate bool) {
	b.duplicate = duplicate
	b.enter()
}

// answered is the journal's callback. It reads answers first, because after enter the account may belong to another
// batch.
func (b *account) answered(err error) {
	b.err = err
	answers := b.answers
	b.enter()
	answers.put(err)
}

// enter counts the batch when both facts are known, and returns the account to the pool. Two goroutines call it, and
// the atomic counter decides which of them comes second.
func (b *account) enter() {
	if b.parts.Add(1) < 2 {
		return
	}
	if b.err == nil {
		b.server.stats.enter(b.topology, b.received, b.rejected, b.duplicate, b.server.o.Now().Sub(b.arrived))
	}
	again := &b.server.accounts
	b.parts.Store(0)
	b.server, b.answers, b.rejected, b.err, b.duplicate = nil, nil, nil, nil, false
	again.Put(b)
}

// sayFull asks the sender to resend from a batch on, unless it was already asked to resend from an older one.
func (s *stream) sayFull(sequence uint64, reason error) {
	s.server.stats.full.Inc()
	if s.window.refuse(sequence) {
		s.full = append(s.full, &pb.Full{Epoch: s.epoch, Sequence: sequence, RetryAfterMs: retryAfterMs(reason)})
		s.answers.notify()
	}
}

// retryAfterMs returns how long a sender should wait before it sends a refused batch again, in ms. It is never 0,
// because a sender would then retry in a tight loop.
func retryAfterMs(err error) uint32 {
	var full *journal.FullError
	var beyond *rateError
	switch {
	case errors.As(err, &full):
		return uint32(max(full.RetryAfter.Milliseconds(), 1))
	case errors.As(err, &beyond):
		return uint32(max(beyond.wait.Milliseconds(), 1))
	}
	return 1000
}

// answer sends what the journal has answered since the last call, in as few messages as possible. One acknowledgement
// covers all batches up to its sequence.
func (s *stream) answer() error {
	full, acknowledgement, err := s.land()
	if err != nil {
		return err
	}
	for _, f := range full {
		if err := s.grpc.Send(&pb.ExportResponse{Message: &pb.ExportResponse_Full{Full: f}}); err != nil {
			return err
		}
	}
	if acknowledgement == nil {
		return nil
	}
	acknowledgement.SentTimeMs = s.server.o.Now().UnixMilli()
	return s.grpc.Send(&pb.ExportResponse{
		Message: &pb.ExportResponse_Acknowledgement{Acknowledgement: acknowledgement}})
}

// land applies the journal's answers to the window, and returns the messages to send.
func (s *stream) land() (full []*pb.Full, acknowledgement *pb.Acknowledgement, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.answers.take() {
		if errors.Is(err, journal.ErrClosed) {
			return nil, nil, errClosing
		}
		if sequence, notify := s.window.land(err == nil); notify {
			s.server.stats.full.Inc()
			s.full = append(s.full, &pb.Full{Epoch: s.epoch, Sequence: sequence, RetryAfterMs: retryAfterMs(err)})
		}
	}
	signal(s.freed)
	full, s.full = s.full, nil
	if sequence, rejections, ok := s.window.acknowledgement(); ok {
		acknowledgement = &pb.Acknowledgement{Epoch: s.epoch, Sequence: sequence, Rejections: rejections}
	}
	return full, acknowledgement, nil
}
