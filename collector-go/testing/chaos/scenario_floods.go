package chaos

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// floods is scenario 15: ten thousand connections, and a thousand streams on one. A try is a connection.
func floods() Scenario {
	return Scenario{Number: 15, Fault: "floods", Full: 10_000, Long: true, Try: playFloods}
}

const (
	floodMemory         = 256 << 20
	mostConnections     = 512 // of a port
	mostStreams         = 384
	streamsOfConnection = 16
)

func playFloods(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	c, err := g.Start(ctx, Settings{})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	ledger.Produce(ctx, c.GRPC(), ProducerOptions{Pause: 20 * time.Millisecond})
	beat, err := g.StartBeat(ctx, c)
	if err != nil {
		return o, err
	}
	defer beat.Stop()
	memory, err := c.startMemory()
	if err != nil {
		return o, err
	}
	watched := watchLimits(ctx, c)
	baseline := g.Duration(30*time.Second, 5*time.Second)
	if _, _, err := beat.Measure(ctx, &o, fmt.Sprintf("%d connections", tries), baseline,
		func() error { return flood(ctx, c, tries) }); err != nil {
		return o, err
	}
	streams := max(1, tries/10)
	opened := 0
	if _, _, err := beat.Measure(ctx, &o, fmt.Sprintf("%d streams on one connection", streams), baseline, func() error {
		opened, err = manyStreams(ctx, c, streams)
		return err
	}); err != nil {
		return o, err
	}
	connections, open := watched()
	for _, limit := range []struct {
		what      string
		got, most int
	}{{"connections of the gRPC port", connections, mostConnections}, {"streams", open, mostStreams},
		{"streams on one connection", opened, streamsOfConnection}} {
		if limit.got > limit.most {
			o.Broken = append(o.Broken, fmt.Sprintf("%d %s at a time, at most %d", limit.got, limit.what, limit.most))
		}
	}
	o.Measured = append(o.Measured,
		fmt.Sprintf("at most %d connections and %d streams at a time were seen, %d streams on the one connection",
			connections, open, opened))
	if err := memory.grown(&o, "the floods", floodMemory); err != nil {
		return o, err
	}
	if peak, err := c.PeakBytes(); err == nil && peak > floodMemory {
		o.Broken = append(o.Broken, fmt.Sprintf("the process had %d MiB, at most %d", peak>>20, floodMemory>>20))
	}
	fresh, err := ledger.AwaitFresh(ctx)
	if err != nil {
		return o, err
	}
	beat.Stop() // the accounts balance while nothing comes in
	verified, err := ledger.Verify(ctx, c.HTTP())
	o.Add(verified)
	o.Tries, o.Broken = tries, append(o.Broken, fresh...)
	return o, err
}

// watchLimits looks at what is open until it is asked for the most.
func watchLimits(ctx context.Context, c *Collector) (most func() (connections, streams int)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var connections, streams float64
	go func() {
		defer close(done)
		for wait(ctx, 100*time.Millisecond) == nil {
			if all, err := readFigures(ctx, c.HTTP()); err == nil {
				connections, streams = max(connections, all.sum("bullet_metrics_ingest_connections")),
					max(streams, all.sum("bullet_metrics_ingest_streams"))
			}
		}
	}()
	return func() (int, int) {
		cancel()
		<-done
		return int(connections), int(streams)
	}
}

// dialing bounds the connections that are made at a time: the system's own queue is not under trial.
const dialing = 64

// flood connects from many addresses and keeps what it gets, up to what one process may have open, until all have
// connected.
func flood(ctx context.Context, c *Collector, connections int) error {
	var all sync.WaitGroup
	places := make(chan struct{}, dialing)
	var mu sync.Mutex
	var held []net.Conn
	var failure error
	for i := range connections {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(loopbackFrom(i % 40))}, Timeout: patience}
			to := c.GRPC()
			if i%4 == 3 {
				to = c.HTTP()
			}
			connection, err := dialer.DialContext(ctx, "tcp", to)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failure = err
				return
			}
			held = append(held, connection)
		})
	}
	all.Wait()
	for _, connection := range held {
		_ = connection.Close()
	}
	return failure
}

// manyStreams opens streams on one connection, all at once, and returns how many were open at a time. Those beyond the
// limit wait at the client.
func manyStreams(ctx context.Context, c *Collector, streams int) (int, error) {
	connection, err := grpc.NewClient("passthrough:///"+c.GRPC(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var mu sync.Mutex
	open, most := 0, 0
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		open += by
		most = max(most, open)
	}
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			stream, err := pb.NewIngestServiceClient(connection).Export(ctx)
			if err != nil {
				return
			}
			_ = stream.Send(&pb.ExportRequest{
				Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "flood", Host: fmt.Sprint("h", i)}}})
			if answer, err := stream.Recv(); err == nil && answer.GetOpened() != nil {
				count(1)
				_, _ = stream.Recv() // until the end
				count(-1)
			}
		})
	}
	all.Wait()
	return most, nil
}
