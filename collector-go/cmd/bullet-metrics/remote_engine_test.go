package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/checklist"
)

// A collector that keeps nothing itself answers what an engine elsewhere has, here another collector, evaluates its
// rules over it, and shows what only it has beside that. Where the engine is gone, it names it.
func TestQueriesAnsweredByARemoteEngine(t *testing.T) {
	t.Parallel()
	kept := settings(t.TempDir())
	kept.Rules.BuiltIn = false
	there := startCollector(t, kept)
	c := settings(filepath.Join(t.TempDir(), "data"))
	c.Embedded.Enabled = false
	c.Stores["remote_write"]["elsewhere"] = toReceiver(newReceiver(t).URL)
	c.Query.URL = "http://" + there.col.httpListener.Addr().String()
	c.Rules.Interval = time.Second
	require.NoError(t, c.Validate())
	require.NoError(t, checkNamed(c))
	here := startCollector(t, c)

	end := time.Now().Truncate(10 * time.Second)
	there.send(minute(1, end))
	total := "sum by (worker) (last_over_time(bullet_worker_cpu_seconds_total[5m]))"
	require.Eventually(t, func() bool { return strings.Contains(there.ask(total), `"worker"`) }, 30*time.Second,
		50*time.Millisecond)
	at := "&time=" + end.Format(time.RFC3339)
	for _, path := range []string{"/api/v1/query?query=bullet_worker_cpu_seconds_total" + at,
		"/api/v1/query_range?query=rate(bullet_worker_cpu_seconds_total[1m])&step=10s&start=" +
			end.Add(-time.Minute).Format(time.RFC3339) + "&end=" + end.Format(time.RFC3339),
		"/api/v1/label/worker/values?match[]=bullet_worker_cpu_seconds_total",
		"/api/v1/series?match[]=bullet_worker_cpu_seconds_total"} {
		want := there.body(path)
		assert.Contains(t, want, "h:6700")
		assert.Equal(t, want, here.body(path), path)
	}
	require.Eventually(t, func() bool {
		return strings.Contains(here.ask(`ALERTS{alertname="BulletMetricsWatchdog"}`), "firing")
	}, 30*time.Second, 50*time.Millisecond)
	mixed := `bullet_worker_cpu_seconds_total and on () ALERTS{alertname="BulletMetricsWatchdog"}`
	assert.Contains(t, here.body("/api/v1/query?query="+strings.ReplaceAll(mixed, " ", "%20")), "h:6700")

	there.close()
	assert.Contains(t, here.body("/api/v1/query?query=bullet_worker_cpu_seconds_total"), "query.url "+c.Query.URL)
	assert.Contains(t, here.ask("vector(1)"), `"1"`, "what asks for no series needs nobody")
}

func TestARemoteEngineIsChecked(t *testing.T) {
	t.Parallel()
	there := startCollector(t, settings(t.TempDir()))
	c := settings(t.TempDir())
	c.Query.URL = "http://" + there.col.httpListener.Addr().String()
	require.ErrorContains(t, c.Validate(), "disable the embedded store")
	c.Embedded.Enabled = false
	assert.Equal(t, []checklist.Item{{Result: checklist.OK, Text: "query.url " + c.Query.URL + " answers"}},
		callOthers(t.Context(), c))
	there.close()
	gone := callOthers(t.Context(), c)
	require.Len(t, gone, 1)
	assert.Equal(t, checklist.Unreachable, gone[0].Result)
	assert.Contains(t, gone[0].Text, "query.url "+c.Query.URL+": ")
	c.Query.HTTPConfigFile = "no-such-file.yml"
	require.ErrorContains(t, checkNamed(c), "query.http_config_file: open no-such-file.yml")
	c.Query.URL = ""
	require.ErrorContains(t, c.Validate(), "is set without query.url")
}
