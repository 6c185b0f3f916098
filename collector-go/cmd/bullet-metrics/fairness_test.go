package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// external is who comes from an address of his own, of which a machine has many.
type external struct {
	*running
	address    string
	http       *http.Client
	connection *grpc.ClientConn
}

func (r *running) external(address string) *external {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	r.t.Cleanup(transport.CloseIdleConnections)
	g := &external{running: r, address: address, http: &http.Client{Transport: transport}}
	g.connection = g.connect()
	return g
}

func (g *external) dial(to net.Addr) (net.Conn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(g.address)}}
	return dialer.DialContext(g.t.Context(), "tcp", to.String())
}

func (g *external) connect() *grpc.ClientConn {
	connection, err := grpc.NewClient("passthrough:///collector",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return g.dial(g.col.grpcListener.Addr())
		}))
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// opened is a stream of an external's.
type opened struct {
	*external
	stream   pb.IngestService_ExportClient
	sequence uint64
}

// open opens a stream of a topology, which stays until the test ends.
func (g *external) open(topology string) (*opened, error) {
	stream, err := pb.NewIngestServiceClient(g.connection).Export(g.t.Context())
	if err != nil {
		return nil, err
	}
	_ = stream.Send(&pb.ExportRequest{
		Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: topology, TopologyId: topology + "-1-1",
			Host: g.address, Port: 6700, Task: 3}}})
	if _, err := stream.Recv(); err != nil {
		return nil, err
	}
	return &opened{external: g, stream: stream}, nil
}

// send sends a batch and returns what is answered.
func (s *opened) send(b *pb.Batch) *pb.ExportResponse {
	s.sequence++
	b.Epoch, b.Sequence, b.OldestHeldSequence = []byte(fmt.Sprintf("%-16.16s", s.address)), s.sequence, s.sequence
	require.NoError(s.t, s.stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}))
	answer, err := s.stream.Recv()
	require.NoError(s.t, err)
	return answer
}

// gauges is a batch of so many series with so many samples each, 100 ms apart, up to a time.
func gauges(series, samples int, end time.Time) *pb.Batch {
	b := &pb.Batch{Samples: &pb.SampleColumns{BaseTimeMs: end.UnixMilli()}}
	for id := range uint32(series) {
		b.Series = append(b.Series, &pb.SeriesDefinition{Id: id + 1, Host: "h", Port: 6700, Component: "c",
			Task: int32(id), Name: "n", IntervalMs: 100,
			Temporality: pb.Temporality_TEMPORALITY_GAUGE, Shape: pb.Shape_SHAPE_NUMBER})
		for at := range samples {
			b.Samples.SeriesIds = append(b.Samples.SeriesIds, id+1)
			b.Samples.TimeOffsetsMs = append(b.Samples.TimeOffsetsMs, int64(at-samples)*100)
			b.Samples.Values = append(b.Samples.Values, 1)
		}
	}
	return b
}

// figure is the sum of a figure's values on /metrics, of the series that contain all of some words.
func (r *running) figure(name string, words ...string) (sum float64) {
	for line := range strings.Lines(r.body("/metrics")) {
		of, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if plain, _, _ := strings.Cut(of, "{"); !found || plain != name {
			continue
		}
		all := true
		for _, word := range words {
			all = all && strings.Contains(of, word)
		}
		if n, err := strconv.ParseFloat(value, 64); all && assert.NoError(r.t, err) {
			sum += n
		}
	}
	return sum
}

// get is the status that a path is answered with.
func (g *external) get(path string) int {
	response, err := g.http.Get("http://" + g.col.httpListener.Addr().String() + path)
	require.NoError(g.t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(g.t, err)
	return response.StatusCode
}

// Senders have a connection each: who raises limits.streams gets room for as many.
func TestThereAreConnectionsForAllStreams(t *testing.T) {
	c := settings(t.TempDir())
	assert.Equal(t, 512, ingestOptions(c).MaxConnections)
	c.Limits.Streams = 700
	r := startCollector(t, c)
	for i := range 540 { // of three topologies on three hosts, none of which has more than its share
		_, err := r.external(fmt.Sprintf("127.0.1.%d", 1+i%3)).open(fmt.Sprint("t", i%3))
		require.NoError(t, err, "stream %d", i)
	}
}

// Whatever one client takes of what there is a bounded number of, it is refused by name, and the batches and queries of
// another are answered as before.
func TestOneHostileClientLeavesRoomForAGoodOne(t *testing.T) {
	t.Parallel()
	c := settings(t.TempDir())
	c.Limits.Streams, c.Limits.SeriesPerTopology, c.Limits.SamplesPerSecondPerTopology = 12, 1000, 100
	c.Limits.OpenSamples, c.Limits.OpenSamplesPerTopology, c.Query.MaxConcurrent = 3000, 2500, 3
	r := startCollector(t, c)
	hostile, good := r.external("127.0.0.2"), r.external("127.0.0.3")
	steady, err := good.open("good")
	require.NoError(t, err)
	newest := time.Now().Truncate(10 * time.Second).Add(-10 * time.Minute)
	sent := 0
	// goesOn: ten seconds of the good client are acknowledged, whole, a new stream of its opens, and what it asks is
	// answered.
	goesOn := func(t *testing.T) {
		newest = newest.Add(10 * time.Second)
		acknowledgement := steady.send(gauges(1, 1, newest)).GetAcknowledgement()
		require.Equal(t, steady.sequence, acknowledgement.GetSequence())
		require.Empty(t, acknowledgement.GetRejections())
		sent++
		require.Equal(t, http.StatusOK, good.get("/api/v1/query?query=1"))
	}
	goesOn(t)

	t.Run("connections", func(t *testing.T) {
		for address, refused := range map[net.Addr]string{r.col.grpcListener.Addr(): "bullet_metrics_ingest_refused_connections_total",
			r.col.httpListener.Addr(): "bullet_metrics_http_refused_connections_total"} {
			var held []net.Conn
			for range 600 {
				connection, err := hostile.dial(address)
				require.NoError(t, err)
				held = append(held, connection)
			}
			require.Eventually(t, func() bool { return r.figure(refused) >= 600-512*2/3-1 }, 30*time.Second,
				10*time.Millisecond)
			goesOn(t)
			again := r.external(good.address)
			stream, err := again.open("good")
			require.NoError(t, err)
			require.NoError(t, stream.stream.CloseSend())
			require.Equal(t, http.StatusOK, again.get("/api/v1/labels"))
			for _, connection := range held {
				require.NoError(t, connection.Close())
			}
		}
	})
	t.Run("streams", func(t *testing.T) {
		var held []*opened
		refusal := func(topology func(int) string) error {
			for {
				stream, err := hostile.open(topology(len(held)))
				if err != nil {
					return err
				}
				held = append(held, stream)
			}
		}
		err := refusal(func(int) string { return "hostile" })
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.ErrorContains(t, err, "topology hostile uses")
		require.ErrorContains(t, refusal(func(n int) string { return fmt.Sprint("made up ", n) }),
			"address 127.0.0.2 uses")
		goesOn(t)
		another, err := good.open("good")
		require.NoError(t, err)
		for _, stream := range append(held, another) {
			require.NoError(t, stream.stream.CloseSend())
			_, err := stream.stream.Recv()
			require.ErrorIs(t, err, io.EOF)
		}
	})
	t.Run("series", func(t *testing.T) {
		stream, err := hostile.open("series")
		require.NoError(t, err)
		require.Empty(t, stream.send(gauges(900, 1, newest)).GetAcknowledgement().GetRejections())
		stream, err = hostile.open("series")
		require.NoError(t, err)
		more := gauges(600, 1, newest)
		for _, series := range more.Series {
			series.Host = "another"
		}
		stream.sequence++ // of the same sender
		rejections := stream.send(more).GetAcknowledgement().GetRejections()
		require.Len(t, rejections, 1)
		require.Equal(t, pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT, rejections[0].GetReason())
		require.EqualValues(t, 500, rejections[0].GetSamples())
		require.Contains(t, rejections[0].GetExample(), "the topology has reached its limit of 1000 series")
		goesOn(t)
	})
	t.Run("open samples", func(t *testing.T) {
		stream, err := hostile.open("open")
		require.NoError(t, err)
		require.NotNil(t, stream.send(gauges(50, 100, newest)).GetAcknowledgement())
		refused := func(topology string) float64 {
			return r.number(fmt.Sprintf(
				`sum(last_over_time(bullet_metrics_collection_worker_refused_samples_total{topology=%q,reason="open_limit"}[1h]) or vector(0))`,
				topology),
				time.Now())
		}
		require.Eventually(t, func() bool { return r.accounts()["refused open_limit"] > 0 }, 30*time.Second,
			10*time.Millisecond)
		goesOn(t)
		require.Zero(t, refused("good"))
	})
	t.Run("samples per second", func(t *testing.T) {
		stream, err := hostile.open("flood")
		require.NoError(t, err)
		require.NotNil(t, stream.send(gauges(100, 100, newest)).GetAcknowledgement())
		full := stream.send(gauges(1, 1, newest)).GetFull()
		require.Equal(t, stream.sequence, full.GetSequence(), "the answer names the batch to send again")
		require.Positive(t, full.GetRetryAfterMs())
		require.Equal(t, 1.0, r.figure("bullet_metrics_ingest_topology_rate_limited_batches_total", `topology="flood"`))
		goesOn(t)
	})
	t.Run("annotations", func(t *testing.T) {
		require.NotNil(t, steady.send(
			&pb.Batch{Annotations: []*pb.Annotation{{Id: "step", TimeMs: newest.UnixMilli(),
				Title: "Step 1"}}}).GetAcknowledgement())
		stream, err := hostile.open("annotates")
		require.NoError(t, err)
		for n := range 24 {
			b := &pb.Batch{}
			for i := range 256 {
				b.Annotations = append(b.Annotations,
					&pb.Annotation{Id: fmt.Sprint(n, " ", i), TimeMs: time.Now().Add(time.Hour).UnixMilli(),
						Title: "Mine"})
			}
			require.NotNil(t, stream.send(b).GetAcknowledgement())
		}
		require.Eventually(t, func() bool {
			return r.figure("bullet_metrics_registry_dropped_total", `reason="annotation_count"`) == 24*256+1-5000
		}, 30*time.Second, 10*time.Millisecond)
		require.Contains(t, r.body("/api/v1/annotations?topology=good"), "Step 1")
		goesOn(t)
	})
	t.Run("definitions", func(t *testing.T) {
		stream, err := hostile.open("defines")
		require.NoError(t, err)
		b := &pb.Batch{Epoch: make([]byte, 16), Sequence: 1, OldestHeldSequence: 1,
			Series: make([]*pb.SeriesDefinition, 1<<16+1)}
		for i := range b.Series {
			b.Series[i] = &pb.SeriesDefinition{}
		}
		require.NoError(t, stream.stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}))
		_, err = stream.stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		require.ErrorContains(t, err, "batch.series has more than 65536 entries in one request")
		goesOn(t)
	})
	t.Run("queries", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		for range 20 { // for longer than the good client's take
			asking.Go(func() {
				for ctx.Err() == nil {
					request, _ := http.NewRequestWithContext(ctx, http.MethodGet,
						"http://"+r.col.httpListener.Addr().String()+"/api/v1/query?query="+
							url.QueryEscape("sum_over_time(vector(1)[3000s:1ms])"), nil)
					if response, err := hostile.http.Do(request); err == nil {
						_, _ = io.Copy(io.Discard, response.Body)
						_ = response.Body.Close()
					}
				}
			})
		}
		require.Eventually(t, func() bool { return r.figure("bullet_metrics_query_waiting") > 0 }, 30*time.Second,
			10*time.Millisecond)
		for range 10 {
			goesOn(t)
		}
		assert.Positive(t, r.figure("bullet_metrics_query_waiting"), "the hostile one's wait for a place all the while")
		cancel()
		asking.Wait()
	})
	t.Run("the good client's samples", func(t *testing.T) { // all of them are in slices, and answer
		for range 5 {
			goesOn(t)
		}
		count := fmt.Sprintf(`sum(count_over_time({__name__="storm_n",topology="good"}[1h] @ %d))`, time.Now().Unix())
		require.Eventually(t, func() bool { return r.number(count, time.Now()) >= float64(sent-5) }, 30*time.Second,
			50*time.Millisecond)
	})
}
