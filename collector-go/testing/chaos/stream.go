package chaos

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// sendingStream is a stream that the collector has opened.
type sendingStream struct {
	p      *Producer
	client pb.IngestService_ExportClient
	window uint64
	full   *pb.Full // the last that was not heeded yet
	broken bool     // the receiving half has ended
}

func (p *Producer) open(ctx context.Context, connection *grpc.ClientConn) (*sendingStream, error) {
	if p.options.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+p.options.Token)
	}
	client, err := pb.NewIngestServiceClient(connection).Export(ctx)
	if err != nil {
		return nil, err
	}
	open := &pb.Open{Topology: p.options.Topology, TopologyId: p.options.Topology + "-1-1", Host: p.options.Host,
		Port: 6700, Task: 1, PluginVersion: "chaos"}
	_ = client.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}}) // its error is Recv's
	answer, err := client.Recv()
	if err != nil {
		return nil, err
	}
	if answer.GetOpened() == nil {
		return nil, fmt.Errorf("the collector answered Open with %T", answer.GetMessage())
	}
	p.change(func() { p.tally.Streams++; p.failure = nil })
	return &sendingStream{p: p, client: client,
		window: max(1, min(uint64(answer.GetOpened().GetWindow()), p.options.Window))}, nil
}

// receive records the collector's answers, until the stream's end.
func (s *sendingStream) receive() error {
	for {
		answer, err := s.client.Recv()
		s.p.change(func() { s.note(answer, err) })
		if err != nil {
			return err
		}
	}
}

func (s *sendingStream) note(answer *pb.ExportResponse, err error) {
	p := s.p
	if s.broken = err != nil; s.broken {
		return
	}
	if full := answer.GetFull(); full != nil {
		p.tally.Fulls++
		s.full = full
		return
	}
	a := answer.GetAcknowledgement()
	now := time.Now()
	p.tally.LongestSilence = max(p.tally.LongestSilence, now.Sub(p.tally.heard))
	p.tally.heard = now
	p.acknowledged = max(p.acknowledged, a.GetSequence())
	p.finished = p.acknowledged > p.last
	for _, r := range a.GetRejections() {
		p.rejected[r.GetSequence()] += r.GetSamples()
		p.tally.Rejected += int64(r.GetSamples())
		p.tally.Example = r.GetReason().String() + ": " + r.GetExample()
	}
}

// send sends batches from the first that is not acknowledged, as the window has room.
func (s *sendingStream) send(ctx context.Context) error {
	p := s.p
	defined := false
	for next := p.firstHeld(); ; next++ {
		if err := s.awaitRoom(ctx, next); err != nil {
			return err
		}
		if retry := s.refused(&next); retry > 0 {
			if err := wait(ctx, retry); err != nil {
				return err
			}
		}
		if err := wait(ctx, time.Until(p.at(next))); err != nil { // what is ahead of the clock is refused
			return err
		}
		var held uint64
		var fresh, end bool
		// what a number stands for is settled with its sending: a producer may be finished at any moment
		p.change(func() {
			held, fresh, end = min(p.acknowledged+1, next), next > p.sent, next > p.last
			p.sent = max(p.sent, next)
		})
		batch := p.batch(next, end)
		batch.OldestHeldSequence = held
		if !defined {
			batch.Series, defined = p.definitions(), true
		}
		if err := s.client.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: batch}}); err != nil {
			return err
		}
		if fresh && p.options.Pause > 0 {
			if err := wait(ctx, p.options.Pause); err != nil {
				return err
			}
		}
	}
}

func (p *Producer) firstHeld() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acknowledged + 1
}

// awaitRoom waits until a batch may be sent: there is one, the window has room, or one before it was refused. While
// batches are under way an answer must come in time.
func (s *sendingStream) awaitRoom(ctx context.Context, next uint64) error {
	p := s.p
	for {
		p.mu.Lock()
		waiting, before := p.sent > p.acknowledged, p.acknowledged
		p.mu.Unlock()
		limited, cancel := context.WithTimeout(ctx, p.options.Answer)
		err := p.await(limited, func() bool {
			// the end follows when all before it is acknowledged
			made := next <= p.last || next == p.last+1 && p.acknowledged == p.last
			return s.broken || s.full != nil || made && next <= p.acknowledged+s.window
		})
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		p.mu.Lock()
		silent := waiting && p.acknowledged == before
		p.mu.Unlock()
		if silent {
			return fmt.Errorf("the collector did not respond for %s", p.options.Answer)
		}
	}
}

// refused goes back to what was refused, and returns when to try it again.
func (s *sendingStream) refused(next *uint64) (retry time.Duration) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.full == nil {
		return 0
	}
	*next = s.p.acknowledged + 1
	retry = max(time.Millisecond, time.Duration(s.full.GetRetryAfterMs())*time.Millisecond)
	s.full = nil
	return retry
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
