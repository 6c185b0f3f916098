package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// maxLocalWait is how long a sender of the collector's own process waits for a journal that takes nothing.
const maxLocalWait = time.Minute

// Local is a sender in the collector's own process: the same door, limits and books as a stream's, without a wire. It is for one
// goroutine.
type Local struct {
	server   *Server
	producer journal.ProducerID
	table    *table
	epoch    journal.Epoch
	sequence uint64
}

// Local opens a sender of that epoch.
func (s *Server) Local(open *pb.Open, epoch journal.Epoch) (*Local, error) {
	if err := checkOpen(open); err != nil {
		return nil, err
	}
	id, err := s.connect(open)
	if err != nil {
		return nil, fmt.Errorf("connect: %s", status.Convert(err).Message())
	}
	l := &Local{server: s, producer: id, epoch: epoch}
	l.table = newTable(open.GetTopology(), s.o.MaxStreamSeries, func(r metric.Raw) (journal.SeriesID, error) { return s.define(r) })
	return l, nil
}

// Send takes a batch, whose epoch and sequence it sets, and returns when it is durable. rejected is what the door turned away.
// Where the journal takes nothing it waits, for a minute at most.
func (l *Local) Send(ctx context.Context, b *pb.Batch) (rejected []*pb.Rejection, err error) {
	l.sequence++
	b.Epoch, b.Sequence, b.OldestHeldSequence = l.epoch[:], l.sequence, l.sequence
	if err := errors.Join(checkBatch(b), l.table.add(b.GetSeries())); err != nil {
		return nil, err
	}
	now := l.server.o.Now()
	l.server.producers.sent(l.producer, b.GetSendTimeMs(), now)
	a := admit(b, l.table, l.server.clock.allowed(now), now)
	a.batch.Producer = l.producer
	ctx, cancel := context.WithTimeout(ctx, maxLocalWait)
	defer cancel()
	for {
		err := l.hand(a, now)
		if err == nil {
			return a.rejected.messages(l.sequence), nil
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

// hand gives an admitted batch to the journal and waits for the disk.
func (l *Local) hand(a *admitted, arrived time.Time) error {
	b := &booking{admitted: a, server: l.server, arrived: arrived}
	answer := make(chan error, 1)
	duplicate, err := l.server.journal.Append(&a.batch, func(err error) {
		b.answered(err)
		answer <- err
	})
	if err != nil {
		return err
	}
	b.handed(duplicate)
	return <-answer
}

// Close ends the sender.
func (l *Local) Close() { l.server.disconnect(l.producer) }

// ReasonName is a reason for which the door turns samples away, as the figures have it, such as "not_a_number".
func ReasonName(reason pb.RejectionReason) string { return reasonLabel(reason) }
