package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what should take no time, so that a bug makes a test fail rather than hang.
const patience = 30 * time.Second

// collector is an ingest server with a real journal, served on loopback.
type collector struct {
	t       testing.TB
	server  *Server
	journal *journal.Journal
	address string
	stop    func()
}

func start(t testing.TB, change func(*Options)) *collector {
	j, err := journal.Open(t.TempDir(), journal.DefaultOptions())
	require.NoError(t, err)
	c := startOn(t, j, change)
	c.journal = j
	t.Cleanup(func() {
		c.stop()
		require.NoError(t, j.Close())
	})
	return c
}

// startOn serves with any journal.
func startOn(t testing.TB, j Journal, change func(*Options)) *collector {
	o := DefaultOptions()
	if change != nil {
		change(&o)
	}
	server, err := New(j, o)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	var once sync.Once
	return &collector{t: t, server: server, address: l.Addr().String(), stop: func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-ended)
		})
	}}
}

// dial connects a client.
func (c *collector) dial(options ...grpc.DialOption) pb.IngestServiceClient {
	if len(options) == 0 {
		options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	connection, err := grpc.NewClient(c.address, options...)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { connection.Close() })
	return pb.NewIngestServiceClient(connection)
}

// client is the stream of a sender.
type client struct {
	t      testing.TB
	stream grpc.BidiStreamingClient[pb.ExportRequest, pb.ExportResponse]
	epoch  []byte
}

// export opens a stream and sends Open. It does not receive the answer.
func export(t testing.TB, service pb.IngestServiceClient, options ...grpc.CallOption) *client {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	stream, err := service.Export(ctx, options...)
	require.NoError(t, err)
	c := &client{t: t, stream: stream, epoch: make([]byte, 16)}
	_, err = rand.Read(c.epoch)
	require.NoError(t, err)
	c.send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "bullet",
		TopologyId: "bullet-1-2", Host: "h1",
		Port: 6700, Task: 7, PluginVersion: "1"}}})
	return c
}

// opened does what export does, and receives the answer.
func opened(t testing.TB, service pb.IngestServiceClient, options ...grpc.CallOption) *client {
	c := export(t, service, options...)
	require.Equal(t, uint32(64), c.receive().GetOpened().GetWindow())
	return c
}

// send sends a request on the stream. If the collector has already ended it, the next receive returns its status.
func (c *client) send(request *pb.ExportRequest) {
	if err := c.stream.Send(request); !errors.Is(err, io.EOF) {
		require.NoError(c.t, err)
	}
}

func (c *client) batch(b *pb.Batch) {
	b.Epoch = c.epoch
	if b.OldestHeldSequence == 0 {
		b.OldestHeldSequence = b.Sequence
	}
	c.send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}})
}

func (c *client) receive() *pb.ExportResponse {
	response, err := c.stream.Recv()
	require.NoError(c.t, err)
	return response
}

// acknowledged waits until a sequence is acknowledged, and returns the rejections that arrived before.
func (c *client) acknowledged(sequence uint64) (rejections []*pb.Rejection) {
	for {
		ack := c.receive().GetAcknowledgement()
		require.NotNil(c.t, ack)
		require.Equal(c.t, c.epoch, ack.GetEpoch())
		rejections = append(rejections, ack.GetRejections()...)
		if ack.GetSequence() >= sequence {
			return rejections
		}
	}
}

// fails waits for the end of the stream, and checks its status.
func (c *client) fails(code codes.Code, message string) *status.Status {
	for {
		_, err := c.stream.Recv()
		if err == nil {
			continue
		}
		require.Equal(c.t, code, status.Code(err), "%v", err)
		require.Contains(c.t, err.Error(), message)
		return status.Convert(err)
	}
}

func series(id uint32, name string) *pb.SeriesDefinition {
	return &pb.SeriesDefinition{Id: id, Host: "h1", Port: 6700, Component: "FilterBolt", Task: 3, Name: name,
		IntervalMs: 10_000,
		Shape:      pb.Shape_SHAPE_NUMBER}
}

// samples returns samples of one series with the current time.
func samples(id uint32, values ...float64) *pb.SampleColumns {
	columns := &pb.SampleColumns{BaseTimeMs: time.Now().UnixMilli()}
	for i, v := range values {
		columns.SeriesIds = append(columns.SeriesIds, id)
		columns.TimeOffsetsMs = append(columns.TimeOffsetsMs, int64(-i))
		columns.Values = append(columns.Values, v)
	}
	return columns
}

// entries returns all entries of the journal.
func (c *collector) entries() (all []journal.Entry) {
	reader, err := c.journal.Reader(0)
	require.NoError(c.t, err)
	defer reader.Close()
	nothingToWaitFor, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		_, entry, err := reader.Next(nothingToWaitFor)
		if err != nil {
			require.ErrorIs(c.t, err, context.Canceled)
			return all
		}
		if b, ok := entry.(*journal.Batch); ok {
			entry = b.Retained()
		}
		all = append(all, entry)
	}
}

// batches returns the batches among the entries.
func (c *collector) batches() (all []*journal.Batch) {
	for _, entry := range c.entries() {
		if b, ok := entry.(*journal.Batch); ok {
			all = append(all, b)
		}
	}
	return all
}
