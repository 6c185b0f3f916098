//go:build dashboards

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/dashboardtest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/servertest"
)

// These tests run every expression of dashboards, alerts and runbooks over recorded runs, by our API, by a real
// Prometheus of our library's version and by a real Thanos, which our remote write fed: `go test -tags dashboards`.
// Both are built from source, four to six minutes of CPU each the first time.

// servers are the two that are asked.
type servers struct{ ours, other string }

func TestDashboardsAlertsAndRunbooksGetTheSameAnswersAsFromPrometheus(t *testing.T) {
	t.Parallel()
	real := servertest.Prometheus(t, 20*365*24*time.Hour)
	servers{startOver(t, fill(t, real.URL()+"/api/v1/write")), real.URL()}.all(t)
}

// Through query.url a Thanos of three receivers, which our remote write fed, answers as the embedded store does.
func TestDashboardsAlertsAndRunbooksGetTheSameAnswersThroughThanos(t *testing.T) {
	t.Parallel()
	ring := servertest.Thanos(t, 20*365*24*time.Hour)
	elsewhere, err := remoteEngine(config.Query{URL: ring.Querier.URL(), Lookback: config.Default().Query.Lookback})
	require.NoError(t, err)
	store := fill(t, ring.Writes[0])
	ring.Await()
	servers{startOver(t, store), startOver(t, elsewhere)}.all(t)
}

func (s servers) all(t *testing.T) {
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
	"bullet_metrics_worker_tasks", "bullet_metrics_worker_clock_ahead_seconds",
	"bullet_metrics_worker_clock_set_back_seconds",
	"bullet_metrics_topology_ended_timestamp_seconds",
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
		page, err := os.ReadFile(filepath.Join("../../../docs/runbooks", a.Name+".md"))
		require.NoError(t, err)
		for _, block := range promqlBlock.FindAllStringSubmatch(string(page), -1) {
			if !strings.HasPrefix(block[1], "ALERTS") {
				s.found(t, a.Name+".md: "+block[1], strings.ReplaceAll(block[1], "NAME", "$topology"), false)
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
	ours, other := askRange(t, s.ours, form), askRange(t, s.other, form)
	require.Len(t, ours, len(other), "%s: %s", what, expr)
	for i := range other {
		require.Equal(t, other[i].Metric, ours[i].Metric, "%s: %s", what, expr)
		require.True(t, equivalent(other[i].Values, ours[i].Values) &&
			equivalent(other[i].Histograms, ours[i].Histograms),
			"%s: %s:\n%v %v\nby the other, by us\n%v %v", what, expr,
			other[i].Values, other[i].Histograms, ours[i].Values, ours[i].Histograms)
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

// equivalent compares answers; numbers may differ in what the order of a sum makes of them.
func equivalent(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, is := b.([]any)
		return is && slices.EqualFunc(x, y, equivalent)
	case map[string]any:
		y, is := b.(map[string]any)
		if !is || len(x) != len(y) {
			return false
		}
		for name := range x {
			if !equivalent(x[name], y[name]) {
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
