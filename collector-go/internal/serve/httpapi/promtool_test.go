//go:build prometheus

package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// promtool gets the same answers from us as from a real Prometheus with the same data.
func TestPromtoolCannotTellUsFromPrometheus(t *testing.T) {
	servers := startBoth(t)
	promtool := filepath.Join(buildPrometheus(t), "promtool")
	ask := func(server, arguments string) (text string, failed bool) {
		out, err := exec.CommandContext(t.Context(), promtool,
			strings.Fields(strings.ReplaceAll(arguments, "SERVER", server))...).CombinedOutput()
		return strings.ReplaceAll(string(out), server, "SERVER"), err != nil
	}
	for _, test := range []struct {
		arguments string
		found     string // expected in the answer
		fails     bool
	}{
		{"query instant SERVER bullet_worker_heap_used_bytes --time=1700003600", "host-1:6700", false},
		{"query instant SERVER sum(rate(bullet_filter_latency_seconds[5m])) --time=1700003600 --format=json",
			"buckets", false},
		{"query instant SERVER quantile(1.5,bullet_worker_heap_used_bytes) --time=1700003600", "+Inf", false},
		{"query instant SERVER sum( --time=1700003600", "parse error", true},
		{"query range SERVER bullet_worker_info --start=1700003500 --end=1700003600 --step=20s", "pid", false},
		{"query range SERVER bullet_worker_info --start=1700003500 --end=1700003600 --step=1us --format=json", "",
			true},
		{"query series SERVER --match=bullet_worker_info --start=1700000000 --end=1700003600", "pid", false},
		{"query series SERVER --match={a=\"\"}", "non-empty", true},
		{"query labels SERVER worker --start=1700000000 --end=1700003600", "host-2:6700", false},
		{"query labels SERVER __name__ --match=bullet_worker_info --start=1700000000 --end=1700003600",
			"bullet_worker_info", false},
		{"query analyze --server=SERVER --type=histogram --match=bullet_filter_latency_seconds --time=1700003600 --duration=5m",
			"bullet_filter_latency_seconds", false},
		{"check healthy --url=SERVER", "SUCCESS", false},
		{"check ready --url=SERVER", "SUCCESS", false},
	} {
		real, failed := ask(servers.real, test.arguments)
		assert.Equal(t, test.fails, failed, "%s: %s", test.arguments, real)
		assert.Contains(t, real, test.found, test.arguments)
		ours, failed := ask(servers.ours, test.arguments)
		ours = strings.ReplaceAll(ours, "Bullet Metrics is", "Prometheus Server is")
		assert.Equal(t, test.fails, failed, "%s: %s", test.arguments, ours)
		assert.Equal(t, real, ours, test.arguments)
	}
}

// The status endpoints have the same fields, with the same types, and the version by which Grafana enables features.
func TestStatusHasTheFieldsOfPrometheus(t *testing.T) {
	servers := startBoth(t)
	status := func(server, path string) map[string]any {
		r, err := http.Get(server + path)
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		var answer struct{ Data map[string]any }
		require.NoError(t, json.Unmarshal(body, &answer))
		return answer.Data
	}
	for _, path := range []string{"/api/v1/status/buildinfo", "/api/v1/status/runtimeinfo"} {
		real, ours := status(servers.real, path), status(servers.ours, path)
		require.NotEmpty(t, real)
		for name, value := range real {
			assert.IsType(t, value, ours[name], "%s of %s", name, path)
		}
		assert.Len(t, ours, len(real), path)
	}
}
