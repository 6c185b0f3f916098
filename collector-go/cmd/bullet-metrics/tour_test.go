package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runindex"
)

// The tour shows the incident that it promises: latency above the limit, the alert with its cause, the second
// submission, and the recovery. It ends when it is interrupted and removes its data.
func TestTheTourShowsTheIncident(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	shown, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- tour(ctx, tourOptions{speed: 1, start: tourStart, listen: "127.0.0.1:0"},
			slog.New(slog.NewTextHandler(t.Output(), nil)), func(url string) { shown <- url }, func() {})
	}()
	var page string
	select {
	case page = <-shown:
	case err := <-ended:
		require.NoError(t, err)
	}
	ask := func(expression string) []float64 { return valuesAt(t, page, expression) }
	const mean = `avg(bullet_filter_latency_mean_seconds{topology="bullet"})`
	assert.NotEmpty(t, ask(`max_over_time(ALERTS{alertname="BulletFilterLatencyMeanHigh",alertstate="firing"}[1h])`))
	assert.Empty(t, ask(`ALERTS{alertname="BulletFilterLatencyMeanHigh",alertstate="firing"}`), "it has recovered")
	assert.Greater(t, ask("max_over_time(" + mean + "[1h:10s])")[0], 0.2)
	assert.Less(t, ask("last_over_time(" + mean + "[5m:10s])")[0], 0.2)
	assert.Len(t, ask(`count by (worker) (bullet_worker_cpu_seconds_total)`), 2)
	response, err := http.Get(page + "/api/v1/why?alert=BulletFilterLatencyMeanHigh")
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	require.NoError(t, err)
	assert.Contains(t, string(text), "The workers got less CPU since", "the cause")
	assert.Contains(t, string(text), "CPU of all workers", "what fell before the alert")

	response, err = http.Get(page + "/api/v1/runs")
	require.NoError(t, err)
	var runs struct{ Data runindex.List }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&runs))
	response.Body.Close()
	require.Len(t, runs.Data.Runs, 1)
	assert.NotEmpty(t, runs.Data.Runs[0].Capacity)
	assert.Empty(t, runs.Data.Unreadable)
	response, err = http.Get(page + runs.Data.Runs[0].Report)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusOK, response.StatusCode, "the report of the run")

	cancel()
	select {
	case err := <-ended:
		assert.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "the tour does not end")
	}
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left, "the tour leaves nothing behind")
}

// valuesAt returns the values of an instant query to a page's collector.
func valuesAt(t *testing.T, page, expression string) (values []float64) {
	response, err := http.Get(page + "/api/v1/query?" + url.Values{"query": {expression}}.Encode())
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	require.NoError(t, json.Unmarshal(text, &answer), string(text))
	for _, series := range answer.Data.Result {
		value, err := strconv.ParseFloat(series.Value[1].(string), 64)
		require.NoError(t, err)
		values = append(values, value)
	}
	return values
}

// The tour says when the recording ends. After that it does not report missing samples, and the topology's restart
// remains one alert.
func TestTheTourSaysThatTheRecordingHasEnded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	shown, over, ended, ticks := make(chan string, 1), make(chan struct{}), make(chan error, 1), make(chan time.Time)
	go func() {
		ended <- tour(ctx, tourOptions{speed: 20, start: 14 * time.Minute, listen: "127.0.0.1:0", ticks: ticks},
			slog.New(slog.NewTextHandler(t.Output(), nil)), func(url string) { shown <- url }, func() { close(over) })
	}()
	page := <-shown
	now := time.Now()
	for left := 12; left > 0; { // seconds after the end, which are 4 minutes of the recording's time
		now = now.Add(time.Second)
		ticks <- now
		select {
		case <-over:
			left--
		default:
		}
	}
	response, err := http.Get(page + "/api/v1/alerts")
	require.NoError(t, err)
	var all struct {
		Data struct {
			Alerts []struct{ Labels map[string]string }
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&all))
	response.Body.Close()
	var names []string
	for _, a := range all.Data.Alerts {
		names = append(names, strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["worker"]))
	}
	assert.ElementsMatch(t, []string{"BulletWorkerRestarted", "BulletMetricsWatchdog"}, names)
	cancel()
	assert.NoError(t, <-ended)
}

// The captures of a user are shown as if they ended now, and their data are removed.
func TestCapturesAreShown(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	shown, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- serveCaptures(ctx, []string{"../../../topology/captures/capture-killed-2.8.3.jsonl"}, "", "127.0.0.1:0",
			func(url string) { shown <- url })
	}()
	select {
	case page := <-shown:
		assert.NotEmpty(t, valuesAt(t, page, `max_over_time(bullet_active_queries[5m])`))
		assert.Empty(t, valuesAt(t, page, `bullet_active_queries offset 10m`), "the capture has two minutes")
	case err := <-ended:
		require.NoError(t, err)
	}
	cancel()
	assert.NoError(t, <-ended)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
	_, err = program("replay", "none.jsonl", "--serve", "--data-dir", t.TempDir())
	assert.Equal(t, exitUsage, exitCode(err))
	_, err = program("replay", "none.jsonl", "--serve")
	assert.ErrorContains(t, err, "none.jsonl")
}

// The recording and the run are small enough for the program.
func TestTheTourIsSmall(t *testing.T) {
	assert.Less(t, len(tourRecording)+len(tourRun), 2<<20)
}

func TestTourOfWrongUsage(t *testing.T) {
	for _, args := range []string{"--speed 0", "--speed -1", "--past -1s", "--speed NaN", "more"} {
		_, err := program(append([]string{"tour"}, strings.Fields(args)...)...)
		assert.Equal(t, exitUsage, exitCode(err), args)
	}
}
