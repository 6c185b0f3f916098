package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// running is a collector of the test's own, on ports of its own.
type running struct {
	t       *testing.T
	col     *collector
	failed  <-chan error
	closing sync.Once
}

func settings(dataDir string) config.Config {
	c := config.Default()
	c.DataDir = dataDir
	c.GRPC.Listen, c.HTTP.Listen = "127.0.0.1:0", "127.0.0.1:0"
	c.Slice.Lateness = time.Second
	return c
}

func startCollector(t *testing.T, c config.Config) *running {
	col, err := openCollector(c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	r := &running{t: t, col: col, failed: col.start()}
	t.Cleanup(r.close)
	return r
}

func (r *running) close() {
	r.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		assert.NoError(r.t, r.col.close(ctx))
		select {
		case err := <-r.failed:
			assert.NoError(r.t, err)
		default:
		}
	})
}

// send opens a stream of the topology t, sends one batch, and returns when it is acknowledged.
func (r *running) send(batch *pb.Batch) *pb.Acknowledgement { return r.sendOf("t", batch) }

func (r *running) sendOf(topology string, batch *pb.Batch) *pb.Acknowledgement {
	connection, err := grpc.NewClient(r.col.grpcListener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(r.t, err)
	defer connection.Close()
	stream, err := pb.NewIngestServiceClient(connection).Export(r.t.Context())
	require.NoError(r.t, err)
	require.NoError(r.t,
		stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: topology,
			TopologyId: topology + "-1", Host: "h", Port: 6700, Task: 3}}}))
	_, err = stream.Recv()
	require.NoError(r.t, err)
	require.NoError(r.t, stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: batch}}))
	answer, err := stream.Recv()
	require.NoError(r.t, err)
	require.NotNil(r.t, answer.GetAcknowledgement(), "%v", answer)
	return answer.GetAcknowledgement()
}

// minute is a batch of a worker's CPU, a reading a second for a minute that ended at end: 400 ms of user time a second.
func minute(sequence uint64, end time.Time) *pb.Batch {
	columns := &pb.SampleColumns{BaseTimeMs: end.Add(-time.Minute).UnixMilli()}
	for second := range 60 {
		columns.SeriesIds = append(columns.SeriesIds, 1)
		columns.TimeOffsetsMs = append(columns.TimeOffsetsMs, int64(second)*1000+900)
		columns.Values = append(columns.Values, float64(400*second))
	}
	return &pb.Batch{
		Epoch: bytes.Repeat([]byte{7}, 16), Sequence: sequence, OldestHeldSequence: sequence,
		SendTimeMs: time.Now().UnixMilli(),
		Series: []*pb.SeriesDefinition{{Id: 1, Host: "h", Port: 6700, Component: "__system", Task: -1,
			Name:       "cpu.user_ms",
			IntervalMs: 1000, PackSpanMs: 10_000, Shape: pb.Shape_SHAPE_SAMPLER,
			Temporality: pb.Temporality_TEMPORALITY_CUMULATIVE}},
		Samples: columns,
	}
}

// ask returns the raw result of an instant query.
func (r *running) ask(expression string) string {
	address := fmt.Sprintf("http://%s/api/v1/query?query=%s", r.col.httpListener.Addr(), url.QueryEscape(expression))
	response, err := http.Get(address)
	require.NoError(r.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, response.StatusCode, string(body))
	var answer struct {
		Data struct{ Result json.RawMessage }
	}
	require.NoError(r.t, json.Unmarshal(body, &answer))
	return string(answer.Data.Result)
}

// What was acknowledged is answered before and after a restart, the same to the byte.
func TestWhatWasAcknowledgedIsAnsweredAfterARestart(t *testing.T) {
	c := settings(t.TempDir())
	end := time.Now().Truncate(10 * time.Second)
	first := startCollector(t, c)
	acknowledgement := first.send(minute(1, end))
	assert.Equal(t, uint64(1), acknowledgement.GetSequence())
	assert.Empty(t, acknowledgement.GetRejections())

	// By the batch's last reading the slices up to lateness and the pack's span before it are closed.
	query := fmt.Sprintf("bullet_worker_cpu_seconds_total[50s] @ %d", end.Add(-15*time.Second).Unix())
	var before string
	require.Eventually(t, func() bool { before = first.ask(query); return before != "[]" }, 30*time.Second,
		50*time.Millisecond)
	assert.Contains(t, before, `"mode":"user"`)
	assert.Contains(t, before, `"worker":"h:6700"`)
	first.close()

	second := startCollector(t, c)
	assert.Equal(t, before, second.ask(query))
	second.send(minute(1, end)) // sent again: acknowledged, not doubled
	assert.Equal(t, before, second.ask(query))
}

func TestASecondCollectorTouchesNothing(t *testing.T) {
	c := settings(t.TempDir())
	startCollector(t, c)
	_, err := openCollector(c, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, filepath.Join(c.DataDir, "journal"))

	taken := settings(t.TempDir())
	r := startCollector(t, taken)
	taken.DataDir = t.TempDir()
	taken.GRPC.Listen = r.col.grpcListener.Addr().String()
	_, err = openCollector(taken, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, "grpc.listen")
	assert.ErrorContains(t, err, "use another address")
}

func TestHealthIsSaid(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	for _, path := range []string{"/-/healthy", "/-/ready", "/metrics", "/"} {
		response, err := http.Get("http://" + r.col.httpListener.Addr().String() + path)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, response.StatusCode, path)
		require.NoError(t, response.Body.Close())
	}
}

func TestWrongUsageIsExitCode2(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag":     {"serve", "--slice-widht", "10s"},
		"unknown command":  {"serv"},
		"an argument":      {"serve", "now"},
		"not a duration":   {"serve", "--slice-width", "ten"},
		"open to others":   {"serve", "--http-listen", "0.0.0.0:9320"},
		"no such file":     {"serve", "--config", "none.yaml"},
		"demo with a word": {"demo", "fast"},
		"demo of a second": {"demo", "--seconds", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, exitUsage, run(t.Context(), args))
		})
	}
	assert.Equal(t, exitDone, run(t.Context(), []string{"--version"}))
	assert.Equal(t, exitDone, run(t.Context(), []string{"--help"}))
}

// A collector that is asked to end does so, whoever is connected.
func TestServeEndsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	started := &signalOnUp{up: make(chan struct{})}
	go func() { ended <- serve(ctx, settings(t.TempDir()), nil, slog.New(slog.NewTextHandler(started, nil))) }()
	<-started.up
	cancel()
	assert.NoError(t, <-ended)
}

// signalOnUp closes its channel at the first line logged that reports that the collector is up.
type signalOnUp struct {
	up   chan struct{}
	once sync.Once
}

func (s *signalOnUp) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("collector is up")) {
		s.once.Do(func() { close(s.up) })
	}
	return len(line), nil
}

// What a topology is, and the annotations on its axis, are answered before and after a restart.
func TestTopologiesAndAnnotationsSurviveARestart(t *testing.T) {
	c := settings(t.TempDir())
	first := startCollector(t, c)
	batch := minute(1, time.Now().Truncate(10*time.Second))
	batch.Topology = &pb.TopologyInfo{StormVersion: "2.8.3",
		Components: []*pb.ComponentInfo{{Name: "FilterBolt", Parallelism: 4, Tasks: []int32{4, 5}}}}
	batch.Workers = []*pb.WorkerInfo{{Host: "h", Port: 6700, Pid: 77,
		StartTimeMs: time.Now().Add(-time.Hour).UnixMilli(), Tasks: []int32{4}}}
	first.send(batch)
	require.Eventually(t, func() bool { return len(first.topologies()) == 1 }, time.Minute, 10*time.Millisecond)
	address := fmt.Sprintf("http://%s/api/v1/annotations", first.col.httpListener.Addr())
	response, err := http.Post(address, "application/json",
		bytes.NewBufferString(`{"id":"s1","topology":"t","title":"Step 1","tags":["step"]}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	before := first.body("/api/v1/annotations")
	first.close()

	second := startCollector(t, c)
	assert.Equal(t, before, second.body("/api/v1/annotations"))
	detail := second.body("/api/v1/topologies/t")
	assert.Contains(t, detail, `"pid":77`)
	assert.Contains(t, detail, `"components":[{"component":"","tasks":[3]},{"component":"FilterBolt","tasks":[4]}]`,
		"the consumer is task 3")
	assert.Contains(t, detail, `"unplaced":[{"component":"FilterBolt","tasks":[5]}]`)
	assert.Contains(t, detail, `"connected":false`)
}

func TestAnAnnotationTakesTheTokenOfASender(t *testing.T) {
	c := settings(t.TempDir())
	c.GRPC.TokenFile = filepath.Join(t.TempDir(), "tokens")
	hash := sha256.Sum256([]byte("s3cret"))
	require.NoError(t, os.WriteFile(c.GRPC.TokenFile, []byte(hex.EncodeToString(hash[:])+" write t\n"), 0o600))
	r := startCollector(t, c)
	for _, ask := range []struct {
		token, topology string
		code            int
	}{{"", "t", 401}, {"wrong", "t", 401}, {"s3cret", "other", 403}, {"s3cret", "t", 200}} {
		request, err := http.NewRequest(http.MethodPost,
			fmt.Sprintf("http://%s/api/v1/annotations", r.col.httpListener.Addr()),
			bytes.NewBufferString(fmt.Sprintf(`{"topology":%q,"title":"x"}`, ask.topology)))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		if ask.token != "" {
			request.Header.Set("Authorization", "Bearer "+ask.token)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, ask.code, response.StatusCode, "%+v", ask)
	}
}

// body is what a path answers.
func (r *running) body(path string) string {
	response, err := http.Get(fmt.Sprintf("http://%s%s", r.col.httpListener.Addr(), path))
	require.NoError(r.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return string(body)
}

func (r *running) topologies() []json.RawMessage {
	var answer struct{ Data []json.RawMessage }
	require.NoError(r.t, json.Unmarshal([]byte(r.body("/api/v1/topologies")), &answer))
	return answer.Data
}

// A directory that is removed under a running collector is named by /-/ready, and what would be lost with it is not
// acknowledged.
func TestRemovedDirectoriesAreNoticed(t *testing.T) {
	for name, want := range map[string]string{"journal": "accepts no writes", datadir.Grid: "was removed"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			col, err := openCollector(settings(dir), slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			failed := col.start()
			require.Empty(t, col.unready())
			require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
			require.Eventually(t, func() bool { return col.unready() != "" }, 30*time.Second, 20*time.Millisecond)
			assert.Contains(t, col.unready(), want)
			// it would wait as long for the directory
			done, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = col.close(done) // the store reports that it could not be written
			select {
			case err := <-failed:
				require.NoError(t, err)
			default:
			}
		})
	}
}
