package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	pluginnames "github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// The page's example is what the program prints.
func TestDoctorPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../../docs/doctor.md")
	require.NoError(t, err)
	t.Chdir("testdata/doctor")
	settings, err := os.ReadFile("bullet_settings.yaml")
	require.NoError(t, err)
	assert.Contains(t, string(page), "```yaml\n"+string(settings)+"```\n")
	out, err := program("doctor", "--bullet-conf", "bullet_settings.yaml", "--collector", "none")
	assert.EqualError(t, err, "2 of 20 checks failed")
	assert.Equal(t, exitFailed, exitCode(err))
	assert.Contains(t, string(page), "$ bullet-metrics doctor --bullet-conf bullet_settings.yaml --collector none\n"+
		out+"bullet-metrics: 2 of 20 checks failed\n```\n", out)
}

// examine asks a real collector, and returns the findings by check.
func (r *running) examine(topology string) (map[string]doctor.Finding, error) {
	args := []string{"doctor", "--collector", "http://" + r.col.httpListener.Addr().String(), "--output", "json"}
	if topology != "" {
		args = append(args, "--topology", topology)
	}
	out, err := program(args...)
	var report doctor.Report
	require.NoError(r.t, json.Unmarshal([]byte(out), &report), out)
	assert.Equal(r.t, err == nil, report.Well)
	found := map[string]doctor.Finding{}
	for _, f := range report.Findings {
		found[f.Check] = f
	}
	return found, err
}

// sendAndStay sends a batch of the topology "t" with an id on a stream that stays open until the test ends.
func (r *running) sendAndStay(id string, batch *pb.Batch) {
	connection, err := grpc.NewClient(r.col.grpcListener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, connection.Close()) })
	stream, err := pb.NewIngestServiceClient(connection).Export(r.t.Context())
	require.NoError(r.t, err)
	require.NoError(r.t,
		stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "t", TopologyId: id,
			Host: "h", Port: 6700, Task: 3}}}))
	_, err = stream.Recv()
	require.NoError(r.t, err)
	require.NoError(r.t, stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: batch}}))
	answer, err := stream.Recv()
	require.NoError(r.t, err)
	require.NotNil(r.t, answer.GetAcknowledgement(), "%v", answer)
}

// A real collector, before and after a topology that sends its workers' CPU and nothing else.
func TestDoctorAsksACollector(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	before, err := r.examine("t")
	assert.Equal(t, exitFailed, exitCode(err))
	assert.Equal(t, doctor.Fail, before["first batch"].Status)
	assert.Contains(t, before["first batch"].Says, `topology "t" has not reported`)
	assert.Equal(t, doctor.Unknown, before["cpu"].Status)

	batch := minute(1, time.Now().Truncate(10*time.Second))
	batch.Topology = &pb.TopologyInfo{StormVersion: "2.8.3",
		Components: []*pb.ComponentInfo{{Name: "FilterBolt", Parallelism: 4, Tasks: []int32{4}}},
		Settings: map[string]string{"topology.enable.v2.metrics.tick": "true",
			"topology.builtin.metrics.bucket.size.secs": "300"}}
	batch.Workers = []*pb.WorkerInfo{{Host: "h", Port: 6700, Pid: 77,
		StartTimeMs: time.Now().Add(-time.Hour).UnixMilli(), Tasks: []int32{4}}}
	startAgain(batch)
	r.sendAndStay("t-1", batch)
	require.Eventually(t, func() bool {
		found, _ := r.examine("") // the only one there is
		return found["cpu"].Status == doctor.OK && found["restarts"].Status == doctor.Fail
	}, time.Minute, 50*time.Millisecond)

	after, err := r.examine("t")
	assert.ErrorContains(t, err, "2 of 20 checks failed")
	for check, status := range map[string]doctor.Status{"jar": doctor.Unknown, "registration": doctor.OK,
		"v2 tick": doctor.OK, "retain limit": doctor.Unknown,
		"interval": doctor.Fail, "tls": doctor.OK, "skew": doctor.OK, "first batch": doctor.OK, "cpu": doctor.OK,
		"heap": doctor.Waiting, "gc": doctor.Waiting,
		"latency": doctor.Waiting} {
		assert.Equal(t, status, after[check].Status, "%+v", after[check])
	}
	assert.Contains(t, after["cpu"].Says, "1 of 1 workers")
	assert.Contains(t, after["skew"].Says, "(h:6700 is ahead by ")
	assert.Equal(t, "worker h:6700 restarted 2 times in the last 10m0s", after["restarts"].Says)

	other, err := r.examine("other")
	assert.Error(t, err)
	assert.Contains(t, other["first batch"].Says, "topologies that have: t")
}

// A topology that was submitted again starts its workers where the one before had them: that is no restart of its own.
func TestDoctorCountsNoRestartsOfAnEarlierSubmission(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	end := time.Now().Truncate(10 * time.Second)
	batch := minute(1, end)
	startAgain(batch)
	r.sendAndStay(fmt.Sprintf("t-2-%d", end.Add(-15*time.Second).Unix()), batch)
	require.Eventually(t, func() bool {
		return r.ask(`bullet_worker_restarts_total`) != "[]"
	}, time.Minute, 50*time.Millisecond)
	found, _ := r.examine("t")
	assert.Equal(t, "no worker restarted in the last 10m0s", found["restarts"].Says)
}

// startAgain has the worker of a minute's batch start again after 15 s and after 30 s.
func startAgain(batch *pb.Batch) {
	batch.Series = append(batch.Series, &pb.SeriesDefinition{Id: 2, Host: "h", Port: 6700, Component: "__system", Task: -1,
		Name: "process.start_time_ms", IntervalMs: 1000, PackSpanMs: 10_000, Shape: pb.Shape_SHAPE_SAMPLER})
	columns := batch.Samples
	for second := range 60 {
		columns.SeriesIds = append(columns.SeriesIds, 2)
		columns.TimeOffsetsMs = append(columns.TimeOffsetsMs, int64(second)*1000+900)
		columns.Values = append(columns.Values, float64(columns.BaseTimeMs+15_000*int64(min(second/15, 2))))
	}
}

func TestDoctorUsage(t *testing.T) {
	for line, says := range map[string]string{
		"doctor --collector none":              "nothing to check",
		"doctor --topology t --collector none": "requires a collector or --nimbus",
		"doctor --jar a --bullet early":        "--bullet",
		"doctor --wait -1s":                    "must not be negative",
		"doctor --collector ftp://127.0.0.1:9": "the scheme is neither http nor https",
		"doctor --jar a --output yaml":         "--output",
		"doctor jar":                           "takes no argument",
		"doctor --jar a --bullet-configuratio": "unknown flag",
	} {
		_, err := program(strings.Fields(line)...)
		require.ErrorContains(t, err, says, line)
		assert.Equal(t, exitUsage, exitCode(err), line)
	}
}

// outageNote is what the plugin sends once it reaches a collector again.
func outageNote(end time.Time) *pb.Annotation {
	return &pb.Annotation{Id: "plugin-3-h:6700", TimeMs: end.Add(-42 * time.Second).UnixMilli(),
		EndTimeMs: end.UnixMilli(), Tags: []string{"plugin", pluginnames.UnreachedTag},
		Title: "Metrics did not reach the collector from h:6700 for 42 s",
		Text:  "collector.example:4320: UNAVAILABLE: io exception. The server requires TLS."}
}
