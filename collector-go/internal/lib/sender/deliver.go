package sender

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

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
