package bench

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// fullAtTimes is a collector that refuses every third batch once. As the protocol requires, it skips the following
// batches until the refused one comes again.
type fullAtTimes struct {
	pb.UnimplementedIngestServiceServer
	mu    sync.Mutex
	taken []uint64
	fulls int
}

func (f *fullAtTimes) Export(g grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]) error {
	if _, err := g.Recv(); err != nil {
		return err
	}
	if err := g.Send(&pb.ExportResponse{
		Message: &pb.ExportResponse_Opened{Opened: &pb.Opened{Window: 4, TakesBlocks: true}}}); err != nil {
		return err
	}
	next, refused := uint64(1), map[uint64]bool{}
	for {
		request, err := g.Recv()
		if err != nil {
			return nil
		}
		b := request.GetBatch()
		if b.GetSequence() != next {
			continue
		}
		answer := &pb.ExportResponse{
			Message: &pb.ExportResponse_Acknowledgement{Acknowledgement: &pb.Acknowledgement{Sequence: next}}}
		f.mu.Lock()
		if next%3 == 0 && !refused[next] {
			refused[next] = true
			f.fulls++
			answer = &pb.ExportResponse{
				Message: &pb.ExportResponse_Full{Full: &pb.Full{Sequence: next, RetryAfterMs: 1}}}
		} else {
			f.taken = append(f.taken, next)
			next++
		}
		f.mu.Unlock()
		if err := g.Send(answer); err != nil {
			return err
		}
	}
}

// Batches that a collector refuses are sent again, in order, and are counted.
func TestAClientSendsRefusedBatchesAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	collector, server := &fullAtTimes{}, grpc.NewServer()
	pb.RegisterIngestServiceServer(server, collector)
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()
	f, err := Connect(t.Context(), Target{Address: listener.Addr().String()}, NewRows(1, 6, 2),
		Load{Topology: "t", Clients: 1, RowsPerBatch: 3, StartMs: 1000, Step: time.Second, Lead: 1})
	require.NoError(t, err)
	require.NoError(t, f.Define())
	steps, err := f.Send(20, 6, time.Time{})
	require.NoError(t, err)
	assert.Equal(t, 18, steps, "a multiple of what is whole")
	require.NoError(t, f.Close())
	server.Stop()
	require.NoError(t, <-serving)
	var want []uint64
	for n := range uint64(1 + 2*18) { // definitions, then two messages per step
		want = append(want, n+1)
	}
	assert.Equal(t, want, collector.taken)
	assert.Equal(t, len(want)/3, collector.fulls)
	assert.EqualValues(t, collector.fulls, f.Fulls())
}
