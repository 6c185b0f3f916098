package chaos

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Heartbeat is a good client at a steady rate, whatever the answers: it knows how long each batch took to be
// acknowledged, from when it was to be sent. It begins before a fault does, and does not end for it.
type Heartbeat struct {
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	due     map[uint64]time.Time
	took    []time.Duration
	failure error
}

const heartbeatEvery = 20 * time.Millisecond

// StartHeartbeat connects from an address of this host; "" for the system's choice.
func StartHeartbeat(ctx context.Context, address, from string) (*Heartbeat, error) {
	dialer := net.Dialer{}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", to)
		}))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := openStream(ctx, connection, "pulse")
	if err != nil {
		cancel()
		return nil, errors.Join(err, connection.Close())
	}
	p := &Heartbeat{cancel: cancel, ended: make(chan struct{}), due: map[uint64]time.Time{}}
	var both sync.WaitGroup
	both.Go(func() { p.fail(p.send(ctx, stream)) })
	both.Go(func() { p.fail(p.receive(stream)) })
	go func() {
		both.Wait()
		_ = connection.Close()
		close(p.ended)
	}()
	return p, nil
}

// openStream is a stream that the collector has opened for a topology.
func openStream(ctx context.Context, connection *grpc.ClientConn, topology string) (
	pb.IngestService_ExportClient, error) {
	stream, err := pb.NewIngestServiceClient(connection).Export(ctx)
	if err != nil {
		return nil, err
	}
	open := &pb.Open{Topology: topology, TopologyId: topology + "-1-1", Host: topology, Port: 6700, Task: 1,
		PluginVersion: "chaos"}
	_ = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}}) // its error is Recv's
	answer, err := stream.Recv()
	if err == nil && answer.GetOpened() == nil {
		err = fmt.Errorf("the collector answered Open with %T", answer.GetMessage())
	}
	return stream, err
}

func (p *Heartbeat) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == nil {
		p.failure = err
	}
}

func (p *Heartbeat) send(ctx context.Context, stream pb.IngestService_ExportClient) error {
	epoch := make([]byte, 16)
	_, _ = rand.Read(epoch)
	due := time.Now()
	for sequence := uint64(1); ; sequence++ {
		due = due.Add(heartbeatEvery)
		if wait(ctx, time.Until(due)) != nil {
			return nil
		}
		b := &pb.Batch{Epoch: epoch, Sequence: sequence, OldestHeldSequence: 1, SendTimeMs: due.UnixMilli(),
			Samples: &pb.SampleColumns{BaseTimeMs: due.UnixMilli(), SeriesIds: []uint32{1}, TimeOffsetsMs: []int64{0},
				Values: []float64{float64(sequence)}}}
		if sequence == 1 {
			b.Series = []*pb.SeriesDefinition{{Id: 1, Host: "pulse", Port: 6700, Component: component, Task: 1,
				Name: "pulse", Temporality: pb.Temporality_TEMPORALITY_GAUGE, Shape: pb.Shape_SHAPE_NUMBER}}
		}
		p.mu.Lock()
		p.due[sequence] = due
		p.mu.Unlock()
		if err := stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}); err != nil {
			return nil //nolint:nilerr // its error is Recv's
		}
	}
}

func (p *Heartbeat) receive(stream pb.IngestService_ExportClient) error {
	acknowledged := uint64(0)
	for {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		now := time.Now()
		p.mu.Lock()
		for ; acknowledged < answer.GetAcknowledgement().GetSequence(); acknowledged++ {
			p.took = append(p.took, now.Sub(p.due[acknowledged+1]))
			delete(p.due, acknowledged+1)
		}
		p.mu.Unlock()
	}
}

// Forget begins a measurement.
func (p *Heartbeat) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took = nil
}

// P99 is the 99th percentile since Forget; what is still under way counts with what it took so far. It returns an error
// where the good client was cut off.
func (p *Heartbeat) P99() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		return 0, fmt.Errorf("the good client was cut off: %w", p.failure)
	}
	took := slices.Clone(p.took)
	for _, due := range p.due {
		took = append(took, time.Since(due))
	}
	if len(took) == 0 {
		return 0, errors.New("the good client sent nothing")
	}
	slices.Sort(took)
	return took[len(took)*99/100], nil
}

// Stop ends it.
func (p *Heartbeat) Stop() {
	p.cancel()
	<-p.ended
}

// Beat is a good client of a collector, and one of a second collector on the same machine that nothing is done to: what
// the machine's other work costs, the attack's own among it, both feel.
type Beat struct {
	tried, control *Heartbeat
	beside         *Collector
}

// StartBeat starts the second collector, and both clients.
func (g *Ground) StartBeat(ctx context.Context, c *Collector) (*Beat, error) {
	beside, err := g.Start(ctx, Settings{DataDir: filepath.Join(g.Dir, "control")})
	if err != nil {
		return nil, err
	}
	b := &Beat{beside: beside}
	if b.control, err = StartHeartbeat(ctx, beside.GRPC(), ""); err == nil {
		b.tried, err = StartHeartbeat(ctx, c.GRPC(), "")
	}
	if err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

// Stop ends all of it; it may be called twice.
func (b *Beat) Stop() {
	for _, p := range []*Heartbeat{b.tried, b.control} {
		if p != nil {
			p.Stop()
		}
	}
	b.beside.Kill()
	_ = os.RemoveAll(b.beside.DataDir())
}

// A good client's p99 during a fault may be twice what it is without: before it, or at the same time beside it,
// whichever is more. Differences below that of one write to a disk that others use too are none.
const (
	mostSlower  = 2
	oneDiskWait = 25 * time.Millisecond
)

// Compare measures without the fault, and then with it, and holds the two together.
func (b *Beat) Compare(ctx context.Context, o *Outcome, what string, baseline time.Duration, fault func() error) error {
	during, usual, err := b.Measure(ctx, o, what, baseline, fault)
	if err == nil && during > mostSlower*usual && during > usual+oneDiskWait {
		o.Broken = append(o.Broken, fmt.Sprintf("a good client's p99 was %.1f ms during %s, at most %d times %.1f ms",
			milliseconds(during), what, mostSlower, milliseconds(usual)))
	}
	return err
}

// Measure is Compare that holds a good client to nothing but not to be cut off.
func (b *Beat) Measure(ctx context.Context, o *Outcome, what string, baseline time.Duration, fault func() error) (
	during, usual time.Duration, err error) {
	b.tried.Forget()
	if err := wait(ctx, baseline); err != nil {
		return 0, 0, err
	}
	before, err := b.tried.P99()
	if err != nil {
		return 0, 0, err
	}
	b.tried.Forget()
	b.control.Forget()
	if err := fault(); err != nil {
		return 0, 0, err
	}
	beside, err := b.control.P99()
	if err != nil {
		return 0, 0, fmt.Errorf("of the collector that nothing is done to: %w", err)
	}
	if during, err = b.tried.P99(); err != nil {
		o.Broken = append(o.Broken, err.Error())
		return 0, 0, nil
	}
	o.Measured = append(o.Measured,
		fmt.Sprintf("a good client's p99 %.1f ms during %s; %.1f ms before it, %.1f ms at the same time of a collector that it is not done to",
			milliseconds(during), what, milliseconds(before), milliseconds(beside)))
	return during, max(before, beside), nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
