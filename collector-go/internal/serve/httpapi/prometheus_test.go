//go:build prometheus

package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// These tests compare our answers with a real Prometheus of our library's version: `go test -tags prometheus`. They
// build it from source, which takes about four minutes of CPU the first time and a second or two afterwards. They are
// skipped with -short.

const ourPrometheus = "Prometheus of our library's version"

// buildPrometheus builds prometheus and promtool in build/tools, and returns that directory.
func buildPrometheus(t *testing.T) string {
	into, err := filepath.Abs("../../../../build/tools")
	require.NoError(t, err)
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o",
		into+string(filepath.Separator),
		"github.com/prometheus/prometheus/cmd/prometheus", "github.com/prometheus/prometheus/cmd/promtool")
	build.Dir = "../../../tools/prometheus"
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return into
}

// exportBlocks writes the contents of a store as Prometheus blocks of ten minutes, and returns their directory.
// Prometheus lists the labels of whole blocks; we list only those of the requested time.
func exportBlocks(t *testing.T, s *grid.Store) string {
	dir := filepath.Join(t.TempDir(), "blocks")
	oldest, newest, ok, err := s.Extent(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	const widthMs = 600_000
	for ; oldest <= newest; oldest += widthMs {
		require.NoError(t, blocks.Export(t.Context(), s, dir, oldest, min(oldest+widthMs-1, newest),
			func(blocks.Written) {}))
	}
	return dir
}

// startPrometheus runs a real Prometheus with the blocks in dir until the test ends, and returns its address. samples
// is the maximum number of samples per query.
func startPrometheus(t *testing.T, dir, config string, samples int) string {
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o666))
	p := exec.Command(filepath.Join(buildPrometheus(t), "prometheus"), "--config.file", file,
		"--storage.tsdb.path", dir,
		"--storage.tsdb.retention.time", "100y", "--web.listen-address", "127.0.0.1:0",
		fmt.Sprint("--query.max-samples=", samples))
	stderr, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		_ = p.Wait()
	})
	var address string
	ready := false // the two lines may come in either order
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := regexp.MustCompile(`msg="Listening on" .*address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
		ready = ready || strings.Contains(lines.Text(), "Server is ready to receive web requests")
		if ready && address != "" {
			go func() { // read on, so that later output does not block it
				for lines.Scan() {
				}
			}()
			return "http://" + address
		}
	}
	require.FailNow(t, "Prometheus ended before it was ready")
	return ""
}

// both are our server and a real Prometheus with the same slices.
type both struct{ ours, real string }

func startBoth(t *testing.T) both {
	cases.Full(t, ourPrometheus)
	s := openFixture(t)
	server := httptest.NewServer(newHandler(t, s))
	t.Cleanup(server.Close)
	return both{ours: server.URL, real: startPrometheus(t, exportBlocks(t, s), "", maxSamples)}
}

func answered(t *testing.T, a ask, base string) string {
	response, err := http.DefaultTransport.RoundTrip(a.request(t, base))
	require.NoError(t, err)
	return show(t, response)
}

func TestRealPrometheus(t *testing.T) {
	servers := startBoth(t)
	for _, a := range asks(t) {
		t.Run(a.name, func(t *testing.T) {
			real := answered(t, a, servers.real)
			if *update {
				require.NoError(t, os.WriteFile(golden(a.name), []byte(real), 0o666))
			}
			assert.Equal(t, real, answered(t, a, servers.ours))
			want, err := os.ReadFile(golden(a.name))
			require.NoError(t, err)
			assert.Equal(t, string(want), real, "the golden file is not what Prometheus answers; run with -update")
		})
	}
}

// Generated expressions, as instant and range queries, have the same answer.
func TestRealPrometheusOnGeneratedExpressions(t *testing.T) {
	servers := startBoth(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	answers := 0
	for range 200 {
		expression := g.expression()
		at := fmt.Sprint(1_700_000_000 + g.IntN(7200))
		for _, a := range []ask{
			{method: http.MethodGet, path: "/api/v1/query", form: url.Values{"query": {expression}, "time": {at}}},
			{method: http.MethodPost, path: "/api/v1/query_range",
				form: url.Values{"query": {expression}, "start": {"1700001000"}, "end": {at}, "step": {"137"}}},
		} {
			real := answered(t, a, servers.real)
			require.Equal(t, rounded(real), rounded(answered(t, a, servers.ours)), expression)
			if strings.Contains(real, `"metric"`) {
				answers++
			}
		}
	}
	assert.Greater(t, answers, 150, "too many generated expressions find nothing")
}

// long matches a number with so many digits that it depends on the order of a sum.
var long = regexp.MustCompile(`"-?[0-9]+\.[0-9]{6,}(e[+-][0-9]+)?"`)

// rounded removes the last digits. Over a range the engine processes the results of a binary operation in the order of
// a map. Therefore the last digits of a sum or deviation vary, even within Prometheus itself.
func rounded(answer string) string {
	return long.ReplaceAllStringFunc(answer, func(quoted string) string {
		v, err := strconv.ParseFloat(strings.Trim(quoted, `"`), 64)
		if err != nil {
			panic(err) // the expression above only matches numbers
		}
		return strconv.Quote(strconv.FormatFloat(v, 'g', 12, 64))
	})
}

// generator generates PromQL that is meaningful for the fixture.
type generator struct{ *rand.Rand }

func (g generator) of(options ...string) string { return options[g.IntN(len(options))] }

func (g generator) selector() string {
	return g.of("bullet_worker_heap_used_bytes", "bullet_worker_cpu_seconds_total", "bullet_filter_latency_seconds",
		"bullet_worker_info") +
		g.of("", "", `{worker="host-1:6700"}`, `{worker=~"host-[12].*"}`, `{topology="bullet",worker!="host-0:6700"}`)
}

func (g generator) window() string {
	return g.selector() + "[" + g.of("1m", "5m", "10m", "37s", "1h") + "]" + g.of("", "", " offset 3m", " @ 1700002000")
}

// expression returns an expression whose result is a vector. topk is only used with different values: which of equal
// values it takes, and in which order, is undefined and varies even within Prometheus itself.
func (g generator) expression() string {
	if g.IntN(9) == 0 {
		return g.of("topk", "bottomk") + "(" + g.of("1", "2") + ", " + g.of("", "2 * ", "100 - ") +
			"bullet_worker_heap_used_bytes)"
	}
	return g.vector(3)
}

func (g generator) vector(depth int) string {
	if depth == 0 {
		return g.selector()
	}
	inner := g.vector(depth - 1)
	switch g.IntN(8) {
	case 0:
		return g.of("rate", "increase", "delta", "resets", "changes", "irate", "idelta", "deriv") + "(" +
			g.window() + ")"
	case 1:
		return g.of("avg", "min", "max", "sum", "count", "last", "stddev", "present") + "_over_time(" + g.window() + ")"
	case 2:
		return g.of("sum", "avg", "max", "min", "count", "group", "stddev") +
			g.of("", " by (worker)", " without (mode)", " by (topology, mode)") + "(" + inner + ")"
	case 3:
		return inner + g.of(" + ", " - ", " * ", " / ", " > ", " <= ", " != bool ", " % ") + g.of("2", "0.5", "1e6")
	case 4:
		return "(" + inner + ")" + g.of(" or ", " and ", " unless ") + "(" + g.vector(depth-1) + ")"
	case 5:
		return g.of("abs", "ceil", "sqrt", "ln", "timestamp", "sort", "absent", "histogram_count", "histogram_sum",
			"histogram_avg") + "(" + inner + ")"
	case 6:
		return "histogram_quantile(" + g.of("0.5", "0.99", "1") + ", " + inner + ")"
	}
	return "quantile(" + g.of("0.1", "0.9") + ", " + inner + ")"
}

// The metadata in a real Prometheus that scrapes a target are the same as ours for the same metrics.
func TestRealPrometheusMetadata(t *testing.T) {
	cases.Full(t, ourPrometheus)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0")
		fmt.Fprint(w, "# TYPE bullet_worker_heap_used_bytes gauge\n# UNIT bullet_worker_heap_used_bytes bytes\n# HELP bullet_worker_heap_used_bytes Heap in use, a slice's mean.\n"+
			"bullet_worker_heap_used_bytes 1\n# TYPE bullet_created_queries counter\n# HELP bullet_created_queries Queries <created> & \"quoted\".\nbullet_created_queries_total 1\n# EOF\n")
	}))
	t.Cleanup(target.Close)
	config := "scrape_configs: [{job_name: a, scrape_interval: 1s, static_configs: [{targets: ['" +
		strings.TrimPrefix(target.URL, "http://") + "']}]}]"
	real := startPrometheus(t, t.TempDir(), config, maxSamples)
	ours := httptest.NewServer(newHandler(t, openFixture(t), func(o *Options) {
		o.Metadata = described{
			"bullet_worker_heap_used_bytes": {Type: "gauge", Unit: "bytes", Help: "Heap in use, a slice's mean."},
			"bullet_created_queries":        {Type: "counter", Help: `Queries <created> & "quoted".`},
		}
	}))
	t.Cleanup(ours.Close)
	all := ask{method: http.MethodGet, path: "/api/v1/metadata"}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !strings.Contains(answered(t, all, real), "bullet_created_queries") {
		require.NoError(t, ctx.Err(), "Prometheus did not scrape")
	}
	for _, form := range []url.Values{nil, {"metric": {"bullet_worker_heap_used_bytes"}}, {"metric": {"nothing"}},
		{"limit": {"0"}}, {"limit_per_metric": {"1"}}} {
		all.form = form
		assert.Equal(t, answered(t, all, real), answered(t, all, ours.URL), form)
	}
}
