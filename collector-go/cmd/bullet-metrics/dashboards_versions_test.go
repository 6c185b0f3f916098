//go:build dashboards

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/dashboardtest"
)

// repeated is a capture twice, the second time later: that of Storm 1.2 has one report of each figure, from which no
// rate comes. Its counts are since the report before, so that the same again is a report as it could follow.
func repeated(t *testing.T, capture string, later time.Duration) string {
	text, err := os.ReadFile(captureFile(capture))
	require.NoError(t, err)
	all := text
	for line := range bytes.Lines(text) {
		var point map[string]any
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&point))
		for name, unit := range map[string]time.Duration{"now": time.Millisecond, "ts": time.Second} {
			if at, has := point[name].(json.Number); has {
				n, err := at.Int64()
				require.NoError(t, err)
				point[name] = n + int64(later/unit)
			}
		}
		if _, isPoint := point["ts"]; isPoint {
			moved, err := json.Marshal(point)
			require.NoError(t, err)
			all = append(append(all, moved...), '\n')
		}
	}
	path := filepath.Join(t.TempDir(), capture+".jsonl")
	require.NoError(t, os.WriteFile(path, all, 0o600))
	return path
}

// startReplayed answers about a capture alone.
func startReplayed(t *testing.T, path string) string {
	files, closeFiles, err := replay.Open([]string{path})
	require.NoError(t, err)
	defer closeFiles()
	c := config.Default()
	c.DataDir, c.Embedded.RetentionTime, c.Embedded.RetentionBytes = t.TempDir(), 0, 0
	p, err := openReplay(c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	_, _, err = p.play(t.Context(), files, "")
	require.NoError(t, err)
	return startOver(t, openForever(t, filepath.Join(c.DataDir, datadir.Grid)))
}

func openForever(t *testing.T, dir string) *grid.Store {
	keep := grid.DefaultOptions()
	keep.RetentionTime, keep.RetentionBytes = 0, 0
	store, err := grid.Open(dir, keep)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close(context.Background())) })
	return store
}

// startOver answers from a store, or an engine elsewhere.
func startOver(t *testing.T, store storage.Queryable) string {
	engine, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	options := httpapi.DefaultOptions()
	options.Engine, options.Gatherer = engine, prometheus.NewRegistry()
	handler, err := httpapi.New(options)
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// Storm 1, 2.2 and 2.8 offer other figures of queues: of each, every panel of the board shows something.
func TestDashboardsOfQueuesHaveNoEmptyPanelOnAnyStorm(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(dashboardsHome, "queues.json"))
	require.NoError(t, err)
	var board dashboardtest.Dashboard
	require.NoError(t, json.Unmarshal(text, &board))
	for _, c := range []struct {
		path, topology string
		start, end     int64
	}{
		{repeated(t, "capture-storm-1.2.4", 2*reporting), "word", wordStart, wordEnd + int64(2*reporting/time.Second)},
		{captureFile("capture-storm-2.2.0"), "bullet", 1795199757, 1795199940},
		{captureFile("capture-storm-2.8.4"), "bullet", 1795199779, 1795199950},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			server := startReplayed(t, c.path)
			panels := 0
			for _, p := range board.Panels {
				if len(p.Targets) == 0 { // a row
					continue
				}
				panels++
				found := 0
				for _, target := range p.Targets {
					form := url.Values{"query": {dashboardtest.Fill(target.Expr, c.topology, 4*reporting)},
						"start": {fmt.Sprint(c.start)}, "end": {fmt.Sprint(c.end)}, "step": {"15"}}
					found += len(askRange(t, server, form))
				}
				assert.NotZero(t, found, "nothing on panel %q", p.Title)
			}
			assert.Greater(t, panels, 8)
		})
	}
}

// Two workers report the CPU of the one host that they run on: the panels count it once.
func TestDashboardsCountAHostOnce(t *testing.T) {
	t.Parallel()
	store := openForever(t, t.TempDir())
	made := madeUp()
	_, err := store.Append(t.Context(), 1, &made.columns)
	require.NoError(t, err)
	server := startOver(t, store)
	found := map[string][]string{}
	for _, file := range []string{"figures.json", "overview.json", "tuple-flow.json"} {
		text, err := os.ReadFile(filepath.Join(dashboardsHome, file))
		require.NoError(t, err)
		var board dashboardtest.Dashboard
		require.NoError(t, json.Unmarshal(text, &board))
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				form := url.Values{"query": {dashboardtest.Fill(target.Expr, "bullet", reporting)},
					"start": {fmt.Sprint(fillEnd)}, "end": {fmt.Sprint(fillEnd)}, "step": {"15"}}
				if strings.HasPrefix(target.Expr, "ALERTS") {
					continue
				}
				for _, series := range askRange(t, server, form) {
					value, err := strconv.ParseFloat(series.Values[0].([]any)[1].(string), 64)
					require.NoError(t, err)
					found[p.Title] = append(found[p.Title], fmt.Sprintf("%s%s %.3f", series.Metric["host"],
						series.Metric["partition"], value))
				}
			}
		}
	}
	for _, r := range alertrules.Recordings() {
		if r.Name == "topology:bullet_host_cpu_stolen_cores:max_rate2m" {
			form := url.Values{"query": {r.Expr}, "start": {fmt.Sprint(fillEnd)}, "end": {fmt.Sprint(fillEnd)},
				"step": {"15"}}
			kept := askRange(t, server, form)
			require.Len(t, kept, 1)
			assert.Equal(t, map[string]string{"topology": "bullet"}, kept[0].Metric)
		}
	}
	assert.Equal(t, []string{"127.0.0.1 1.480", "127.0.0.1 1.080"}, found["CPU of hosts and of their workers"])
	assert.Equal(t, []string{"127.0.0.1 0.070"}, found["Steal, by host"])
	assert.Equal(t, []string{"127.0.0.1 0.370", "127.0.0.1 0.270", "127.0.0.1 0.070"}, found["Hosts"])
	assert.Equal(t, []string{"0 480.000", "1 480.000"}, found["Lag by Kafka partition"])
	assert.Equal(t, []string{"0 480.000", "1 480.000"}, found["Kafka partitions"])
}
