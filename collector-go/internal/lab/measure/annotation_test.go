package measure

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// answering returns a collector that gives one answer, and the requests that it received.
func answering(t *testing.T, answer string) (c *Collector, asked *[]string) {
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type")+" "+string(body))
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	c, err := NewCollector(strings.TrimPrefix(server.URL, "http://"), CollectorAccess{})
	require.NoError(t, err)
	return c, asked
}

func TestAMarkIsSet(t *testing.T) {
	c, asked := answering(t, `{"status":"success","data":{}}`)
	at := time.UnixMilli(1_800_000_000_250)
	require.NoError(t, c.Annotate(t.Context(), Annotation{Topology: "b",
		Annotation: runstore.Annotation{ID: "s1", StartMs: at.UnixMilli(), Title: "T", Tags: []string{"step"}}}))
	require.NoError(t, c.Annotate(t.Context(), Annotation{Topology: "b",
		Annotation: runstore.Annotation{ID: "s1", StartMs: at.UnixMilli(), EndMs: at.UnixMilli() + 1000}}))
	require.Len(t, *asked, 2)
	var sent map[string]any
	body, ok := strings.CutPrefix((*asked)[0], "POST /api/v1/annotations application/json ")
	require.True(t, ok, (*asked)[0])
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	assert.Equal(t, map[string]any{"id": "s1", "topology": "b", "time": 1_800_000_000.25, "title": "T", "text": "",
		"tags": []any{"step"}}, sent)
	assert.Contains(t, (*asked)[1], `"end_time":1800000001.25`)
}

func TestAnAnnotationThatIsRefusedIsReported(t *testing.T) {
	c, _ := answering(t, `{"status":"error","errorType":"bad_data","error":"title is missing"}`)
	assert.ErrorContains(t, c.Annotate(t.Context(), Annotation{}),
		"the collector refuses /api/v1/annotations: title is missing")
}

func TestMarksAreListed(t *testing.T) {
	c, asked := answering(t,
		`{"status":"success","data":[{"id":"s1","topology":"b c","time":"2027-01-15T08:00:00.250Z","end_time":"2027-01-15T08:00:01.000Z",`+
			`"title":"T","text":"x","tags":["step"],"origin":"api"},{"id":"s2","time":"2027-01-15T08:00:02.000Z"}]}`)
	found, err := c.AnnotationsTagged(t.Context(), "b c", "step")
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, int64(1_800_000_000_250), found[0].StartMs)
	assert.Equal(t, int64(1_800_000_001_000), found[0].EndMs)
	assert.Zero(t, found[1].EndMs)
	assert.Contains(t, (*asked)[0], "tag=step&topology=b+c")
}

func TestATopologyIsReadForTheManifest(t *testing.T) {
	c, asked := answering(t,
		`{"status":"success","data":{"name":"b","id":"b-1-2","versions":{"storm":"2.8.3","bullet":"1.5.2","java":"17","plugin":"1"},`+
			`"components":[{"name":"FilterBolt","parallelism":4},{"name":"__acker","parallelism":2}],"settings":{"worker.childopts":"-Xmx1g","topology.worker.childopts":"-XX:+UseG1GC"},`+
			`"resources":{"totals":{"parallelism":6,"cpu_cores":1.5,"total_memory_mib":1024}}}}`)
	topology, err := c.Topology(t.Context(), "b/c")
	require.NoError(t, err)
	reported := topology.ReportedConfig(1 << 30)
	assert.Equal(t, runstore.ReportedConfig{TopologyID: "b-1-2", Bullet: "1.5.2", Storm: "2.8.3", WorkerJava: "17",
		Plugin:      "1",
		WorkerFlags: "-Xmx1g -XX:+UseG1GC", HeapFlags: "-Xmx1g",
		GCFlags: "-XX:+UseG1GC", HeapLimitBytes: 1 << 30, Executors: "FilterBolt 4",
		Requested: "6 executors, 1.5 cores, 1024 MiB",
		Settings: []runstore.Entry{{Key: "topology.worker.childopts", Value: "-XX:+UseG1GC"},
			{Key: "worker.childopts", Value: "-Xmx1g"}}}, reported)
	assert.Contains(t, (*asked)[0], "GET /api/v1/topologies/b%2Fc ")
}
