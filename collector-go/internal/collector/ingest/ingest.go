// Package ingest receives batches of samples from senders over gRPC. It enforces limits, admits or rejects each sample,
// and appends the admitted samples to the journal. A batch is acknowledged only after the journal has made it durable.
//
// The package owns the streams, the limits, the identity of callers and the accounting of samples. It knows the wire
// format, but not what a metric means. It holds no data that could be lost: the sender keeps a batch until the
// acknowledgement, and from then on the journal has it.
//
// Each stream has two goroutines. One receives and admits batches. The other, the gRPC handler, sends the journal's
// answers. Answers arrive on the journal's goroutine, which must never block, so they pass through a list (answers).
//
// A batch passes these files in order: incoming.go and bounds.go (decode within bounds), stream.go (order and flow
// control), admit.go and blocks.go (which samples are good), then journal.Append. Start reading with stream.go. The
// rules of the protocol are in proto/bulletmetrics/v1/service.proto.
package ingest

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// Journal is the part of journal.Journal that ingest needs. The methods are documented there. Tests and simulations
// replace it. It must be safe for concurrent use.
//
// Append takes ownership of the batch: neither it nor what it refers to may be changed afterwards. The callbacks are
// called in the order of the calls. If a batch fails, everything that was queued after it fails too. The window of a
// stream relies on both rules.
type Journal interface {
	SeriesOf(topology string) int
	DefineAll(to []journal.SeriesID, series []metric.Raw, mostNew int) []journal.SeriesID
	DefineLayout([]journal.SeriesID) (journal.LayoutID, error)
	FreeSeries() int
	ForgetIdle(topology string) (series int)
	DefineProducer(journal.ProducerDefined) (journal.ProducerID, error)
	Append(b *journal.Batch, done func(error)) (duplicate bool, err error)
	AppendControl(journal.Entry) error
	LastSequence(topology string, epoch journal.Epoch) (sequence uint64, known bool)
}

// Server is the gRPC service. It holds what streams share: the journal, the limits, the accounting and the connected
// producers. It is safe for concurrent use.
type Server struct {
	pb.UnimplementedIngestServiceServer

	journal        Journal
	o              Options
	log            *slog.Logger
	stats          *stats
	clock          *clock
	producers      *producers
	rates          *rates
	transferOwners transferOwners
	arriving       sync.Mutex
	connections    *quota.Slots
	complain       complaints
	accounts       sync.Pool // of *account

	defining sync.Mutex    // makes checking a limit and defining series atomic
	idle     looks         // protected by defining
	closing  chan struct{} // closed when streams must end
	once     sync.Once
}

// New returns a service that appends to j. It starts no goroutine; Serve does. It fails if an option is out of range.
func New(j Journal, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.MaxStreamSeries <= 0 {
		o.MaxStreamSeries = o.MaxTopologySeries
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	connections := quota.New(o.MaxConnections)
	s := &Server{journal: j, o: o, log: o.Logger, connections: connections,
		stats: newStats(o.Registerer, connections), closing: make(chan struct{}), idle: looks{}}
	s.rates = newRates(o.MaxTopologySamplesPerSecond)
	s.clock = &clock{start: o.Now(), ahead: o.MaxAhead, maxAge: o.MaxAge}
	s.producers = &producers{journal: j, stats: s.stats, now: o.Now, slots: quota.New(o.MaxStreams),
		online: map[journal.ProducerID]*producer{}}
	return s, nil
}

// Totals returns the counts of samples by outcome since the start, as one consistent reading.
func (s *Server) Totals() Totals { return s.stats.snapshot() }

// Shutdown ends every stream with UNAVAILABLE after its batches are acknowledged, so that senders resend nothing. Serve
// calls it when its context ends. It does not wait, and may be called twice.
func (s *Server) Shutdown() { s.once.Do(func() { close(s.closing) }) }

// Export implements the service: it serves the stream of one sender until either side ends it. A violation of the
// protocol is logged at a limited rate, because a broken sender may reconnect in a loop.
func (s *Server) Export(g grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]) error {
	err := s.export(g)
	code := status.Code(err)
	s.stats.streamEnds.WithLabelValues(code.String()).Inc()
	if code == codes.InvalidArgument || code == codes.Internal {
		if unsaid, ok := s.complain.mayComplain(s.o.Now()); ok {
			s.log.Warn("closed a stream that violated the protocol", "err", err, "unsaid", unsaid)
		}
	}
	return err
}

// export checks the caller, takes a stream slot, connects the producer and runs the stream. Each step is undone in
// reverse order, so that a stream that fails half-way leaves nothing behind.
func (s *Server) export(g grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]) error {
	entry, err := s.newEntry(g.Context())
	if err != nil {
		return err
	}
	open, err := s.awaitOpen(g)
	if err != nil {
		return err
	}
	if err := entry.narrow(open.GetTopology()); err != nil {
		return err
	}
	release, err := s.producers.slots.Take(entry.keys(open.GetTopology())...)
	if err != nil {
		s.note(entry.peer.Address, err)
		return refuse(time.Second, "the collector accepts no more streams (limits.streams): %v", err)
	}
	defer release()
	p, err := s.connect(open)
	if err != nil {
		return err
	}
	defer s.disconnect(p)
	of := newStream(s, g, p, open.GetTopology(), entry)
	if err := of.beginTransfer(open); err != nil {
		return err
	}
	defer of.endTransfer()
	return of.run()
}

// awaitOpen waits for the first message of a stream. The time limit keeps a client that says nothing from holding a
// stream. The goroutine ends after the handler has returned, because gRPC then ends RecvMsg.
func (s *Server) awaitOpen(g grpc.ServerStream) (*pb.Open, error) {
	timer := time.NewTimer(s.o.OpenTimeout)
	defer timer.Stop()
	type first struct {
		in  *incoming
		err error
	}
	came := make(chan first, 1)
	go func() {
		in := &incoming{}
		err := in.receive(g)
		came <- first{in, err}
	}()
	select {
	case m := <-came:
		if m.err != nil {
			return nil, m.err
		}
		if m.in.request.GetOpen() == nil {
			return nil, status.Error(codes.InvalidArgument,
				"the first request of a stream must be a valid Open message")
		}
		if err := checkOpen(m.in.request.GetOpen()); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		return m.in.request.GetOpen(), nil
	case <-timer.C:
		return nil, status.Errorf(codes.InvalidArgument, "no Open message arrived within %v", s.o.OpenTimeout)
	case <-s.closing:
		return nil, errClosing
	case <-g.Context().Done():
		return nil, status.FromContextError(g.Context().Err()).Err()
	}
}

// errClosing is the status with which streams end when the collector shuts down.
var errClosing = status.Error(codes.Unavailable, "the collector is shutting down; resend batches that were not acknowledged")

// connect records in the journal that a producer opened a stream. disconnect must follow, or the producer would look
// connected until the next start.
func (s *Server) connect(open *pb.Open) (*producer, error) {
	p, err := s.producers.connect(journal.ProducerDefined{Topology: open.GetTopology(),
		TopologyID: open.GetTopologyId(), Host: open.GetHost(), Port: open.GetPort(), Task: open.GetTask()})
	switch {
	case errors.Is(err, journal.ErrClosed):
		return nil, errClosing
	case errors.Is(err, journal.ErrFull), errors.Is(err, journal.ErrProducerLimit):
		return nil, refuse(5*time.Second, "%v", err)
	case err != nil:
		return nil, status.Error(codes.Internal, err.Error())
	}
	return p, nil
}

func (s *Server) disconnect(p *producer) {
	if err := s.producers.disconnect(p); err != nil && !errors.Is(err, journal.ErrClosed) {
		s.log.Warn("failed to record the end of a stream in the journal", "producer", p.name(), "err", err)
	}
}

// refuse returns a RESOURCE_EXHAUSTED status that contains the delay after which the sender should retry.
func refuse(retry time.Duration, format string, args ...any) error {
	st := status.Newf(codes.ResourceExhausted, format, args...)
	if detailed, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retry)}); err == nil {
		st = detailed
	}
	return st.Err()
}

// define appends the journal's ids of series of one topology, within the limits. The id is 0 for a series beyond a
// limit, and the error then names the limit. Checking the limit and defining the series is one critical section.
// Otherwise two streams could both take the last free series.
func (s *Server) define(to []journal.SeriesID, series []metric.Raw) (_ []journal.SeriesID, err error) {
	if len(series) == 0 {
		return to, nil
	}
	topology, first := series[0].Topology, len(to)
	s.defining.Lock()
	defer s.defining.Unlock()
	to = s.journal.DefineAll(to, series, s.mayDefine(topology))
	for i := range series {
		if to[first+i] != 0 {
			continue
		}
		if err = s.ensureCapacity(topology); err != nil {
			return to, err // a series after this one may already be known and have an id
		}
		rest := s.journal.DefineAll(nil, series[i:], s.mayDefine(topology))
		to = append(to[:first+i], rest...)
		if rest[0] == 0 {
			return to, journal.ErrSeriesLimit
		}
	}
	return to, nil
}

// Bounds of the layouts of one stream. They allow each series in a few layouts, and a few dozen layouts per worker.
const (
	maxStreamLayouts       = 1 << 16
	maxStreamLayoutColumns = 4 << 20
)

func (s *Server) tableLimits() tableLimits {
	return tableLimits{series: s.o.MaxStreamSeries, layouts: maxStreamLayouts, layoutColumns: maxStreamLayoutColumns}
}

// complaints limits the rate of warnings about bad streams, and counts the warnings that were not logged.
type complaints struct {
	mu     sync.Mutex
	last   time.Time
	unsaid int
}

const complainEvery = 10 * time.Second

// mayComplain reports whether a warning may be logged now. unsaid is the number of warnings that were suppressed.
func (c *complaints) mayComplain(now time.Time) (unsaid int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && now.Sub(c.last) < complainEvery {
		c.unsaid++
		return 0, false
	}
	unsaid, c.unsaid, c.last = c.unsaid, 0, now
	return unsaid, true
}
