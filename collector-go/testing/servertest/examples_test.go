//go:build stores

package servertest

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// The queries that the pages show find something in a store that was just filled, and all stores that speak PromQL
// answer alike.
func TestTheExamplesOfThePages(t *testing.T) {
	cases.Full(t, "Prometheus of our library's version, since it compares answers")
	all := sinks(t)
	w := newWorldAt(t, time.Now().Add(-30*time.Minute).Truncate(10*time.Second).UnixMilli())
	l := live(t, w, directory(t), all)
	for range 170 {
		w.step()
	}
	for _, s := range all {
		l.await(s.name)
	}
	servers := map[string]*Server{}
	for _, s := range all {
		servers[s.name] = s.server
	}
	at := url.Values{"time": {time.UnixMilli(w.clockMs - 60_000).UTC().Format(time.RFC3339)}}
	promql := func(s *Server, query string) string {
		at.Set("query", query)
		return string(s.get("/api/v1/query?" + at.Encode()))
	}
	for _, example := range []struct{ page, store, query, want string }{
		{"remote-write", "prometheus",
			`histogram_quantile(0.99, sum by (topology) (rate(bullet_filter_latency_seconds[5m])))`,
			`"metric":{"topology":"bullet"},"value"`},
		{"victoriametrics", "victoria",
			`histogram_quantile(0.99, sum by (topology, le) (rate(bullet_filter_latency_seconds_bucket[5m])))`,
			`"metric":{"topology":"bullet"},"value"`},
		{"influxdb", "influx1",
			`SELECT mean("value") FROM "bullet_worker_heap_used_bytes" WHERE "topology" = 'bullet' AND time > now() - 1h GROUP BY time(1m), "worker" fill(none)`,
			`host:6701`},
		{"influxdb", "influx2",
			`from(bucket: "bullet/autogen") |> range(start: -1h) |> filter(fn: (r) => r._measurement == "bullet_worker_cpu_seconds_total" and r._field == "value") |> derivative(unit: 1s, nonNegative: true)`,
			`host:6701`},
	} {
		page, err := os.ReadFile(root + "/docs/stores/" + example.page + ".md")
		require.NoError(t, err)
		assert.Contains(t, string(page), example.query)
		s := servers[example.store]
		if s == nil {
			t.Log("InfluxDB 1.13 is not built: Flux is not tried")
			continue
		}
		found := ""
		require.Eventually(t, func() bool {
			switch {
			case example.store == "influx1":
				found = string(s.get("/query?" + url.Values{"db": {"bullet"}, "q": {example.query}}.Encode()))
			case example.store == "influx2":
				request, err := http.NewRequest(http.MethodPost, s.URL()+"/api/v2/query",
					strings.NewReader(example.query))
				require.NoError(t, err)
				request.Header.Set("Content-Type", "application/vnd.flux")
				request.Header.Set("Accept", "application/csv")
				found = string(s.do(request))
			default:
				found = promql(s, example.query)
			}
			return strings.Contains(found, example.want)
		}, 20*time.Second, 200*time.Millisecond, "%s: %s", example.query, found)
		assert.NotContains(t, found, "NaN")
	}
	samePromQL(t, l.embedded, servers, w.firstMs+60_000, w.clockMs-120_000)
	l.end(true)
}
