package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

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
