package httpapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/live"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

func guardOf(t *testing.T, o access.Options) *access.Guard {
	t.Helper()
	o.Port, o.Listen = access.HTTP, "127.0.0.1:9320"
	guard, err := access.Open(o)
	require.NoError(t, err)
	return guard
}

// allRoutes returns a handler with all routes, and one request per route.
func allRoutes(t *testing.T, guard *access.Guard) (http.Handler, []*http.Request) {
	t.Helper()
	w := startReported(t)
	var made []*http.Request
	h := w.handler(func(o *Options) {
		o.Guard, o.Page, o.Runs, o.Diagnose, o.Reloader = guard, http.NotFoundHandler(), nil, nil, &reloader{}
		o.Live = live.New(time.Now)
		for _, r := range newAPI(*o).routes() {
			method, path, _ := strings.Cut(r.pattern, " ")
			made = append(made, httptest.NewRequest(method, "http://localhost"+strings.NewReplacer("{name}", "x", "{$}",
				"").Replace(path), nil))
		}
	})
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions} {
		for _, path := range []string{"/nothing", "/metrics", "/debug/pprof/"} {
			made = append(made, httptest.NewRequest(method, "http://localhost"+path, nil))
		}
	}
	require.Greater(t, len(made), 30)
	return h, made
}

func responseTo(h http.Handler, r *http.Request, headers ...string) *http.Response {
	r = r.Clone(r.Context())
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	return recorder.Result()
}

// C5: no route answers requests of another site's page or with a foreign host name. Every answer forbids guessing its
// type.
func TestEveryRouteRefusesOtherSitesAndNames(t *testing.T) {
	h, routes := allRoutes(t, nil)
	for _, r := range routes {
		what := r.Method + " " + r.URL.Path
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://evil.example"},
			{"Origin", "null"},
			{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
			{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		} {
			answer := responseTo(h, r, headers...)
			assert.Equal(t, http.StatusForbidden, answer.StatusCode, "%s %v", what, headers)
			assert.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), what)
		}
		foreign := r.Clone(r.Context())
		foreign.Host = "rebound.example"
		assert.Equal(t, http.StatusForbidden, responseTo(h, foreign).StatusCode, what)
		for _, headers := range [][]string{{}, {"Sec-Fetch-Site", "none"},
			{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost"}, {"Origin", "http://localhost"}} {
			answer := responseTo(h, r, headers...)
			assert.NotEqual(t, http.StatusForbidden, answer.StatusCode, "%s %v", what, headers)
			assert.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), what)
			assert.Equal(t, "same-origin", answer.Header.Get("Cross-Origin-Resource-Policy"), what)
		}
	}
}

// A link on another site, for example in an alert, may lead to a page but to nothing else.
func TestALinkLeadsToPagesAlone(t *testing.T) {
	h, _ := allRoutes(t, nil)
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	for path, code := range map[string]int{"/": http.StatusNotFound, "/graph?g0.expr=up": http.StatusFound,
		"/metrics": http.StatusForbidden, "/api/v1/query?query=up": http.StatusForbidden} {
		assert.Equal(t, code, responseTo(h, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil),
			link...).StatusCode, path)
	}
	assert.Equal(t, http.StatusForbidden, responseTo(h, httptest.NewRequest(http.MethodPost, "http://localhost/", nil),
		link...).StatusCode)
}

// The page receives the query of an alert's link. The redirect never leads to another site.
func TestALinkOfPrometheusLeadsToItsQuery(t *testing.T) {
	h, _ := allRoutes(t, nil)
	for asked, want := range map[string]string{
		"g0.expr=up+%3E+1&g0.tab=1":          "./#g0.expr=up+%3E+1&g0.tab=1",
		"g0.expr=a%7Bb%3D~%22x//..//y%22%7D": "./#g0.expr=a%7Bb%3D~%22x%2F%2F..%2F%2Fy%22%7D",
		"":                                   "./#",
	} {
		answer := responseTo(h, httptest.NewRequest(http.MethodGet, "http://localhost/graph?"+asked, nil))
		assert.Equal(t, http.StatusFound, answer.StatusCode, asked)
		assert.Equal(t, want, answer.Header.Get("Location"), asked)
	}
}

// C5: if credentials are configured, every route requires them, except for the health checks.
func TestEveryRouteAsksWho(t *testing.T) {
	tokens := accesstest.TokenFile(t, filepath.Join(t.TempDir(), "tokens"), "reader read", "writer write")
	h, routes := allRoutes(t, guardOf(t, access.Options{TokenFile: tokens}))
	for _, r := range routes {
		what := r.Method + " " + r.URL.Path
		open := r.URL.Path == "/-/healthy" || r.URL.Path == "/-/ready"
		writes := r.Method == http.MethodPost && r.URL.Path == "/api/v1/annotations" || r.URL.Path == "/-/reload"
		for token, turnedAway := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized,
			"reader": http.StatusForbidden, "writer": http.StatusForbidden} {
			code := responseTo(h, r, "Authorization", map[bool]string{true: "Bearer " + token}[token != ""]).StatusCode
			if may := open || token == "reader" && !writes || token == "writer" && writes; may {
				assert.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, code, "%s of %q",
					what, token)
			} else {
				assert.Equal(t, turnedAway, code, "%s of %q", what, token)
			}
		}
	}
}

func TestWhatToShowIsSaid(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yml")
	require.NoError(t, os.WriteFile(file, []byte("basic_auth_users: {a: "+accesstest.PasswordHash+"}\n"), 0o600))
	reason := "the journal is full"
	h := handlerOver(t, empty{}, func(o *Options) {
		o.Guard, o.Ready = guardOf(t, access.Options{WebConfigFile: file}), func() string { return reason }
	})
	answer := responseTo(h, httptest.NewRequest(http.MethodGet, "http://localhost/", nil))
	assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	assert.Equal(t, []string{`Basic realm="Bullet Metrics", charset="UTF-8"`, "Bearer"},
		answer.Header.Values("WWW-Authenticate"))
	r := httptest.NewRequest(http.MethodGet, "http://localhost/-/ready", nil)
	assert.Equal(t, "503\nContent-Type: text/plain; charset=utf-8\n\nService Unavailable\n", call(t, h, r),
		"why is for readers")
	r.SetBasicAuth("a", "password")
	assert.Contains(t, call(t, h, r), reason)
}

// serve runs a server with the test's options until the test ends.
func serve(t *testing.T, store storage.Queryable, change func(*Options)) (address string) {
	t.Helper()
	return serveUntil(t, t.Context(), store, change)
}

// serveUntil runs a server until ctx is done or the test ends.
func serveUntil(t *testing.T, ctx context.Context, store storage.Queryable, change func(*Options)) (address string) {
	t.Helper()
	engine, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	options := DefaultOptions()
	options.Engine, options.Gatherer, options.ShutdownTimeout = engine, prometheus.NewRegistry(), time.Millisecond
	change(&options)
	server, err := NewServer(options)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(running, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return listener.Addr().String()
}

// from returns a client with its own address on this host.
func from(t *testing.T, address string, config *tls.Config) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func statusOf(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	return response.StatusCode
}

// C3: a body that arrives a few bytes at a time is cut off. Meanwhile other addresses are served.
func TestSlowBodiesAreCut(t *testing.T) {
	address := serve(t, empty{}, func(o *Options) { o.MaxConnections, o.BodyTimeout = 9, 300*time.Millisecond })
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	var slow []net.Conn
	for range 20 {
		c, err := dialer.DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		defer c.Close()
		_, _ = fmt.Fprintf(c,
			"POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nq")
		slow = append(slow, c)
	}
	require.Equal(t, http.StatusOK, statusOf(t, from(t, "127.0.0.3", nil), "http://"+address+"/api/v1/query?query=1"))
	for i, c := range slow {
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if i < 6 {
			require.NoError(t, err)
			require.Equal(t, http.StatusRequestTimeout, answer.StatusCode)
			_, err = io.Copy(io.Discard, answer.Body)
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, "beyond the share of its address")
	}
}

// deadlines records the deadlines that are set on a connection.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// An answer may take longer than the body's time limit. The deadline is removed when the body is complete. Otherwise
// it would look as if the client had disconnected, and would end the request.
func TestAnAnswerMayTakeLongerThanTheBody(t *testing.T) {
	h := handlerOver(t, empty{})
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/query", strings.NewReader("query=1"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	h.ServeHTTP(w, r)
	require.Len(t, w.set, 2)
	require.False(t, w.set[0].IsZero())
	require.True(t, w.set[1].IsZero())
	w.set = nil
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/query?query=1", nil))
	require.Empty(t, w.set)
}

// A caller that sends many requests gets only its share of them, and others are served.
func TestRequestsAreShared(t *testing.T) {
	figures := prometheus.NewRegistry()
	guard := guardOf(t, access.Options{Registerer: figures})
	release := make(chan struct{})
	held := make(chan struct{}, 100)
	h := handlerOver(t, storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		held <- struct{}{}
		<-release
		return storage.NoopQuerier(), nil
	}), func(o *Options) { o.Guard, o.MaxRequests = guard, 6 })
	ask := func(address string) int {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/labels", nil)
		r.RemoteAddr = address
		return responseTo(h, r).StatusCode
	}
	answers := make(chan int, 5)
	for range 4 {
		go func() { answers <- ask("10.0.0.1:1") }()
		<-held
	}
	require.Equal(t, http.StatusTooManyRequests, ask("10.0.0.1:2"))
	go func() { answers <- ask("10.0.0.2:1") }()
	<-held
	close(release)
	for range 5 {
		require.Equal(t, http.StatusOK, <-answers)
	}
	problems, err := testutil.GatherAndCount(figures, "bullet_metrics_refused_total")
	require.NoError(t, err)
	require.Positive(t, problems)
}

// Query slots are shared among callers: a caller does not wait for the queries of another one.
func TestQueriesAreShared(t *testing.T) {
	release, held := make(chan struct{}), make(chan struct{}, 100)
	options := query.DefaultOptions()
	options.MaxConcurrent = 3
	engine, err := query.New(storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		held <- struct{}{}
		<-release
		return storage.NoopQuerier(), nil
	}), options)
	require.NoError(t, err)
	tokens := accesstest.TokenFile(t, filepath.Join(t.TempDir(), "tokens"), "hostile read", "good read")
	h := handlerOver(t, empty{}, func(o *Options) {
		o.Engine, o.Guard = engine, guardOf(t, access.Options{TokenFile: tokens})
	})
	answers := make(chan int, 7)
	ask := func(token string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/query?query=up&time=1", nil)
		answers <- responseTo(h, r, "Authorization", "Bearer "+token).StatusCode
	}
	for range 6 {
		go ask("hostile")
	}
	<-held
	<-held
	go ask("good")
	<-held // the third slot is for the other caller, however many queries of the first one wait
	require.Empty(t, held)
	close(release)
	for range 7 {
		require.Equal(t, http.StatusOK, <-answers)
	}
}

// Failed HTTPS handshakes are counted by reason, as for gRPC.
func TestHandshakes(t *testing.T) {
	dir, hour := t.TempDir(), time.Now().Add(time.Hour)
	ours, foreign := accesstest.NewAuthority(t, "ours"), accesstest.NewAuthority(t, "foreign")
	ours.Issue(dir, "server", hour)
	file := filepath.Join(dir, "web.yml")
	require.NoError(t, os.WriteFile(file,
		[]byte("tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: "+ours.File(dir)+
			", client_auth_type: RequireAndVerifyClientCert}\n"), 0o600))
	figures := prometheus.NewRegistry()
	guard := guardOf(t, access.Options{WebConfigFile: file, Registerer: figures})
	address := serve(t, empty{}, func(o *Options) { o.Guard = guard })
	with := func(pairs ...tls.Certificate) *http.Client {
		return from(t, "127.0.0.1", &tls.Config{RootCAs: ours.Pool(), Certificates: pairs})
	}
	response, err := with(ours.Pair("reader", hour)).Get("https://" + address + "/metrics")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "HTTP/2.0 200 OK", response.Proto+" "+response.Status)
	for name, client := range map[string]*http.Client{
		"tls_certificate": with(), "another": with(foreign.Pair("reader", hour)),
		"expired": with(ours.Pair("reader", time.Now().Add(-time.Minute))),
		"tls_version": from(t, "127.0.0.1", &tls.Config{RootCAs: ours.Pool(), MinVersion: tls.VersionTLS11,
			MaxVersion: tls.VersionTLS11}),
		"tls_client": from(t, "127.0.0.1", &tls.Config{RootCAs: foreign.Pool()}),
	} {
		response, err := client.Get("https://" + address + "/metrics")
		if err == nil {
			response.Body.Close()
		}
		require.Error(t, err, name)
	}
	response, err = http.Get("http://" + address + "/metrics")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusBadRequest, response.StatusCode, "net/http answers that TLS is spoken here")
	require.Eventually(t, func() bool {
		text := &strings.Builder{}
		families, err := figures.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if family.GetName() == "bullet_metrics_refused_total" && m.GetCounter().GetValue() > 0 {
					fmt.Fprintf(text, "%s=%v ", m.GetLabel()[1].GetValue(), m.GetCounter().GetValue())
				}
			}
		}
		return text.String() == "tls_certificate=3 tls_client=1 tls_plain_text=1 tls_version=1 "
	}, 30*time.Second, 10*time.Millisecond)
}
