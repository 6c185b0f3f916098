package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
)

// answers is a collector that answers each path, and each query, with the data given. A path without data is refused.
type answers struct {
	ready   string // "" if it is
	data    map[string]string
	refused int
}

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path
	switch key {
	case "/-/ready":
		if a.ready != "" {
			http.Error(w, "Service Unavailable: "+a.ready, http.StatusServiceUnavailable)
		}
		return
	case "/api/v1/query":
		key = r.FormValue("query")
	}
	data, known := a.data[key]
	if !known {
		w.WriteHeader(a.refused)
		fmt.Fprint(w, `{"status":"error","errorType":"unavailable","error":"not now"}`)
		return
	}
	fmt.Fprintf(w, `{"status":"success","data":%s}`, data)
}

func read(t *testing.T, a answers) (*Status, error) {
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Access{})
	require.NoError(t, err)
	s, err := Read(t.Context(), c, time.Unix(1795199940, 0))
	if s != nil {
		assert.Equal(t, server.URL, s.Collector)
		s.Collector = "http://collector.example:9320"
	}
	return s, err
}

func vector(samples string) string { return `{"resultType":"vector","result":[` + samples + `]}` }

var busy = map[string]string{
	"/api/v1/status/flags": `{"version":"7.8.9"}`,
	"/api/v1/topologies": `[
		{"name":"bullet","condition":{"state":"running","since":"2026-11-20T10:00:00.000Z"},"worker_count":4},
		{"name":"old","condition":{"state":"killed","since":"2026-11-20T09:00:00.000Z"},"worker_count":0}]`,
	"/api/v1/alerts": `{"alerts":[
		{"labels":{"alertname":"Pending"},"state":"pending","activeAt":"2026-11-20T10:00:00Z"},
		{"labels":{"alertname":"Watchdog","severity":"none"},"state":"firing","activeAt":"2026-11-20T10:00:00Z"},
		{"labels":{"alertname":"Later","severity":"warning"},"annotations":{"summary":"Later is true"},
			"state":"firing","activeAt":"2026-11-20T10:05:00Z"},
		{"labels":{"alertname":"Slow","severity":"critical","topology":"bullet"},
			"annotations":{"summary":"Filter latency of bullet is 329 ms (mean), above the 200 ms limit"},
			"state":"firing","activeAt":"2026-11-20T10:01:00Z"}]}`,
	samplesPerS:  vector(`{"metric":{},"value":[1795199940,"1234.5"]}`),
	journalBytes: vector(`{"metric":{},"value":[1795199940,"13107200"]}`),
	storeBytes:   vector(``),
	latencies:    vector(`{"metric":{"topology":"bullet"},"value":[1795199940,"0.3286"]}`),
	lags: vector(`{"metric":{"topology":"bullet"},"value":[1795199940,"120"]},
		{"metric":{"topology":"old"},"value":[1795199940,"NaN"]}`),
}

const (
	busyText  = "testdata/busy.txt"
	busyJSON  = "testdata/busy.json"
	startText = "testdata/starting.txt"
)

func TestAStatusAsTextAndAsJSON(t *testing.T) {
	s, err := read(t, answers{data: busy})
	require.NoError(t, err)
	printed, err := json.MarshalIndent(s, "", "  ")
	require.NoError(t, err)
	same(t, busyText, s.Text())
	same(t, busyJSON, string(printed)+"\n")
}

// A collector that starts says so, and what it cannot answer yet.
func TestACollectorThatIsNotReady(t *testing.T) {
	s, err := read(t, answers{ready: "starting up: replayed 1 of 9 journal entries", refused: http.StatusServiceUnavailable,
		data: map[string]string{"/api/v1/status/flags": `{"version":"7.8.9"}`}})
	require.NoError(t, err)
	assert.False(t, s.Ready)
	same(t, startText, s.Text())
}

func TestACallerThatMayNotRead(t *testing.T) {
	_, err := read(t, answers{refused: http.StatusUnauthorized})
	require.ErrorContains(t, err, "give a token that may do this (--token-file)")
}

// same compares a text with a file; UPDATE_STATUS=1 writes the file.
func same(t *testing.T, path, text string) {
	if os.Getenv("UPDATE_STATUS") != "" {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}
