// Package sender delivers a program's own samples to a collector over its gRPC ingest, as the plugin does from a
// worker. It has a bounded queue and one goroutine (Run), and sends one batch at a time until it is acknowledged.
// Because the collector deduplicates batches, sending a batch twice is harmless.
//
// The package does not know the meaning of the samples. It never blocks the program that it measures: if the collector
// cannot be reached, the oldest batches are dropped and counted. Start with Sender.Offer and Sender.Run.
//
// Stream is the lower-level client: it sends the batches that its caller chooses.
package sender

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Sender queues and delivers samples. Offer, Close, Flush and Figures are safe for concurrent use; one goroutine calls
// Run. The epoch is chosen once per sender, so that a batch keeps its identity when it is sent again on a new stream.
type Sender struct {
	options Options
	epoch   []byte

	mu       sync.Mutex
	ids      map[Series]uint32
	series   []*pb.SeriesDefinition // index is id-1
	layouts  Layouts
	queue    []queued // oldest first
	sequence uint64   // of the newest batch
	figures  Figures
	arrived  chan struct{} // signals that a batch was queued
	drained  chan struct{} // closed and replaced when the queue becomes empty
}

// Figures counts samples by outcome: Offered = Acknowledged + Rejected + Dropped + samples in the queue. Every loss
// has a counter, so that a gap in a graph can be explained.
type Figures struct {
	Offered, Acknowledged uint64
	// Rejected counts samples that the collector refused. LastRejection is an example.
	Rejected      uint64
	LastRejection string
	// Dropped counts samples that were dropped from the queue. Expired counts those among them that were too old.
	Dropped, Expired uint64
	// Connections counts streams that the collector accepted. LastError is why there is no stream now, or "" if there
	// is one.
	Connections uint64
	LastError   string
}

// New returns a sender. It connects when Run is called.
func New(o Options) (*Sender, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Sender{options: o, epoch: make([]byte, 16), ids: map[Series]uint32{}, layouts: Layouts{Max: maxLayouts},
		arrived: make(chan struct{}, 1), drained: make(chan struct{})}
	_, _ = rand.Read(s.epoch) // never fails: crypto/rand
	return s, nil
}

// Offer queues samples as one batch. It never blocks. If the queue is full, the oldest batch is dropped and counted,
// because the newest samples matter most to somebody who looks at the page.
func (s *Sender) Offer(samples []Sample) {
	if len(samples) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(s.fill(samples), uint64(len(samples)))
}

// Close queues a last batch, which announces the regular end of the sender. Without it the collector would report the
// sender as missing. Flush waits until the collector has the batch. Offer must not be called after Close.
func (s *Sender) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.fill(nil)
	last.Closing = true
	s.enqueue(last, 0)
}

// enqueue adds a batch to the queue, and drops the oldest one if the queue is full. The sequences of queued batches are
// consecutive, so they show which batch is one too many. The caller must hold mu.
func (s *Sender) enqueue(b *pb.Batch, samples uint64) {
	s.sequence++
	b.Epoch, b.Sequence = s.epoch, s.sequence
	s.figures.Offered += samples
	s.queue = append(s.queue, queued{b, time.Now()})
	s.figures.Dropped += s.remove(func(h queued) bool {
		return h.batch.Sequence+uint64(s.options.QueueBatches) <= s.sequence
	})
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// remove removes batches from the oldest one on, as long as which reports true, and returns the number of their
// samples. The caller must hold mu.
func (s *Sender) remove(which func(queued) bool) (samples uint64) {
	n := 0
	for ; n < len(s.queue) && which(s.queue[n]); n++ {
		samples += s.queue[n].samples()
	}
	s.queue = slices.Delete(s.queue, 0, n)
	if n > 0 && len(s.queue) == 0 {
		close(s.drained)
		s.drained = make(chan struct{})
	}
	return samples
}

// expire drops batches that are older than Options.Expiry. After some time the collector forgets which batches it has,
// so that an older batch could be stored twice. The caller must hold mu.
func (s *Sender) expire(now time.Time) {
	expired := s.remove(func(h queued) bool { return now.Sub(h.made) > s.options.Expiry })
	s.figures.Expired += expired
	s.figures.Dropped += expired
}

// streamKnows is the number of definitions that a stream has received. Definitions are valid for one stream only, so
// that a new stream starts from zero and receives them again.
type streamKnows struct {
	blocks          bool
	series, layouts int
}

// next returns the oldest batch, with the definitions that the stream does not have yet, or nil if the queue is empty.
// The batch stays in the queue until it is acknowledged.
func (s *Sender) next(t streamKnows) *pb.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	if len(s.queue) == 0 {
		return nil
	}
	b := s.queue[0].batch
	if t.blocks {
		b = s.layouts.inBlocks(b)
		b.Layouts = s.layouts.List[t.layouts:]
	}
	b.SendTimeMs = time.Now().UnixMilli()
	b.Series = s.series[t.series:]
	b.Drops = s.drops()
	return b
}

// drops returns the losses in this sender's queue as totals. They are sent with every batch, so that the loss of one
// report does not matter.
func (s *Sender) drops() (drops []*pb.Drop) {
	if full := s.figures.Dropped - s.figures.Expired; full > 0 {
		drops = append(drops, &pb.Drop{Reason: pb.DropReason_DROP_REASON_QUEUE_FULL, TotalSamples: full})
	}
	if s.figures.Expired > 0 {
		drops = append(drops, &pb.Drop{Reason: pb.DropReason_DROP_REASON_EXPIRED, TotalSamples: s.figures.Expired})
	}
	return drops
}

// answered removes acknowledged batches from the queue. A batch may already be missing, if it was dropped while it was
// in flight.
func (s *Sender) answered(response *pb.ExportResponse) {
	a := response.GetAcknowledgement()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.Acknowledged += s.remove(func(h queued) bool { return h.batch.Sequence <= a.GetSequence() })
	for _, r := range a.GetRejections() {
		s.figures.Rejected += r.GetSamples()
		s.figures.Acknowledged -= min(s.figures.Acknowledged, r.GetSamples())
		s.figures.LastRejection = fmt.Sprintf("%s: %s", r.GetReason(), r.GetExample())
	}
}

// Figures returns the current counts.
func (s *Sender) Figures() Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.figures
}

func (s *Sender) note(change func(*Figures)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.figures)
}

// Flush waits until every offered batch is acknowledged or dropped, or until ctx ends. Run must be running.
func (s *Sender) Flush(ctx context.Context) error {
	s.mu.Lock()
	waiting, drained, why := len(s.queue), s.drained, s.figures.LastError
	s.mu.Unlock()
	if waiting == 0 {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d batches were not delivered to the collector at %s (%s): %w", waiting, s.options.Address,
			why, ctx.Err())
	}
}

// Run connects and delivers until ctx ends. After a failure it reconnects after a pause that doubles each time; it
// starts again with MinBackoff once a stream was accepted. It returns an error only if the files of the TLS settings
// cannot be used.
func (s *Sender) Run(ctx context.Context) error {
	transport, err := s.options.TLS.Credentials()
	if err != nil {
		return err
	}
	for backoff := s.options.MinBackoff; ctx.Err() == nil; backoff = min(2*backoff, s.options.MaxBackoff) {
		before := s.Figures().Connections
		err := s.deliver(ctx, grpc.WithTransportCredentials(transport))
		s.note(func(f *Figures) { f.LastError = err.Error() })
		if s.Figures().Connections > before {
			backoff = s.options.MinBackoff
		}
		pause(ctx, backoff)
	}
	return nil
}

// deliver opens a stream and sends batches until it ends, and returns the reason. It sends each batch after the
// previous one is durable. More batches in flight would be faster, but a program has only few samples.
func (s *Sender) deliver(ctx context.Context, transport grpc.DialOption) error {
	stream, err := Dial(ctx, s.options.Address, s.options.TokenFile, &pb.Open{Topology: s.options.Topology,
		Host: s.options.Host, Task: -1, PluginVersion: s.options.Version}, s.answered, transport)
	if err != nil {
		return err
	}
	defer stream.Close()
	s.note(func(f *Figures) { f.Connections++; f.LastError = "" })
	for t := (streamKnows{blocks: stream.Opened.GetTakesBlocks()}); ; {
		batch := s.next(t)
		if batch == nil {
			select {
			case <-s.arrived:
				continue
			case <-stream.ended:
				return stream.failure
			}
		}
		if err := stream.Send(batch); err != nil {
			return err
		}
		t.series, t.layouts = t.series+len(batch.Series), t.layouts+len(batch.Layouts)
		limited, cancel := context.WithTimeoutCause(ctx, answerLimit, errSilent)
		_, err := stream.Await(limited, 0) // a refused batch is still in the queue
		cancel()
		if err != nil {
			return err
		}
	}
}
