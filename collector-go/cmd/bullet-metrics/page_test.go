//go:build page

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
)

// What the wire may bring where a page expects a name.
var (
	hostileTopology = `<img src=x onerror="document.title='owned'">"'` + "\u202e" + `&amp;{}\`
	hostileHosts    = []string{`<script>document.title='owned'</script>`, `"><svg onload=alert(1)>'`,
		strings.Repeat("long", 60)}
)

// firing is a rule file whose alerts fire and wait at once, with texts that nobody should trust.
const firing = `groups:
  - name: page
    interval: 1s
    query_offset: 0s
    rules:
      - alert: PageTestFires
        expr: vector(0.25)
        labels: {severity: critical, topology: bullet}
        annotations:
          summary: 'Filter latency is {{ $value }} s <b onmouseover="document.title=1">now</b>'
          runbook_url: https://example.org/runbooks/PageTestFires
      - alert: PageTestWaits
        expr: vector(1)
        for: 1h
        labels: {severity: warning, topology: bullet}
        annotations: {summary: waits, runbook_url: 'javascript:document.title=1'}
`

// The page is driven by the system's Chromium over three collectors: one with a recorded run, a made-up topology that
// reports now, alerts, annotations and a run; one that nobody has reported to; one without a store.
func TestPageInABrowser(t *testing.T) {
	c := settings(t.TempDir())
	c.Embedded.RetentionTime, c.Rules.BuiltIn = 0, false
	replayInto(t, c.DataDir, captureFile("capture-killed-2.8.3"))
	c.Runs.Dir = filepath.Join(t.TempDir(), "runs")
	sample := filepath.Join(c.Runs.Dir, "sample")
	require.NoError(t, os.CopyFS(sample, os.DirFS("../../internal/lab/runstore/testdata/sample")))
	require.NoError(t, os.Mkdir(filepath.Join(sample, "report"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(sample, "report", "report.html"),
		[]byte("<!doctype html><title>r</title><style>p{color:red}</style><p>the report<script>document.title='ran'</script>"),
		0o644))
	rules := filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(rules, []byte(firing+burningRules), 0o644))
	c.Rules.Files = []string{rules}
	for _, a := range alertrules.Alerts() {
		if a.Name == "BulletFilterLatencyMeanHigh" { // what its rule recorded before the collector began again
			series, lost := []string{"__name__", a.Value, "topology", lostSlow().name}, time.Now().Add(-lostSlow().since)
			keptByRules(t, c, lost.Add(-10*time.Minute), lost, lostSlow().lostLatencyMs/1000, series...)
			keptByRules(t, c, lost, lost.Add(time.Second), math.Float64frombits(value.StaleNaN), series...)
		}
	}
	full := startCollector(t, c)
	full.sendHostile(time.Now().Truncate(10 * time.Second))
	full.reportStates()
	full.annotateAll()
	stopWorker := full.reportSamples()

	without := settings(t.TempDir())
	without.Embedded.Enabled = false
	storeless := startCollector(t, without)
	storeless.sendHostile(time.Now().Truncate(10 * time.Second))
	empty := startCollector(t, settings(t.TempDir()))

	collectors, err := json.Marshal(map[string]any{
		"full": full.listenAddress(), "away": wasAway(t).listenAddress(), "storeless": storeless.listenAddress(),
		"empty": empty.listenAddress(), "topology": hostileTopology, "hosts": hostileHosts, "stopWorker": stopWorker,
	})
	require.NoError(t, err)
	tests := strings.Fields(os.Getenv("PAGE_TESTS"))
	if len(tests) == 0 {
		// the first has what goes by: a made-up history that does not continue
		tests = []string{"page", "look", "map", "time", "query", "live", "access"}
	}
	node := exec.CommandContext(t.Context(), "node", append([]string{"--test-reporter=spec", "browser/all.mjs"},
		tests...)...)
	node.Dir = "../../internal/serve/webui"
	node.Env = append(os.Environ(), "PAGE_COLLECTORS="+string(collectors), "TZ=UTC")
	node.Stdout, node.Stderr = t.Output(), t.Output()
	require.NoError(t, node.Run())
}

// What the page offers for pasting is what the program prints.
func TestPageHasTheSnippetsLines(t *testing.T) {
	index, err := os.ReadFile("../../internal/serve/webui/static/index.html")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(index), `<pre id="snippet">`)
	require.True(t, found)
	shown, _, _ := strings.Cut(rest, "</pre>")
	printed, err := program("storm", "snippet", "--storm", "2.8.3", "--bullet", "1.5.2")
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(printed) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	require.Equal(t, strings.Join(lines, "\n"), shown)
}

func (r *running) listenAddress() string { return "http://" + r.col.httpListener.Addr().String() }

// hostileSteal is what the hypervisor takes of each host in ten seconds, ms, in the second half of the time: of the
// third 7.5% of its four CPUs, of the others less than is shown.
var hostileSteal = []int{0, 1_900, 3_000}

// sendHostile sends twenty minutes of three workers with names that nobody should choose. The second reports nothing
// for three minutes.
func (r *running) sendHostile(end time.Time) {
	const readings = 120
	batch := &pb.Batch{Epoch: bytes.Repeat([]byte{9}, 16), Sequence: 1, OldestHeldSequence: 1,
		SendTimeMs: time.Now().UnixMilli(),
		Topology: &pb.TopologyInfo{Name: hostileTopology, Id: hostileTopology + "-1-1800000000",
			StormVersion: "2.8.3"},
		Samples: &pb.SampleColumns{BaseTimeMs: end.Add(-readings * 10 * time.Second).UnixMilli()}}
	define := func(host, component, name string, task int32, key []string, kind pb.Temporality, shape pb.Shape,
		value func(i int) float64, silent bool) {
		id := uint32(len(batch.Series) + 1)
		batch.Series = append(batch.Series, &pb.SeriesDefinition{Id: id, Host: host, Port: 6700, Component: component,
			Task: task, Name: name, Key: key, IntervalMs: 10_000, Shape: shape, Temporality: kind})
		for i := range readings {
			if silent && i >= 60 && i < 78 {
				continue
			}
			s := batch.Samples
			s.SeriesIds, s.TimeOffsetsMs, s.Values = append(s.SeriesIds, id),
				append(s.TimeOffsetsMs, int64(i)*10_000+9_900), append(s.Values, value(i))
		}
	}
	gauge, total := pb.Temporality_TEMPORALITY_GAUGE, pb.Temporality_TEMPORALITY_CUMULATIVE
	for w, host := range hostileHosts {
		k := float64(w + 1)
		define(host, "__system", "cpu.user_ms", -1, nil, total, pb.Shape_SHAPE_SAMPLER,
			func(i int) float64 { return 5000*k*float64(i) + 800*float64(i%6) }, w == 1)
		define(host, "__system", "heap.used_bytes", -1, nil, gauge, pb.Shape_SHAPE_SAMPLER,
			func(i int) float64 { return (100*k + float64(i*7%50)) * (1 << 20) }, w == 1)
		define(host, "__system", "gc.time_ms", -1, []string{"G1 Young"}, total, pb.Shape_SHAPE_SAMPLER,
			func(i int) float64 { return 40 * k * float64(i) }, w == 1)
		define(host, "__system", "host.cpu_ms", -1, []string{"steal"}, total, pb.Shape_SHAPE_SAMPLER,
			func(i int) float64 { return float64(hostileSteal[w] * max(0, i-readings/2)) }, w == 1)
		define(host, "__system", "host.cpu_cores", -1, nil, gauge, pb.Shape_SHAPE_SAMPLER,
			func(int) float64 { return 4 }, w == 1)
		define(host, "FilterBolt", "bullet_filter_latency", int32(w+10), nil, pb.Temporality_TEMPORALITY_UNSPECIFIED,
			pb.Shape_SHAPE_NUMBER, func(i int) float64 { return 40*k + float64(i*i%200) }, w == 1)
	}
	define(hostileHosts[0], "JoinBolt", "bullet_active_queries", 5, nil, pb.Temporality_TEMPORALITY_UNSPECIFIED,
		pb.Shape_SHAPE_NUMBER, func(i int) float64 { return float64(10 * (i / 30)) }, false)
	r.sendAs(hostileTopology, batch)
}

func (r *running) sendAs(topology string, batch *pb.Batch) { r.sendFrom("h", topology, batch) }

// sendFrom sends as the metrics consumer in the worker of a host.
func (r *running) sendFrom(host, topology string, batch *pb.Batch) {
	require.NoError(r.t, r.export(host, topology, batch))
}

func (r *running) export(host, topology string, batch *pb.Batch) error {
	connection, err := grpc.NewClient(r.col.grpcListener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := pb.NewIngestServiceClient(connection).Export(r.t.Context())
	if err != nil {
		return err
	}
	if err = stream.Send(
		&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: topology, TopologyId: topology +
			"-1-1800000000", Host: host, Port: 6700, Task: 3}}}); err != nil {
		return err
	}
	if _, err = stream.Recv(); err != nil {
		return err
	}
	if err = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: batch}}); err != nil {
		return err
	}
	answer, err := stream.Recv()
	if err == nil && len(answer.GetAcknowledgement().GetRejections()) > 0 {
		err = fmt.Errorf("rejected: %v", answer)
	}
	return err
}

// annotateAll sets a step, a change and a restart over the recorded run, and what is hostile over the made-up one.
func (r *running) annotateAll() {
	now := time.Now().UTC()
	for _, a := range []map[string]any{
		{"topology": "bullet", "time": 1795276160, "end_time": 1795276200, "title": "10 queries", "text": "a step",
			"tags": []string{"step"}},
		{"topology": "bullet", "time": 1795276200, "end_time": 1795276260, "title": "20 queries", "text": "a step",
			"tags": []string{"step"}},
		{"topology": "bullet", "time": 1795276180, "title": "filter bolts 2 -> 4", "text": "- 2\n+ 4",
			"tags": []string{"config"}},
		{"topology": "bullet", "time": 1795276210, "title": "Worker 127.0.0.1:10068 restarted", "text": "",
			"tags": []string{"restart"}},
		{"topology": hostileTopology, "time": now.Add(-time.Minute).Format(time.RFC3339),
			"title": "<script>document.title='owned'</script>\u202e", "text": strings.Repeat("<b>x</b>", 100),
			"tags": []string{"<i>tag</i>"}},
	} {
		body, err := json.Marshal(a)
		require.NoError(r.t, err)
		response, err := http.Post(r.listenAddress()+"/api/v1/annotations", "application/json", bytes.NewReader(body))
		require.NoError(r.t, err)
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		require.Equal(r.t, http.StatusOK, response.StatusCode, fmt.Sprintf("%s: %s", body, text))
	}
}
