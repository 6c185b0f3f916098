package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

var updateDocs = flag.Bool("docs", false, "write the answers into docs/topologies.md and docs/annotations.md")

// reported is a topology as the plugin reports it, with two workers on two hosts.
type reported struct {
	t        *testing.T
	journal  *journal.Journal
	registry *registry.Registry
	clockMs  int64
	producer journal.ProducerID
	sequence uint64
}

type noRetention struct{}

func (noRetention) Join(string, func(journal.Position)) {}
func (noRetention) Need(string, journal.Position) error { return nil }

func startReported(t *testing.T) *reported {
	w := &reported{t: t, clockMs: 1_800_000_000_000}
	var err error
	w.journal, err = journal.Open(t.TempDir(), journal.DefaultOptions())
	require.NoError(t, err)
	o := registry.DefaultOptions(t.TempDir())
	o.Now = func() time.Time { return time.UnixMilli(w.clockMs) }
	w.registry, err = registry.New(w.journal, noRetention{}, o)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- w.registry.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, w.journal.Close())
		require.NoError(t, <-done)
	})
	w.begin("bullet-1-1799999000", "worker-1", 12)
	w.send(&pb.Batch{Topology: reportedTopology("30", "1.5.1"), Workers: reportedWorkers(4711)})
	w.clockMs += 600_000
	w.begin("bullet-2-1800000590", "worker-1", 12)
	w.send(&pb.Batch{Topology: reportedTopology("60", "1.5.2"), Workers: reportedWorkers(5001)})
	w.clockMs += 10_000
	w.send(nil)
	// Everything that was appended before is applied when this annotation is.
	_, err = w.registry.Annotate(t.Context(), registry.Annotation{ID: "warm-up", Topology: "bullet", Title: "Warm-up",
		Tags: []string{"step"}})
	require.NoError(t, err)
	return w
}

func (w *reported) begin(id, host string, task int32) {
	var err error
	w.producer, err = w.journal.DefineProducer(journal.ProducerDefined{Topology: "bullet", TopologyID: id, Host: host,
		Port: 6700, Task: task})
	require.NoError(w.t, err)
	require.NoError(w.t, w.journal.AppendControl(&journal.Connected{Producer: w.producer, TimeMs: w.clockMs}))
}

// send sends a batch in which every task reports except for the consumer's.
func (w *reported) send(notes *pb.Batch) {
	w.sequence++
	b := &journal.Batch{Producer: w.producer, Epoch: journal.Epoch{1}, Sequence: w.sequence, SentMs: w.clockMs,
		ReceivedMs: w.clockMs + 3, Notes: notes}
	for _, s := range []struct {
		host, component string
		task            int32
	}{{"worker-1", "__system", -1}, {"worker-1", "DataSource", 1}, {"worker-1", "FilterBolt", 3},
		{"worker-2", "__system", -1}, {"worker-2", "DataSource", 2},
		{"worker-2", "FilterBolt", 4}, {"worker-2", "JoinBolt", 5}} {
		id, err := w.journal.Define(metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: s.host, Port: 6700},
			Component: s.component, Task: s.task, Name: "x",
			IntervalMs: 10_000})
		require.NoError(w.t, err)
		b.IDs, b.TimesMs, b.Values = append(b.IDs, id), append(b.TimesMs, w.clockMs), append(b.Values, 1)
	}
	done := make(chan error, 1)
	_, err := w.journal.Append(b, func(err error) { done <- err })
	require.NoError(w.t, err)
	require.NoError(w.t, <-done)
}

func reportedTopology(pending, bullet string) *pb.TopologyInfo {
	component := func(kind pb.ComponentKind, name string, parallelism uint32, cpu, on, off float64, tasks []int32,
		inputs ...*pb.ComponentInput) *pb.ComponentInfo {
		return &pb.ComponentInfo{Kind: kind, Name: name, Parallelism: parallelism, CpuPercent: cpu, OnHeapMib: on,
			OffHeapMib: off, Tasks: tasks, Inputs: inputs}
	}
	const spout, bolt = pb.ComponentKind_COMPONENT_KIND_SPOUT, pb.ComponentKind_COMPONENT_KIND_BOLT
	return &pb.TopologyInfo{
		Name: "bullet", StormVersion: "2.8.3", BulletVersion: bullet, JavaVersion: "17.0.12", PluginVersion: "0.1.0",
		Settings: map[string]string{"topology.max.spout.pending": pending, "topology.workers": "2",
			"topology.worker.childopts": "-XX:+UseG1GC"},
		Components: []*pb.ComponentInfo{
			component(spout, "DataSource", 2, 50, 256, 160, []int32{1, 2}),
			component(bolt, "FilterBolt", 2, 100, 256, 160, []int32{3, 4},
				&pb.ComponentInput{Component: "DataSource", Stream: "default", Grouping: "shuffle"}),
			component(bolt, "JoinBolt", 1, 100, 512, 160, []int32{5},
				&pb.ComponentInput{Component: "FilterBolt", Stream: "default", Grouping: "fields",
					Fields: []string{"id"}}),
			component(bolt, "__metrics_io.github.bulletmetrics.storm.StormMetricsConsumer", 1, 10, 128, 0, []int32{12}),
		},
	}
}

func reportedWorkers(pid uint64) []*pb.WorkerInfo {
	return []*pb.WorkerInfo{
		{Host: "worker-1", Port: 6700, Pid: pid, StartTimeMs: 1_799_999_020_000 + int64(pid)},
		{Host: "worker-2", Port: 6700, Pid: pid + 1, StartTimeMs: 1_799_999_021_000 + int64(pid)},
	}
}

func (w *reported) handler(change ...func(*Options)) http.Handler {
	return handlerOver(w.t, empty{},
		append(change, func(o *Options) { o.Registry, o.Hosts = w.registry, []string{"example.com"} })...)
}

// The examples in the documentation are the API's real answers. A block consists of a request, an empty line and the
// answer.
func TestThePagesOfTopologiesShowWhatIsAnswered(t *testing.T) {
	w := startReported(t)
	h := w.handler()
	const open, end = "```http\n", "\n```\n"
	for _, page := range []struct {
		path     string
		examples int
	}{{"../../../../docs/topologies.md", 2}, {"../../../../docs/annotations.md", 3}} {
		text, err := os.ReadFile(page.path)
		require.NoError(t, err)
		parts := strings.Split(string(text), open)
		require.Len(t, parts, 1+page.examples)
		for i, part := range parts[1:] {
			example, rest, _ := strings.Cut(part, end)
			request, answered, _ := strings.Cut(example, "\n\n")
			request = strings.TrimSpace(request)
			got := answerOf(t, h, request)
			if *updateDocs {
				parts[i+1] = request + "\n\n" + got + end + rest
				continue
			}
			assert.Equal(t, answered, got, "%s; go test ./internal/serve/httpapi -run Pages -docs writes it", request)
		}
		if *updateDocs {
			require.NoError(t, os.WriteFile(page.path, []byte(strings.Join(parts, open)), 0o644))
		}
	}
}

func answerOf(t *testing.T, h http.Handler, request string) string {
	line, body, _ := strings.Cut(request, "\n")
	method, target, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	out := &bytes.Buffer{}
	require.NoError(t, json.Indent(out, recorder.Body.Bytes(), "", "  "), recorder.Body.String())
	return out.String()
}

// post sets an annotation and returns the status and body of the answer.
func post(h http.Handler, body string, headers ...string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "http://localhost:9320/api/v1/annotations", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	answer, _ := io.ReadAll(recorder.Result().Body)
	return recorder.Code, string(answer)
}

func TestAWebPageElsewhereCannotAnnotate(t *testing.T) {
	w := startReported(t)
	h := w.handler()
	const body = `{"id":"x","topology":"bullet","title":"Mine"}`
	for name, c := range map[string]struct {
		headers []string
		code    int
	}{
		"a program": {nil, http.StatusOK},
		"our own page": {[]string{"Origin", "http://localhost:9320", "Sec-Fetch-Site", "same-origin"},
			http.StatusOK},
		"an older browser on our page": {[]string{"Origin", "http://localhost:9320"}, http.StatusOK},
		"another page": {[]string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
			http.StatusForbidden},
		"another port": {[]string{"Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-site"},
			http.StatusForbidden},
		"an older browser elsewhere":   {[]string{"Origin", "http://evil.example"}, http.StatusForbidden},
		"a page without an origin":     {[]string{"Origin", "null"}, http.StatusForbidden},
		"a form, which needs no leave": {[]string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		"a form of another kind": {[]string{"Content-Type", "application/x-www-form-urlencoded"},
			http.StatusUnsupportedMediaType},
		"JSON with a charset":           {[]string{"Content-Type", "application/json; charset=utf-8"}, http.StatusOK},
		"a content type that is broken": {[]string{"Content-Type", ";"}, http.StatusUnsupportedMediaType},
	} {
		code, answer := post(h, body, c.headers...)
		assert.Equal(t, c.code, code, "%s: %s", name, answer)
	}
	r := httptest.NewRequest(http.MethodPost, "http://rebound.example/api/v1/annotations", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	assert.Equal(t, http.StatusForbidden, recorder.Code, "by a name that is not the server's")
}

func TestATokenIsAskedForWhereThereAreTokens(t *testing.T) {
	w := startReported(t)
	h := w.handler(func(o *Options) {
		tokens := accesstest.TokenFile(t, filepath.Join(t.TempDir(), "tokens"), "right write bullet", "reader read")
		o.Guard = guardOf(t, access.Options{WriteTokenFile: tokens})
	})
	code, answer := post(h, `{"topology":"bullet","title":"x"}`)
	assert.Equal(t, http.StatusUnauthorized, code)
	assert.Equal(t, `{"status":"error","errorType":"unauthorized","error":"no token: send the header \"authorization: Bearer \u003ctoken\u003e\""}`,
		answer)
	code, _ = post(h, `{"topology":"bullet","title":"x"}`, "Authorization", "Bearer wrong")
	assert.Equal(t, http.StatusUnauthorized, code)
	code, _ = post(h, `{"topology":"bullet","title":"x"}`, "Authorization", "Bearer reader")
	assert.Equal(t, http.StatusForbidden, code)
	code, answer = post(h, `{"topology":"other","title":"x"}`, "Authorization", "Bearer right")
	assert.Equal(t, http.StatusForbidden, code)
	assert.Contains(t, answer, `has no access to topology \"other\"`)
	code, _ = post(h, `{"topology":"bullet","title":"x"}`, "Authorization", "Bearer right")
	assert.Equal(t, http.StatusOK, code)
}

func TestWhatIsWrongWithAnAnnotationIsAnswered(t *testing.T) {
	w := startReported(t)
	h := w.handler()
	for body, want := range map[string]string{
		``:                      "invalid annotation: not JSON: unexpected end of JSON input, at byte 0",
		`{"topology":"bullet"}`: "title is missing; it is required for a new annotation",
		`{"title":"x"}`:         "topology is missing: name the topology that the annotation belongs to",
		`{"topology":"bullet","title":"x","time":"yesterday"}`:      `time: cannot parse "yesterday" to a valid timestamp`,
		`{"topology":"bullet","title":"x","time":true}`:             "invalid annotation: time must be Unix seconds or an RFC 3339 string",
		`{"topology":"bullet","title":"x","end_time":-1}`:           `end_time: "-1" is not between the years 1970 and 9999`,
		`{"topology":"bullet","title":"x","time":1e300}`:            `time: "1e300" is not between the years 1970 and 9999`,
		`{"topology":"bullet","title":"x","time":20,"end_time":10}`: "end_time is before time",
	} {
		code, answer := post(h, body)
		assert.Equal(t, http.StatusBadRequest, code)
		var said struct{ ErrorType, Error string }
		require.NoError(t, json.Unmarshal([]byte(answer), &said), answer)
		assert.Equal(t, "bad_data", said.ErrorType)
		assert.Equal(t, want, said.Error)
	}
	code, _ := post(h, `{"topology":"bullet","title":"x","text":"`+strings.Repeat("x", maxAnnotationBytes)+`"}`)
	assert.Equal(t, http.StatusRequestEntityTooLarge, code)
}

func TestAnnotationsAreSelected(t *testing.T) {
	w := startReported(t)
	h := w.handler()
	code, answer := post(h,
		`{"id":"s1","topology":"bullet","title":"One","time":1800000700,"end_time":"2027-01-15T08:12:00Z","tags":["step","demo"]}`)
	require.Equal(t, http.StatusOK, code, answer)
	code, answer = post(h, `{"id":"s2","topology":"other","title":"Two","time":1800000710.5,"tags":["step"]}`)
	require.Equal(t, http.StatusOK, code, answer)
	for query, want := range map[string]string{
		"tag=step":                               "Warm-up,One,Two",
		"tag=step&tag=demo":                      "One",
		"topology=other":                         "Two",
		"start=1800000721":                       "",
		"start=1800000720":                       "One",
		"start=1800000720&end=1800000720":        "One",
		"tag=step&limit=1":                       "Two",
		"tag=config":                             "Another version of Bullet,Changed topology.max.spout.pending",
		"tag=submitted&end=2027-01-15T08:00:00Z": "Topology bullet submitted",
	} {
		var said struct{ Data []struct{ Title string } }
		_, body, _ := strings.Cut(get(t, h, "/api/v1/annotations?"+query), "\n\n")
		require.NoError(t, json.Unmarshal([]byte(body), &said), body)
		var titles []string
		for _, a := range said.Data {
			titles = append(titles, a.Title)
		}
		assert.Equal(t, want, strings.Join(titles, ","), query)
	}
	assertRefused(t, h, "/api/v1/annotations?start=x", http.StatusBadRequest,
		`invalid parameter "start": invalid time value for 'start': cannot parse "x" to a valid timestamp`)
	assertRefused(t, h, "/api/v1/annotations?limit=-1", http.StatusBadRequest,
		`invalid parameter "limit": limit must be non-negative`)
}

func TestATopologyThatIsNotKnownIsNotFound(t *testing.T) {
	w := startReported(t)
	h := w.handler()
	assertRefused(t, h, "/api/v1/topologies/x", http.StatusNotFound,
		`topology "x" has not reported; /api/v1/topologies lists the known topologies`)
	assertRefused(t, h, "/api/v1/topologies/bullet?id=x", http.StatusNotFound,
		`no run of topology "bullet" has the id "x"; /api/v1/topologies/{name} lists the known runs`)
	assert.Contains(t, get(t, h, "/api/v1/topologies/bullet?id=bullet-1-1799999000"),
		`"topology.max.spout.pending":"30"`)
}

func assertRefused(t *testing.T, h http.Handler, target string, code int, why string) {
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, target, nil))
	assert.Equal(t, code, recorder.Code)
	var said struct{ Error string }
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &said))
	assert.Equal(t, why, said.Error)
}
