package httpapi

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// failing is a store that returns errors.
type failing struct{ err error }

func (f failing) Querier(int64, int64) (storage.Querier, error) { return nil, f.err }

// empty is a store without data.
type empty struct{}

func (empty) Querier(int64, int64) (storage.Querier, error) { return storage.NoopQuerier(), nil }

// waiting is a store that answers when the test releases it.
type waiting struct {
	asked, go_ chan struct{}
}

func (w waiting) Querier(int64, int64) (storage.Querier, error) {
	close(w.asked)
	<-w.go_
	return storage.NoopQuerier(), nil
}

func handlerOver(t testing.TB, store storage.Queryable, change ...func(*Options)) http.Handler {
	engine, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	options := DefaultOptions()
	options.Engine, options.Gatherer = engine, prometheus.NewRegistry()
	for _, f := range change {
		f(&options)
	}
	handler, err := New(options)
	require.NoError(t, err)
	return handler
}

func call(t testing.TB, h http.Handler, r *http.Request) string {
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	return show(t, recorder.Result())
}

func get(t testing.TB, h http.Handler, target string) string {
	return call(t, h, httptest.NewRequest(http.MethodGet, target, nil))
}

func TestErrorsOfTheStore(t *testing.T) {
	h := handlerOver(t, failing{errors.New("the disk is gone")})
	for target, want := range map[string]string{
		"/api/v1/query?query=up&time=1":                     `422 {"status":"error","errorType":"execution","error":"the disk is gone"}`,
		"/api/v1/query_range?query=up&start=1&end=2&step=1": `422 {"status":"error","errorType":"execution","error":"the disk is gone"}`,
		"/api/v1/labels":                                    `422 {"status":"error","errorType":"execution","error":"the disk is gone"}`,
		"/api/v1/label/a/values":                            `422 {"status":"error","errorType":"execution","error":"the disk is gone"}`,
		"/api/v1/series?match[]=up":                         `422 {"status":"error","errorType":"execution","error":"the disk is gone"}`,
		"/api/v1/metadata":                                  `200 {"status":"success","data":{}}`,
	} {
		got := get(t, h, "http://localhost"+target)
		code, body, _ := strings.Cut(got, "\nContent-Type: application/json\n\n")
		assert.Equal(t, want, code+" "+strings.TrimSpace(body), target)
	}
}

// An error of the store differs from an error in the query.
func TestErrorWhileReading(t *testing.T) {
	h := handlerOver(t, storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		return storage.NewMergeQuerier([]storage.Querier{breaking{storage.NoopQuerier()}}, nil,
			storage.ChainedSeriesMerge), nil
	}))
	want := "500\nContent-Type: application/json\n\n" +
		`{"status":"error","errorType":"internal","error":"expanding series: a block is broken"}` + "\n"
	assert.Equal(t, want, get(t, h, "http://localhost/api/v1/query?query=up&time=1"))
}

type breaking struct{ storage.Querier }

func (breaking) Select(context.Context, bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
	return storage.ErrSeriesSet(promql.ErrStorage{Err: errors.New("a block is broken")})
}

func TestClientThatWentAway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := waiting{make(chan struct{}), make(chan struct{})}
	h := handlerOver(t, store)
	answer := make(chan string)
	go func() {
		answer <- call(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet,
			"http://localhost/api/v1/query?query=up&time=1", nil))
	}()
	<-store.asked
	cancel()
	close(store.go_)
	assert.Contains(t, <-answer,
		"499\nContent-Type: application/json\n\n{\"status\":\"error\",\"errorType\":\"canceled\"")
}

// endless is a querier that reads until its time is over.
type endless struct{ storage.Querier }

func (endless) Select(ctx context.Context, _ bool, _ *storage.SelectHints, _ ...*labels.Matcher) storage.SeriesSet {
	<-ctx.Done()
	return storage.ErrSeriesSet(ctx.Err())
}

func TestQueryThatTakesTooLong(t *testing.T) {
	h := handlerOver(t, storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		return endless{storage.NoopQuerier()}, nil
	}))
	for _, target := range []string{"query?query=up&time=1&timeout=300ms",
		"query_range?query=up&start=1&end=2&step=1&timeout=0.3"} {
		assert.Equal(t, "503\nContent-Type: application/json\n\n"+
			`{"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}`+"\n",
			get(t, h, "http://localhost/api/v1/"+target))
	}
}

func TestRequestThatTakesTooLong(t *testing.T) {
	h := handlerOver(t, failing{errors.New("not asked")}, func(o *Options) { o.RequestTimeout = time.Nanosecond })
	assert.Contains(t, get(t, h, "http://localhost/api/v1/query?query=up&time=1"), `"status":"error"`)
}

func TestBodyThatIsTooLarge(t *testing.T) {
	h := handlerOver(t, failing{errors.New("not asked")}, func(o *Options) { o.MaxBodyBytes = 100 })
	for _, path := range []string{"/api/v1/query", "/api/v1/series", "/api/v1/labels"} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+path,
			strings.NewReader(url.Values{"query": {strings.Repeat("a", 200)}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		assert.Contains(t, call(t, h, r),
			"413\nContent-Type: application/json\n\n{\"status\":\"error\",\"errorType\":\"bad_data\"", path)
	}
}

func TestHostHeader(t *testing.T) {
	h := handlerOver(t, empty{}, func(o *Options) { o.Hosts = []string{"Metrics.Example.com"} })
	for host, code := range map[string]string{
		"localhost": "200", "localhost:9320": "200", "LOCALHOST.": "200", "127.0.0.1:9320": "200", "[::1]:9320": "200",
		"10.1.2.3":            "200",
		"metrics.example.com": "200", "metrics.example.com:9320": "200", "metrics.example.com.:1": "200",
		"evil.example": "403", "localhost.evil.example:9320": "403", "metrics.example.com.evil": "403",
		"127.0.0.1.evil": "403",
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/-/healthy", nil)
		r.Host = host
		assert.Equal(t, code, call(t, h, r)[:3], host)
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/-/healthy", nil)
	r.Host = "evil.example"
	assert.Contains(t, call(t, h, r), "http.allowed_hosts")
}

func TestHealthAndPage(t *testing.T) {
	reason := "the journal is full"
	h := handlerOver(t, empty{}, func(o *Options) { o.Ready = func() string { return reason } })
	assert.Equal(t, "200\nContent-Type: text/plain; charset=utf-8\n\nBullet Metrics is Healthy.\n",
		get(t, h, "http://localhost/-/healthy"))
	assert.Equal(t, "503\nContent-Type: text/plain; charset=utf-8\n\nService Unavailable: the journal is full\n",
		get(t, h, "http://localhost/-/ready"))
	assert.Equal(t, "200", get(t, h, "http://localhost/api/v1/query?query=1&time=1")[:3],
		"a full journal is when people ask")
	reason = ""
	assert.Equal(t, "200\nContent-Type: text/plain; charset=utf-8\n\nBullet Metrics is Ready.\n",
		get(t, h, "http://localhost/-/ready"))
	assert.Contains(t, get(t, h, "http://localhost/api/v1/runs"), "runs.dir is not set")
	assert.Equal(t, "404", get(t, h, "http://localhost/nothing")[:3])
}

func TestOwnFigures(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	h := handlerOver(t, empty{}, func(o *Options) { o.Gatherer, o.Registerer = registry, registry })
	get(t, h, "http://localhost/api/v1/query?query=1&time=1")
	get(t, h, "http://localhost/made/up")
	figures := get(t, h, "http://localhost/metrics")
	assert.Contains(t, figures, `bullet_metrics_http_request_seconds_count{code="200",route="GET /api/v1/query"} 1`)
	assert.Contains(t, figures, `bullet_metrics_http_request_seconds_count{code="404",route="none"} 1`)
}

func TestStatus(t *testing.T) {
	h := handlerOver(t, empty{}, func(o *Options) { o.Version.Revision, o.StorageRetention = "abc", "15d" })
	build := get(t, h, "http://localhost/api/v1/status/buildinfo")
	assert.Regexp(t, `"data":\{"version":"(3\.15\.0)?","revision":"abc","branch":"","buildUser":"","buildDate":"","goVersion":"go1\.`,
		build)
	// The program knows the versions of its modules, but a test binary does not.
	assert.Regexp(t, `"data":\{"startTime":"20.*Z","CWD":"/.*","hostname":".+","serverTime":"20.*Z","reloadConfigSuccess":true,.*"GOMAXPROCS":\d+,.*"storageRetention":"15d"\}`,
		get(t, h, "http://localhost/api/v1/status/runtimeinfo"))
}

func TestReleaseOfALibrary(t *testing.T) {
	for module, release := range map[string]string{"v0.315.0": "3.15.0", "v0.301.2": "3.1.2", "(devel)": "",
		"v2.1.0": ""} {
		assert.Equal(t, release, releaseOf(module), module)
	}
}

func TestMetadata(t *testing.T) {
	h := handlerOver(t, empty{}, func(o *Options) {
		o.Metadata = described{"b_bytes": {Type: "gauge", Unit: "bytes", Help: "<B>"},
			"a_total": {Type: "counter", Help: "A."}}
	})
	a, b := `"a_total":[{"type":"counter","unit":"","help":"A."}]`,
		`"b_bytes":[{"type":"gauge","unit":"bytes","help":"\u003cB\u003e"}]`
	for parameters, want := range map[string]string{
		"": a + "," + b, "?metric=b_bytes": b, "?metric=c": "", "?limit=1": a, "?limit=0": "",
		"?limit_per_metric=1": a + "," + b, "?limit=-1": a + "," + b,
	} {
		assert.Equal(t, "200\nContent-Type: application/json\n\n{\"status\":\"success\",\"data\":{"+want+"}}\n",
			get(t, h, "http://localhost/api/v1/metadata"+parameters), parameters)
	}
}

func TestCompression(t *testing.T) {
	h := handlerOver(t, empty{})
	r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/query?query=1&time=1", nil)
	r.Header.Set("Accept-Encoding", "br, gzip")
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	assert.Equal(t, "gzip", recorder.Header().Get("Content-Encoding"))
	assert.Equal(t, "Accept-Encoding", recorder.Header().Get("Vary"))
	zipped, err := gzip.NewReader(recorder.Body)
	require.NoError(t, err)
	plain, err := io.ReadAll(zipped)
	require.NoError(t, err)
	assert.JSONEq(t, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`, string(plain))
}

func TestOptionsThatCannotBe(t *testing.T) {
	_, err := New(DefaultOptions())
	require.ErrorContains(t, err, "engine")
	for _, change := range []func(*Options){
		func(o *Options) { o.MaxBodyBytes = 0 }, func(o *Options) { o.MaxConnections = 0 },
		func(o *Options) { o.RequestTimeout = 0 }, func(o *Options) { o.ShutdownTimeout = -1 },
	} {
		engine, err := query.New(empty{}, query.DefaultOptions())
		require.NoError(t, err)
		options := DefaultOptions()
		options.Engine, options.Gatherer = engine, prometheus.NewRegistry()
		change(&options)
		_, err = NewServer(options)
		require.ErrorContains(t, err, "http: ")
	}
}

// run starts a server over a store that waits, with one request in flight.
func run(t *testing.T, shutdown time.Duration) (store waiting, stop context.CancelFunc, ended, answer chan error) {
	store = waiting{make(chan struct{}), make(chan struct{})}
	engine, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	options := DefaultOptions()
	options.Engine, options.Gatherer, options.ShutdownTimeout = engine, prometheus.NewRegistry(), shutdown
	server, err := NewServer(options)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended, answer = make(chan error, 1), make(chan error, 1)
	go func() { ended <- server.Run(ctx, listener) }()
	go func() {
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(httptest.NewRequest(http.MethodGet,
			"http://"+listener.Addr().String()+"/api/v1/query?query=up&time=1", nil))
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		answer <- err
	}()
	<-store.asked
	return store, stop, ended, answer
}

func TestRunLetsRequestsEnd(t *testing.T) {
	store, stop, ended, answer := run(t, time.Minute)
	stop()
	close(store.go_)
	require.NoError(t, <-answer)
	require.NoError(t, <-ended)
}

func TestRunCutsOffWhatDoesNotEnd(t *testing.T) {
	store, stop, ended, answer := run(t, time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	require.Error(t, <-answer)
	close(store.go_)
}

func TestRunReturnsWhatEndedIt(t *testing.T) {
	engine, err := query.New(empty{}, query.DefaultOptions())
	require.NoError(t, err)
	options := DefaultOptions()
	options.Engine, options.Gatherer = engine, prometheus.NewRegistry()
	server, err := NewServer(options)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	require.ErrorContains(t, server.Run(t.Context(), listener), "http: serve on 127.0.0.1:")
}

// During the replay of the journal, answers would lack acknowledged data. Requests wait for the replay, and are then
// refused with its progress. Endpoints that need no data answer at once.
func TestAnswersWaitForWhatWasAcknowledgedBeforeTheStart(t *testing.T) {
	started := make(chan struct{})
	h := handlerOver(t, empty{}, func(o *Options) {
		o.LoadTimeout = 10 * time.Millisecond
		o.Loaded = func(ctx context.Context) error {
			select {
			case <-started:
				return nil
			case <-ctx.Done():
				return errors.New("7 of the journal's 9 entries")
			}
		}
	})
	get := func(path string) string {
		return call(t, h, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
	}
	data := []string{"/api/v1/query?query=up", "/api/v1/query_range?query=up&start=1&end=2&step=1",
		"/api/v1/series?match[]=up", "/api/v1/labels", "/api/v1/label/a/values",
		"/api/v1/alerts", "/api/v1/rules", "/federate?match[]=up"}
	for _, path := range data {
		answer := get(path)
		assert.Contains(t, answer, "503", path)
		assert.Contains(t, answer, "7 of the journal's 9 entries", path)
	}
	for _, path := range []string{"/-/healthy", "/-/ready", "/metrics", "/api/v1/status/buildinfo"} {
		assert.Contains(t, get(path), "200", path)
	}
	close(started)
	for _, path := range data {
		assert.Contains(t, get(path), "200", path)
	}
}
