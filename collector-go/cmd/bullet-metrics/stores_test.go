package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// received is what a receiver of remote write was sent: how often a series has a time.
type received struct {
	*httptest.Server
	mu     sync.Mutex
	points map[string]int
	users  map[string]bool
}

func newReceiver(t *testing.T) *received {
	r := &received{points: map[string]int{}, users: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		assert.NoError(t, err)
		raw, err := snappy.Decode(nil, body)
		assert.NoError(t, err)
		var write prompb.WriteRequest
		assert.NoError(t, write.Unmarshal(raw))
		r.mu.Lock()
		defer r.mu.Unlock()
		user, _, _ := request.BasicAuth()
		r.users[user] = true
		for _, series := range write.Timeseries {
			b := labels.NewScratchBuilder(4)
			for range series.Samples {
				r.points[series.ToLabels(&b, nil).Get("__name__")]++
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *received) has(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.points[name]
}

func toReceiver(url string) *config.Store {
	return &config.Store{URL: url, Timeout: 5 * time.Second, MaxSlices: 100, MaxBytes: 1 << 20}
}

// Without a store of its own the collector sends what it is sent, says over HTTP whom to ask, and neither waits for a
// store that is down nor ends later for it.
func TestACollectorWithoutAStoreOfItsOwn(t *testing.T) {
	up, down := newReceiver(t), httptest.NewServer(nil)
	down.Close()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte("secret\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "http.yml"),
		[]byte("basic_auth: {username: bullet, password_file: password}\n"), 0o600))
	c := settings(filepath.Join(dir, "data"))
	c.Embedded.Enabled = false
	c.Stores["remote_write"]["up"], c.Stores["remote_write"]["down"] = toReceiver(up.URL), toReceiver(down.URL)
	c.Stores["remote_write"]["up"].HTTPConfigFile = filepath.Join(dir, "http.yml")
	require.NoError(t, c.Validate())
	r := startCollector(t, c)
	end := time.Now().Truncate(10 * time.Second)
	r.send(minute(1, end))
	require.Eventually(t, func() bool { return up.has("bullet_worker_cpu_seconds_total") >= 4 }, 30*time.Second,
		50*time.Millisecond)
	assert.True(t, up.users["bullet"])

	for path, want := range map[string]string{
		"/api/v1/query?query=up": "store.embedded.enabled is false",
		"/api/v1/labels":         "store.embedded.enabled is false",
		"/api/v1/query_range?query=up&start=1&end=2&step=1": "ask the store that it sends them to",
		"/api/v1/series?match[]=up":                         "store.embedded.enabled is false",
		"/federate?match[]=up":                              "store.embedded.enabled is false",
	} {
		response, err := http.Get("http://" + r.col.httpListener.Addr().String() + path)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		_ = response.Body.Close()
		assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode, path)
		assert.Contains(t, string(body), want, path)
	}
	// A receiver has slices before the collector has its answer, and counts that.
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		metrics, err := http.Get("http://" + r.col.httpListener.Addr().String() + "/metrics")
		require.NoError(t, err)
		defer metrics.Body.Close()
		text, err := io.ReadAll(metrics.Body)
		require.NoError(t, err)
		for _, figure := range []string{`bullet_metrics_forward_requests_total{outcome="acknowledged",store="up"}`,
			`bullet_metrics_feed_slices_total{fate="delivered",reason="",store="up"}`,
			`bullet_metrics_feed_slices_pending{store="down"}`,
			`bullet_metrics_forward_requests_total{outcome="failed",store="down"}`} {
			assert.True(t, strings.Contains(string(text), figure), figure)
		}
	}, 30*time.Second, 50*time.Millisecond)
	r.close() // who waited for the store that is down would wait forever
}
