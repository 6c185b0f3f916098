package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// fleet is the streams over which a load is sent, the hosts spread over them in turns.
type fleet struct {
	wire       string
	streams    []*stream
	intervalMs uint32
	perMessage int // hosts in a message
}

// stream is one sender.
type stream struct {
	wire     string
	hosts    []int
	client   pb.IngestService_ExportClient
	conn     *grpc.ClientConn
	epoch    [16]byte
	sequence uint64

	mu           sync.Mutex
	moved        sync.Cond
	acknowledged uint64
	window       uint64
	rejected     uint64
	example      string
	failure      error
	received     chan struct{}
}

// connect opens the streams of a fleet; the host of a load is a worker.
func connect(ctx context.Context, address string, l *load, streams, perMessage int, wire string) (*fleet, error) {
	f := &fleet{wire: wire, intervalMs: uint32(l.stepMs), perMessage: perMessage}
	for i := range streams {
		s := &stream{wire: wire, received: make(chan struct{})}
		s.moved.L = &s.mu
		binary.BigEndian.PutUint64(s.epoch[:], uint64(i)+1)
		binary.BigEndian.PutUint64(s.epoch[8:], uint64(l.startMs))
		for h := i; h < l.hosts; h += streams {
			s.hosts = append(s.hosts, h)
		}
		var err error
		if s.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), from(i)); err != nil {
			return nil, err
		}
		if s.client, err = pb.NewIngestServiceClient(s.conn).Export(ctx); err != nil {
			return nil, err
		}
		open := &pb.Open{Topology: "bench", TopologyId: "bench-1-1", Host: "sender", Port: uint32(6700 + i)}
		if err := s.client.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}}); err != nil {
			return nil, err
		}
		answer, err := s.client.Recv()
		if err != nil {
			return nil, err
		}
		s.window = min(uint64(answer.GetOpened().GetWindow()), uint64(max(4096/streams, 4))) // many at once would be told that the collector is full
		if wire == "blocks" && !answer.GetOpened().GetTakesBlocks() {
			return nil, errors.New("this collector takes no blocks: give --wire columns")
		}
		go s.receive()
		f.streams = append(f.streams, s)
	}
	return f, nil
}

// from lets a stream come from an address of its own, as a worker does: an address has but its share of the connections.
func from(stream int) grpc.DialOption {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+stream/250), byte(1+stream%250))}}
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp4", address)
	})
}

func (s *stream) receive() {
	defer close(s.received)
	for {
		answer, err := s.client.Recv()
		s.mu.Lock()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			s.failure = err
		case answer.GetFull() != nil:
			s.failure = fmt.Errorf("the collector said full at %d", answer.GetFull().GetSequence())
		case err == nil:
			s.acknowledged = answer.GetAcknowledgement().GetSequence()
			for _, r := range answer.GetAcknowledgement().GetRejections() {
				s.rejected += r.GetSamples()
				s.example = r.GetReason().String() + ": " + r.GetExample()
			}
		}
		s.moved.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// send sends a batch, once the window allows it.
func (s *stream) send(b *pb.Batch) error {
	s.mu.Lock()
	for s.failure == nil && s.sequence-s.acknowledged >= s.window {
		s.moved.Wait()
	}
	oldest, failure := s.acknowledged+1, s.failure
	s.mu.Unlock()
	if failure != nil {
		return failure
	}
	s.sequence++
	b.Epoch, b.Sequence, b.OldestHeldSequence = s.epoch[:], s.sequence, min(oldest, s.sequence)
	return s.client.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}})
}

// close waits until all is acknowledged.
func (f *fleet) close() error {
	for _, s := range f.streams {
		if err := s.client.CloseSend(); err != nil {
			return err
		}
	}
	for _, s := range f.streams {
		<-s.received
		if s.failure != nil {
			return s.failure
		}
		if s.acknowledged != s.sequence {
			return fmt.Errorf("%d of %d batches were acknowledged", s.acknowledged, s.sequence)
		}
		if s.rejected > 0 {
			return fmt.Errorf("%d samples were rejected: %s", s.rejected, s.example)
		}
		_ = s.conn.Close()
	}
	return nil
}

// define names every series, and for blocks a layout a message.
func (f *fleet) define(l *load) error {
	for _, s := range f.streams {
		for m := 0; m*f.perMessage < len(s.hosts); m++ {
			hosts := s.hosts[m*f.perMessage : min((m+1)*f.perMessage, len(s.hosts))]
			for part := range (len(hosts) + 999) / 1000 {
				b := &pb.Batch{}
				for i, h := range hosts[part*1000 : min((part+1)*1000, len(hosts))] {
					for metric := range l.metrics {
						b.Series = append(b.Series, &pb.SeriesDefinition{Id: s.id(l, m*f.perMessage+part*1000+i, metric), Host: fmt.Sprintf("host_%d", h), Port: 6700,
							Component: "__system", Task: -1, Name: fieldName(metric), IntervalMs: f.intervalMs,
							Temporality: pb.Temporality_TEMPORALITY_GAUGE, Shape: pb.Shape_SHAPE_NUMBER})
					}
				}
				if err := s.send(b); err != nil {
					return err
				}
			}
			if f.wire == "blocks" {
				layout := &pb.Layout{Id: uint32(m) + 1}
				for i := range hosts {
					for metric := range l.metrics {
						layout.SeriesIds = append(layout.SeriesIds, s.id(l, m*f.perMessage+i, metric))
					}
				}
				if err := s.send(&pb.Batch{Layouts: []*pb.Layout{layout}}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *stream) id(l *load, place, metric int) uint32 { return uint32(place*l.metrics+metric) + 1 }

func fieldName(metric int) string {
	if metric < len(fields) {
		return "cpu." + fields[metric]
	}
	return fmt.Sprintf("cpu.field_%d", metric)
}

// sendSteps sends the next steps of a load.
func (f *fleet) sendSteps(l *load, steps int) error {
	for step := range steps {
		l.next()
		if err := f.sendStep(l, l.startMs+int64(step)*l.stepMs); err != nil {
			return err
		}
	}
	return nil
}

// sendStep sends the present values of all hosts.
func (f *fleet) sendStep(l *load, timeMs int64) error {
	for _, s := range f.streams {
		for m := 0; m*f.perMessage < len(s.hosts); m++ {
			if err := f.sendMessage(l, s, m, timeMs); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendMessage sends the present values of the hosts of one of a stream's messages.
func (f *fleet) sendMessage(l *load, s *stream, m int, timeMs int64) error {
	hosts := s.hosts[m*f.perMessage : min((m+1)*f.perMessage, len(s.hosts))]
	b := &pb.Batch{}
	if f.wire == "blocks" {
		values := make([]byte, 0, 8*len(hosts)*l.metrics)
		for _, h := range hosts {
			for _, v := range l.now[h*l.metrics : (h+1)*l.metrics] {
				values = binary.LittleEndian.AppendUint64(values, math.Float64bits(v))
			}
		}
		b.Blocks = []*pb.Block{{LayoutId: uint32(m) + 1, FirstTimeMs: timeMs, Count: 1, Codec: pb.ValueCodec_VALUE_CODEC_DOUBLES, Values: values}}
	} else {
		n := len(hosts) * l.metrics
		columns := &pb.SampleColumns{BaseTimeMs: timeMs, SeriesIds: make([]uint32, 0, n), TimeOffsetsMs: make([]int64, n), Values: make([]float64, 0, n)}
		for i, h := range hosts {
			for metric := range l.metrics {
				columns.SeriesIds = append(columns.SeriesIds, s.id(l, m*f.perMessage+i, metric))
			}
			columns.Values = append(columns.Values, l.now[h*l.metrics:(h+1)*l.metrics]...)
		}
		b.Samples = columns
	}
	return s.send(b)
}
