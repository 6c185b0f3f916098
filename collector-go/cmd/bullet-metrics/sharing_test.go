package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// newEngine is an engine elsewhere: Prometheus' database, which takes remote write at /api/v1/write and answers as we
// do.
func newEngine(t *testing.T) *httptest.Server {
	o := tsdb.DefaultOptions()
	o.OutOfOrderTimeWindow = 2 * time.Hour.Milliseconds()
	db, err := tsdb.Open(t.TempDir(), nil, nil, o, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	engine, err := query.New(db, query.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	answering := httpapi.DefaultOptions()
	answering.Engine, answering.Gatherer = engine, prometheus.NewRegistry()
	api, err := httpapi.New(answering)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("POST /api/v1/write", func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		assert.NoError(t, err)
		raw, err := snappy.Decode(nil, body)
		assert.NoError(t, err)
		var write prompb.WriteRequest
		assert.NoError(t, write.Unmarshal(raw))
		into := db.Appender(request.Context())
		for _, series := range write.Timeseries {
			b := labels.NewScratchBuilder(8)
			lset := series.ToLabels(&b, nil)
			for _, s := range series.Samples {
				_, err := into.Append(0, lset, s.Timestamp, s.Value)
				assert.NoError(t, err, lset)
			}
		}
		assert.NoError(t, into.Commit())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// overEngine starts a collector that writes to an engine and is answered by it.
func overEngine(t *testing.T, write, ask string) *running {
	c := settings(filepath.Join(t.TempDir(), "data"))
	c.Embedded.Enabled, c.Rules.BuiltIn = false, false
	to := toReceiver(write)
	to.Required = true
	c.Stores["remote_write"]["engine"], c.Query.URL = to, ask
	require.NoError(t, c.Validate())
	return startCollector(t, c)
}

// Two collectors over one engine: each lists the other's topologies, with versions and workers, and shows what the
// other's annotations are, without an id of it; its own ones once.
func TestCollectorsOverOneEngineShareWhatTheyKnow(t *testing.T) {
	engine := newEngine(t)
	collectorsShare(t, overEngine(t, engine.URL+"/api/v1/write", engine.URL),
		overEngine(t, engine.URL+"/api/v1/write", engine.URL))
}

// collectorsShare plays that on two collectors that were just started.
func collectorsShare(t *testing.T, one, other *running) {
	t.Helper()
	end := time.Now().Truncate(10 * time.Second)
	for topology, r := range map[string]*running{"first": one, "second": other} {
		batch := minute(1, end)
		batch.Topology = &pb.TopologyInfo{Id: topology + "-1", StormVersion: "2.8.1", BulletVersion: "1.3.2",
			JavaVersion: "17", PluginVersion: "0.2.0"}
		batch.Workers = []*pb.WorkerInfo{{Host: "h", Port: 6700, Pid: 4711, StartTimeMs: end.UnixMilli()}}
		r.sendOf(topology, batch)
	}
	began := end.Add(-10 * time.Minute).UTC().Format(time.RFC3339)
	ended := end.Add(-2 * time.Minute).UTC().Format(time.RFC3339)
	one.annotate(`{"id": "private-1", "topology": "first", "time": "` + began + `", "title": "Step 1", "text": "` +
		strings.Repeat("x", 300) + `", "tags": ["step", "private-run"]}`)
	one.annotate(`{"id": "private-1", "topology": "first", "end_time": "` + ended + `"}`)
	other.annotate(`{"topology": "second", "title": "Maintenance", "tags": ["planned"]}`)

	type known struct {
		ID, Topology, Title, Text, Origin string
		Time                              time.Time
		EndTime                           time.Time `json:"end_time"`
		Tags                              []string
	}
	titled := func(r *running, title string) (found []known) {
		var all []known
		r.data("/api/v1/annotations?start="+began+"&end="+end.Add(time.Hour).Format(time.RFC3339), &all)
		for _, a := range all {
			if a.Title == title {
				found = append(found, a)
			}
		}
		return found
	}
	require.Eventually(t, func() bool {
		step := titled(other, "Step 1")
		return len(step) == 1 && !step[0].EndTime.IsZero() && len(titled(one, "Maintenance")) == 1 &&
			len(titled(one, "Topology second submitted")) == 1
	}, time.Minute, 100*time.Millisecond)
	step := titled(other, "Step 1")[0]
	assert.Equal(t, "engine", step.Origin)
	assert.Equal(t, []string{"step"}, step.Tags)
	assert.Equal(t, strings.Repeat("x", 197)+"...", step.Text)
	assert.Equal(t, began, step.Time.Format(time.RFC3339))
	assert.Equal(t, ended, step.EndTime.Format(time.RFC3339))
	mine := titled(one, "Step 1")
	require.Len(t, mine, 1, "what comes back from the engine is not another one")
	assert.Equal(t, "api", mine[0].Origin)
	assert.NotContains(t, other.body("/api/v1/annotations"), "private")
	assert.NotContains(t, other.body("/api/v1/series?match[]={topology=%22first%22}"), "private")
	assert.Contains(t, other.body("/api/v1/query?query=last_over_time(bullet_annotation_start_seconds[1h])"), "Step 1")

	type listed struct {
		Name      string
		Alive     bool
		Federated bool `json:"elsewhere"`
		Versions  struct{ Storm string }
		Workers   int `json:"worker_count"`
	}
	var all []listed
	require.Eventually(t, func() bool {
		all = nil
		other.data("/api/v1/topologies", &all)
		return len(all) == 2 && all[0].Workers == 1
	}, time.Minute, 100*time.Millisecond, "%v", &all)
	first, second := all[0], all[1]
	assert.Equal(t, listed{Name: "first", Alive: true, Federated: true, Versions: struct{ Storm string }{"2.8.1"},
		Workers: 1}, first)
	assert.Equal(t, "second", second.Name)
	assert.False(t, second.Federated)
	whole := other.body("/api/v1/topologies/first")
	assert.Contains(t, whole, `"worker":"h:6700"`)
	assert.Contains(t, whole, `"pid":4711`)
	const taken = `bullet_metrics_worker_tasks{component="unknown",topology="first"`
	assert.Contains(t, one.body("/metrics"), taken)
	assert.NotContains(t, other.body("/metrics"), taken, "alerts go by what a collector takes itself")
}

// annotate sets an annotation.
func (r *running) annotate(body string) {
	response, err := http.Post("http://"+r.col.httpListener.Addr().String()+"/api/v1/annotations", "application/json",
		strings.NewReader(body))
	require.NoError(r.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, response.StatusCode, string(text))
}

// data reads what an answer has.
func (r *running) data(path string, into any) {
	var answer struct{ Data json.RawMessage }
	require.NoError(r.t, json.Unmarshal([]byte(r.body(path)), &answer))
	require.NoError(r.t, json.Unmarshal(answer.Data, into))
}
