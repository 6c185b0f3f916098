//go:build dashboards

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/dashboard/dashboardtest"
)

// These tests run every expression of dashboards, alerts and runbooks over recorded runs, by our API and by a real
// Prometheus of our library's version that our remote write fed: `go test -tags dashboards`. Prometheus is built from
// source, some four minutes of CPU the first time.

// servers are the two that are asked.
type servers struct{ ours, real string }

func startServers(t *testing.T) servers {
	real := startReceiver(t)
	return servers{ours: startOver(t, fill(t, real)), real: real}
}

// startReceiver runs a real Prometheus that takes remote write, of any age, until the test ends.
func startReceiver(t *testing.T) string {
	tools, err := filepath.Abs("../../../build/tools")
	require.NoError(t, err)
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o",
		tools+string(filepath.Separator), "github.com/prometheus/prometheus/cmd/prometheus")
	build.Dir = "../../tools/prometheus"
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	dir := t.TempDir()
	file, log := filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "log")
	require.NoError(t, os.WriteFile(file, []byte("storage: {tsdb: {out_of_order_time_window: 20y}}\n"), 0o666))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	p := exec.Command(filepath.Join(tools, "prometheus"), "--config.file", file, "--storage.tsdb.path",
		filepath.Join(dir, "data"), "--storage.tsdb.retention.time", "100y",
		"--web.listen-address", address, "--web.enable-remote-write-receiver", "--log.level", "warn")
	said, err := os.Create(log)
	require.NoError(t, err)
	defer said.Close()
	p.Stdout, p.Stderr = said, said
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		_ = p.Wait()
	})
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 30*time.Second, 20*time.Millisecond, "Prometheus is not ready")
	return "http://" + address
}

func TestDashboardsAlertsAndRunbooksGetTheSameAnswersAsFromPrometheus(t *testing.T) {
	t.Parallel()
	s := startServers(t)
	t.Run("dashboards", func(t *testing.T) { s.dashboards(t) })
	t.Run("alerts", func(t *testing.T) { s.alerts(t) })
	t.Run("runbooks", func(t *testing.T) { s.runbooks(t) })
}

// A collector evaluates every rule without an error, and the watchdog fires. What its own dashboard shows of it is
// there.
func TestDashboardsRulesAreEvaluatedByTheCollector(t *testing.T) {
	t.Parallel()
	c := settings(t.TempDir())
	c.Rules.Interval = time.Second
	r := startCollector(t, c)
	type rule struct{ Name, State, Health, LastError string }
	all := func() (rules []rule) {
		response, err := http.Get("http://" + r.col.httpListener.Addr().String() + "/api/v1/rules")
		if !assert.NoError(t, err) {
			return nil
		}
		defer response.Body.Close()
		var answer struct {
			Data struct {
				Groups []struct{ Rules []rule }
			}
		}
		assert.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		for _, g := range answer.Data.Groups {
			rules = append(rules, g.Rules...)
		}
		return rules
	}
	require.Eventually(t, func() bool {
		evaluated := all()
		return len(evaluated) > 0 && !slices.ContainsFunc(evaluated, func(r rule) bool { return r.Health == "unknown" })
	}, 45*time.Second, 100*time.Millisecond, "the group is evaluated within its interval")
	require.Len(t, all(), len(alertrules.Recordings())+len(alertrules.Alerts()))
	for _, r := range all() {
		assert.Equal(t, "ok", r.Health, "%s: %s", r.Name, r.LastError)
		if r.Name == "BulletMetricsWatchdog" {
			assert.Equal(t, "firing", r.State)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dashboardtest.Own())) {
		if !strings.HasPrefix(name, "bullet_annotation_") && !slices.Contains(onceUsed, name) {
			assert.Eventually(t, func() bool {
				return r.ask(fmt.Sprintf(`{__name__=~"%s(_bucket)?",job="bullet-metrics"}`, name)) != "[]"
			}, 30*time.Second, 100*time.Millisecond,
				"the collector does not say %s of itself, which it looks at each second", name)
		}
	}
}

// onceUsed are figures that are there only when samples came, were refused or something is damaged; the other test has
// those that it needs.
var onceUsed = []string{"bullet_metrics_feed_slices_total", "bullet_metrics_ingest_batches_total",
	"bullet_metrics_ingest_topology_rejected_samples_total",
	"bullet_metrics_embedded_slices_rejected_total", "bullet_metrics_embedded_damaged_total",
	"bullet_metrics_worker_tasks", "bullet_metrics_topology_ended_timestamp_seconds",
	"bullet_metrics_client_stopped_timestamp_seconds"}

// reporting is how far apart the reports of the captures are: Storm's minute. Grafana's $__rate_interval is four of it.
const reporting = time.Minute

// dashboards: every query of every committed panel finds something for one of the recorded topologies, and the same by
// both.
func (s servers) dashboards(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dashboardsHome, "*.json"))
	require.NoError(t, err)
	asked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d dashboardtest.Dashboard
		require.NoError(t, json.Unmarshal(text, &d))
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if strings.HasPrefix(target.Expr, "ALERTS") { // where rules are evaluated
					continue
				}
				s.found(t, fmt.Sprintf("%s: panel %q: targets.%s", filepath.Base(file), p.Title, target.RefID),
					target.Expr, target.Instant)
				asked++
			}
		}
		for _, v := range d.Templating.List {
			if selector := labelValuesOf.FindStringSubmatch(v.Query.Text); selector != nil {
				s.found(t, fmt.Sprintf("%s: templating.%s", filepath.Base(file), v.Name), selector[1], true)
			}
		}
	}
	assert.Greater(t, asked, 100)
}

var labelValuesOf = regexp.MustCompile(`^label_values\((.+), [a-z_]+\)$`)

// alerts: what is recorded, and what Grafana compares, finds something, and the same by both.
func (s servers) alerts(t *testing.T) {
	for _, r := range alertrules.Recordings() {
		s.found(t, r.Name, r.Whole(), false)
	}
	for _, a := range alertrules.Alerts() {
		if a.Name != "BulletMetricsCollectorBlind" { // nothing is the good case; and then the topology is silent:
			s.found(t, a.Name, a.GrafanaExpr(), true)
			continue
		}
		found := s.same(t, a.Name, a.GrafanaExpr(), fillEnd, fillEnd, 1)
		assert.False(t, found, "%s fires while workers report", a.Name)
		found = s.same(t, a.Name, a.GrafanaExpr(), fillEnd+600, fillEnd+600, 1)
		assert.True(t, found, "%s does not fire where they are silent", a.Name)
	}
}

var promqlBlock = regexp.MustCompile("(?s)```promql\n *(.*?)\n *```")

// runbooks: the queries to look with find something; ALERTS is there where rules are evaluated.
func (s servers) runbooks(t *testing.T) {
	for _, a := range alertrules.Alerts() {
		page, err := os.ReadFile(filepath.Join("../../../docs/runbooks", a.Runbook()+".md"))
		require.NoError(t, err)
		for _, block := range promqlBlock.FindAllStringSubmatch(string(page), -1) {
			if !strings.HasPrefix(block[1], "ALERTS") {
				s.found(t, a.Runbook()+".md: "+block[1], strings.ReplaceAll(block[1], "NAME", "$topology"), false)
			}
		}
	}
}

// found asks for each recorded topology, until something is found.
func (s servers) found(t *testing.T, what, expr string, instant bool) {
	for _, topology := range []string{"bullet", "word"} {
		start, end := int64(fillStart), int64(fillEnd)
		if topology == "word" {
			start, end = wordStart, wordEnd
		}
		if instant {
			start = end
		}
		found := s.same(t, what, dashboardtest.Fill(expr, topology, 4*reporting), start, end, 15)
		if found {
			return
		}
	}
	assert.Fail(t, "nothing is found", "%s: %s", what, expr)
}

// The time of the second capture.
const (
	wordStart = 1795200040
	wordEnd   = 1795200140
)

// same asks both servers over a range, and reports whether there was anything.
func (s servers) same(t *testing.T, what, expr string, start, end, step int64) (found bool) {
	form := url.Values{"query": {expr}, "start": {fmt.Sprint(start)}, "end": {fmt.Sprint(end)},
		"step": {fmt.Sprint(step)}}
	ours, real := askRange(t, s.ours, form), askRange(t, s.real, form)
	require.Len(t, ours, len(real), "%s: %s", what, expr)
	for i := range real {
		require.Equal(t, real[i].Metric, ours[i].Metric, "%s: %s", what, expr)
		require.True(t, alike(real[i].Values, ours[i].Values) && alike(real[i].Histograms, ours[i].Histograms),
			"%s: %s:\n%v %v\nby Prometheus, by us\n%v %v", what, expr,
			real[i].Values, real[i].Histograms, ours[i].Values, ours[i].Histograms)
	}
	return len(ours) > 0
}

type answeredSeries struct {
	Metric             map[string]string
	Values, Histograms []any
}

func askRange(t *testing.T, base string, form url.Values) []answeredSeries {
	response, err := http.PostForm(base+"/api/v1/query_range", form)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", form.Get("query"), body)
	var answer struct {
		Data struct{ Result []answeredSeries }
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	slices.SortFunc(answer.Data.Result, func(a, b answeredSeries) int {
		return strings.Compare(fmt.Sprint(a.Metric), fmt.Sprint(b.Metric))
	})
	return answer.Data.Result
}

// alike compares answers; numbers may differ in what the order of a sum makes of them.
func alike(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, is := b.([]any)
		return is && slices.EqualFunc(x, y, alike)
	case map[string]any:
		y, is := b.(map[string]any)
		if !is || len(x) != len(y) {
			return false
		}
		for name := range x {
			if !alike(x[name], y[name]) {
				return false
			}
		}
		return true
	case string:
		y, is := b.(string)
		if x == y {
			return is
		}
		f, err := strconv.ParseFloat(x, 64)
		g, other := strconv.ParseFloat(y, 64)
		return err == nil && other == nil && math.Abs(f-g) <= 1e-9*math.Abs(f)
	}
	return a == b
}
