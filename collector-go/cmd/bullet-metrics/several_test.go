//go:build stores

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/servertest"
)

// Two collectors, each a process of its own, before a Thanos of three receivers that each keep everything. A topology
// moves from one to the other when that is killed, and back; a receiver is killed in between. What Thanos answers is
// what one collector answers that was sent the same and kept it itself, to the bit.
func TestATopologyMovesBetweenCollectorsOverThanos(t *testing.T) {
	ring := servertest.Thanos(t, 2*time.Hour)
	alone := settings(t.TempDir())
	alone.Slice.Lateness = 30 * time.Second
	alone.Rules.BuiltIn = false
	one := startCollector(t, alone)
	grpcs := []string{freePort(t), freePort(t)}
	var collectors []*servertest.Server
	for i, address := range grpcs {
		collectors = append(collectors, servertest.Run(t, "/-/ready", func(dir, http string) *exec.Cmd {
			c := exec.Command(os.Args[0], "serve", "--data-dir", filepath.Join(dir, "data"), "--http-listen", http,
				"--grpc-listen", address, "--grpc-acknowledge", "forwarded", "--store-embedded-enabled=false",
				"--query-url", ring.Querier.URL(), "--rules-builtin=false", "--config",
				forwardingTo(t, dir, ring.Writes[i]))
			c.Env = append(os.Environ(), asProgram+"=1")
			return c
		}))
	}

	rounds := 1
	if os.Getenv("BULLET_METRICS_LONG") != "" {
		rounds = 4
	}
	first := time.Now().Add(-time.Duration(5+25*rounds) * time.Minute).Truncate(time.Minute)
	moving, staying := newCarrier(t, grpcs), newCarrier(t, []string{one.col.grpcListener.Addr().String()})
	staying.carries = false
	sent := 0
	send := func(batches int) {
		for range batches {
			sent++
			staying.send(movedBatch(sent, first))
			moving.send(movedBatch(sent, first))
		}
	}
	for round := range rounds {
		send(200)
		moving.awaitState(sent)
		assert.Equal(t, 0, moving.at)
		receiver := ring.Receivers[(1+round)%len(ring.Receivers)]
		receiver.Kill()
		send(150)
		if round%len(ring.Receivers) != 2 { // two of three are enough, but not where it is the one that is written to
			moving.awaitState(sent)
		}
		receiver.Start()
		send(100)
		collectors[0].Kill() // with what it had not forwarded
		send(100)
		assert.Equal(t, 1, moving.at)
		assert.Equal(t, uint64(2+2*round), moving.generation)
		moving.awaitState(sent)
		collectors[0].Start()
		moving.move(0)
		send(150)
		moving.awaitState(sent)
		assert.Equal(t, 0, moving.at)
		assert.Equal(t, uint64(3+2*round), moving.generation)
	}

	last := first.Add(time.Duration(sent) * transferEvery)
	staying.awaitAcknowledged(sent)
	until := last.Add(-time.Minute)
	require.Eventually(t, func() bool {
		return strings.Contains(one.ask(fmt.Sprintf("count(timestamp(bullet_worker_heap_used_bytes{topology=%q} @ %d) >= %d)",
			movedTopology, last.Unix(), until.Unix())),
			"value")
	}, time.Minute, 100*time.Millisecond)
	ring.Await()
	want := everySlice(t, "http://"+one.col.httpListener.Addr().String(), first, until)
	got := everySlice(t, ring.Querier.URL(), first, until)
	require.Greater(t, len(want), 20)
	slices := 0
	for series, samples := range want {
		slices += len(samples)
		if assert.Len(t, got[series], len(samples), series) {
			for at, value := range samples {
				assert.Equal(t, value, got[series][at], "%s at %s", series, at)
			}
		}
	}
	assert.Len(t, got, len(want))
	t.Logf("%d series with %d slices alike", len(want), slices)
}

// forwardingTo is a file with the store, for which there are no flags.
func forwardingTo(t testing.TB, dir, write string) string {
	file := filepath.Join(dir, "bullet-metrics.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "store:\n  remote_write:\n    thanos: {url: %s, required: true}\n",
		write), 0o600))
	return file
}

// everySlice is what an API answers of the topology in a range of time: values by their series and time. How far clocks
// are ahead is left out: that is seen otherwise by each collector.
func everySlice(t *testing.T, api string, from, until time.Time) map[string]map[string]string {
	ask := api + "/api/v1/query?" + url.Values{"time": {fmt.Sprint(until.Unix())},
		"query": {fmt.Sprintf("{topology=%q}[%ds]", movedTopology, int(until.Sub(from).Seconds()))}}.Encode()
	response, err := http.Get(ask)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
	var answer struct {
		Data struct {
			Result []struct {
				Metric     map[string]string
				Values     [][2]json.RawMessage
				Histograms [][2]json.RawMessage
			}
		}
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	all := map[string]map[string]string{}
	for _, s := range answer.Data.Result {
		switch s.Metric["__name__"] {
		case catalog.CollectionSkew, catalog.CollectionSkewLeast, catalog.CollectionSkewMost,
			"bullet_metrics_worker_clock_ahead_seconds":
			continue
		}
		series := map[string]string{}
		for _, v := range append(s.Values, s.Histograms...) {
			series[string(v[0])] = string(v[1])
		}
		all[fmt.Sprint(s.Metric)] = series
	}
	return all
}

const (
	movedTopology = "moving"
	movedWorkers  = 4
	transferEvery = 2 * time.Second
)

// movedBatch is what the topology's workers report up to a time: counters, of which one starts again, a gauge and a
// histogram.
func movedBatch(n int, first time.Time) *pb.Batch {
	at := first.Add(time.Duration(n) * transferEvery)
	b := &pb.Batch{Sequence: uint64(n), SendTimeMs: at.UnixMilli(),
		Samples: &pb.SampleColumns{BaseTimeMs: at.UnixMilli()}}
	if n == 1 {
		b.Topology = &pb.TopologyInfo{Name: movedTopology, Id: movedTopology + "-1", StormVersion: "2.8.0"}
	}
	for w := range movedWorkers {
		life := (n + 31*w) % 170
		for i, value := range []float64{float64(37 * life), float64(n*n%977) * 1024,
			float64(at.Add(-time.Duration(life)*transferEvery).UnixMilli()) / 1000} {
			b.Samples.SeriesIds = append(b.Samples.SeriesIds, uint32(10*w+i+1))
			b.Samples.TimeOffsetsMs = append(b.Samples.TimeOffsetsMs, 0)
			b.Samples.Values = append(b.Samples.Values, value)
		}
		b.Histograms = append(b.Histograms, &pb.HistogramSample{SeriesId: uint32(10*w + 4), TimeMs: at.UnixMilli(),
			Count: uint64(3 * life), Sum: float64(life), ZeroThreshold: 1e-9, Schema: 3,
			PositiveSpans:  []*pb.BucketSpan{{Offset: 4, Length: 2}},
			PositiveCounts: []uint64{uint64(2 * life), uint64(life)}})
	}
	return b
}

func movedSeries() (all []*pb.SeriesDefinition) {
	for w := range movedWorkers {
		for i, name := range []string{"cpu.user_ms", "heap.used_bytes", "process.start_time_seconds", "latency"} {
			s := &pb.SeriesDefinition{Id: uint32(10*w + i + 1), Host: fmt.Sprint("h", w), Port: 6700,
				Component: "__system", Task: -1, Name: name,
				IntervalMs: uint32(transferEvery.Milliseconds()), Shape: pb.Shape_SHAPE_SAMPLER,
				Temporality: []pb.Temporality{pb.Temporality_TEMPORALITY_CUMULATIVE, pb.Temporality_TEMPORALITY_GAUGE,
					pb.Temporality_TEMPORALITY_GAUGE, pb.Temporality_TEMPORALITY_CUMULATIVE}[i]}
			if i == 3 {
				s.Component, s.Task, s.Shape = "a", 5, pb.Shape_SHAPE_HISTOGRAM
			}
			all = append(all, s)
		}
	}
	return all
}

// carrier is a sender that carries its topology's state, written after decision 18 as the plugin is.
type carrier struct {
	t          *testing.T
	addresses  []string
	carries    bool
	epoch      []byte
	at         int // address
	generation uint64
	state      []byte
	stateUpTo  uint64
	held       []*pb.Batch
	sent       int // of held, on this stream
	taken      uint64

	connection *grpc.ClientConn
	stream     grpc.BidiStreamingClient[pb.ExportRequest, pb.ExportResponse]
	answers    chan *pb.ExportResponse
	parts      []byte
}

func newCarrier(t *testing.T, addresses []string) *carrier {
	c := &carrier{t: t, addresses: addresses, carries: true, epoch: bytes.Repeat([]byte{3}, 16)}
	t.Cleanup(c.hangUp)
	return c
}

func (c *carrier) hangUp() {
	if c.connection != nil {
		_ = c.connection.Close()
	}
	c.connection, c.stream = nil, nil
}

// move goes to an address.
func (c *carrier) move(to int) {
	c.hangUp()
	c.connect(to)
}

// connect tries an address, then the others.
func (c *carrier) connect(to int) {
	for ; ; to = (to + 1) % len(c.addresses) {
		if c.open(to) {
			return
		}
		c.hangUp()
		require.NoError(c.t, c.t.Context().Err())
	}
}

func (c *carrier) open(to int) bool {
	generation := c.generation
	if generation == 0 || to != c.at {
		generation++
	}
	var err error
	c.connection, err = grpc.NewClient(c.addresses[to], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(c.t, err)
	if c.stream, err = pb.NewIngestServiceClient(c.connection).Export(context.Background()); err != nil {
		return false
	}
	open := &pb.Open{Topology: movedTopology, TopologyId: movedTopology + "-1", Host: "h0", Port: 6700, Task: 1}
	if c.carries {
		open.Epoch, open.Generation = c.epoch, generation
	}
	if c.stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}}) != nil {
		return false
	}
	answer, err := c.stream.Recv()
	if err != nil {
		return false
	}
	opened := answer.GetOpened()
	require.NotNil(c.t, opened)
	require.Equal(c.t, c.carries, opened.GetGivesStates())
	c.at, c.generation, c.taken, c.sent, c.parts = to, generation, opened.GetTakenSequence(), 0, nil
	if opened.GetWantsState() {
		part := &pb.State{Epoch: c.epoch, Sequence: c.stateUpTo, Data: c.state, Last: true}
		if c.stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_State{State: part}}) != nil {
			return false
		}
	}
	for c.sent < len(c.held) && c.held[c.sent].GetSequence() <= c.taken {
		c.sent++
	}
	c.answers = make(chan *pb.ExportResponse, 1024)
	go func(stream grpc.BidiStreamingClient[pb.ExportRequest, pb.ExportResponse], answers chan<- *pb.ExportResponse) {
		defer close(answers)
		for {
			answer, err := stream.Recv()
			if err != nil {
				return
			}
			answers <- answer
		}
	}(c.stream, c.answers)
	return true
}

// send holds a batch and sends what is not sent.
func (c *carrier) send(b *pb.Batch) {
	b.Epoch = c.epoch
	c.held = append(c.held, b)
	for tries := 0; !c.push(); tries++ {
		require.Less(c.t, tries, 5, "each stream ends at once")
		c.reconnect()
	}
	for c.hearNow() {
	}
}

func (c *carrier) reconnect() {
	at := c.at
	c.hangUp()
	c.connect(at)
}

// push sends what is held and not sent; false where the stream has ended.
func (c *carrier) push() bool {
	if c.stream == nil {
		return false
	}
	for c.sent < len(c.held) {
		for c.held[c.sent].GetSequence() > max(c.taken, c.held[0].GetSequence())+60 { // the window
			answer, ok := <-c.answers
			if !ok {
				return false
			}
			c.hear(answer)
		}
		b := c.held[c.sent]
		b.OldestHeldSequence = b.GetSequence()
		b.Series = movedSeries()
		if c.stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}) != nil {
			return false
		}
		c.sent++
	}
	return true
}

// hearNow takes an answer that has come, and reports whether there was one.
func (c *carrier) hearNow() bool {
	select {
	case answer, ok := <-c.answers:
		if ok {
			c.hear(answer)
		}
		return ok
	default:
		return false
	}
}

func (c *carrier) hear(answer *pb.ExportResponse) {
	require.Nil(c.t, answer.GetFull())
	if a := answer.GetAcknowledgement(); a != nil {
		require.Empty(c.t, a.GetRejections())
		c.taken = max(c.taken, a.GetSequence())
	}
	part := answer.GetState()
	if part == nil {
		return
	}
	c.parts = append(c.parts, part.GetData()...)
	if !part.GetLast() {
		return
	}
	c.state, c.stateUpTo, c.parts = c.parts, part.GetSequence(), nil
	require.NotEmpty(c.t, c.state)
	for len(c.held) > 0 && c.held[0].GetSequence() <= c.stateUpTo {
		c.held, c.sent = c.held[1:], c.sent-1
	}
}

func (c *carrier) awaitState(sequence int) {
	c.await(func() bool { return c.stateUpTo >= uint64(sequence) })
	require.Empty(c.t, c.held)
}

func (c *carrier) awaitAcknowledged(sequence int) {
	c.await(func() bool { return c.taken >= uint64(sequence) })
}

func (c *carrier) await(there func() bool) {
	limit := time.After(2 * time.Minute)
	for !there() {
		select {
		case answer, ok := <-c.answers:
			if !ok {
				c.reconnect()
				require.True(c.t, c.push())
				continue
			}
			c.hear(answer)
		case <-limit:
			require.FailNow(c.t, "it does not come", "state up to %d, taken up to %d", c.stateUpTo, c.taken)
		}
	}
}
