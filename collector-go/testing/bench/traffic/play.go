package traffic

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/peer"
)

// Load is how a recording is played.
type Load struct {
	// Copies is the number of topologies.
	Copies int
	// Begin is the time of the first batch.
	Begin time.Time
	// Paced sends each batch when it is due. Otherwise each copy sends as fast as its server takes it.
	Paced bool
}

// Stream is a connection to a server, for one copy.
type Stream interface {
	// Send sends a batch. It may return before the server has answered.
	Send(ctx context.Context, b *batch) error
	// Close waits until the server has answered everything.
	Close(ctx context.Context) error
}

// Play sends the copies of a recording, each over a stream of its own.
func (r *Recording) Play(ctx context.Context, l Load, open func(context.Context, *Copy) (Stream, error)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range r.copies(l.Copies, l.Begin) {
		group.Go(func() error {
			s, err := open(ctx, c)
			if err != nil {
				return err
			}
			for i := range r.batches {
				if l.Paced {
					select {
					case <-time.After(time.Until(c.begin.Add(r.batches[i].after))):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				if err := s.Send(ctx, &r.batches[i]); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			return s.Close(ctx)
		})
	}
	return group.Wait()
}

// ours sends batches as they were recorded.
type ours struct {
	*Copy
	stream   *sender.Stream
	window   int
	rejected uint64
	example  string
}

// ToOurs opens a stream to a collector at an address.
func ToOurs(address string) func(context.Context, *Copy) (Stream, error) {
	return func(ctx context.Context, c *Copy) (_ Stream, err error) {
		o := &ours{Copy: c}
		o.stream, err = sender.Dial(ctx, address, "", c.opened(), o.answered,
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		o.window = int(o.stream.Opened.GetWindow())
		return o, nil
	}
}

func (o *ours) answered(response *pb.ExportResponse) {
	for _, r := range response.GetAcknowledgement().GetRejections() {
		o.rejected += r.GetSamples()
		o.example = r.GetReason().String() + ": " + r.GetExample()
	}
}

// Send implements Stream.
func (o *ours) Send(ctx context.Context, b *batch) error {
	if err := o.stream.AwaitResending(ctx, o.window-1); err != nil {
		return err
	}
	return o.stream.Send(o.batch(b.Batch))
}

// Close implements Stream.
func (o *ours) Close(ctx context.Context) error {
	if err := o.stream.AwaitResending(ctx, 0); err != nil {
		return err
	}
	o.stream.Close()
	if o.rejected > 0 {
		return fmt.Errorf("%s: %d samples were rejected: %s", o.name, o.rejected, o.example)
	}
	return nil
}

// lines sends the rows of each batch in one request, in InfluxDB's line protocol.
type lines struct {
	*Copy
	url    string
	client *http.Client
	body   []byte
}

// ToLines opens a connection to a server that takes InfluxDB's line protocol at a URL. A row is a line, which is the
// cheapest form of several metrics with the same labels.
func ToLines(url string) func(context.Context, *Copy) (Stream, error) {
	return func(_ context.Context, c *Copy) (Stream, error) {
		return &lines{c, url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}, nil}, nil
	}
}

// Send implements Stream.
func (l *lines) Send(ctx context.Context, b *batch) error {
	if len(b.rows) == 0 {
		return nil
	}
	l.body = l.body[:0]
	for _, r := range b.rows {
		l.body = fmt.Appendf(l.body, "storm,topology=%s,host=%s%s ", l.name, escape.Replace(l.host(r.Host)), r.Tags)
		for i, v := range r.Values {
			if i > 0 {
				l.body = append(l.body, ',')
			}
			l.body = append(append(l.body, r.Metrics[i]...), '=')
			l.body = strconv.AppendFloat(l.body, v, 'g', -1, 64)
		}
		l.body = append(strconv.AppendInt(append(l.body, ' '), r.TimeMs+l.shiftMs(), 10), "000000\n"...)
	}
	return peer.Post(ctx, l.client, l.url, "text/plain", nil, l.body)
}

// Close implements Stream.
func (l *lines) Close(context.Context) error {
	l.client.CloseIdleConnections()
	return nil
}
