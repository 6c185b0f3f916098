//go:build prometheus

package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// startBothWithRules starts our evaluator and a real Prometheus with the same rules and the same slices. Both send
// alerts to the same address, where nobody listens.
func startBothWithRules(t *testing.T) both {
	cases.Full(t, ourPrometheus)
	path, err := filepath.Abs("testdata/rules.yml")
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)

	s := openFixture(t)
	results := rulesengine.OpenResults(t.TempDir(), time.Hour, nil, nil)
	t.Cleanup(func() { require.NoError(t, results.Close()) })
	engine, err := query.New(query.Join(s, results), query.DefaultOptions())
	require.NoError(t, err)
	judging := rulesengine.DefaultOptions(t.TempDir())
	judging.Files = []rulesengine.File{{Name: path, Text: text}}
	judging.Alertmanagers = []*url.URL{{Scheme: "http", Host: "127.0.0.1:9", Path: "/am"}}
	evaluator, err := rulesengine.New(engine, results, judging)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- evaluator.Run(ctx, func() {}) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})

	options := DefaultOptions()
	options.Engine, options.Gatherer, options.Rules = engine, prometheus.NewRegistry(), evaluator
	handler, err := New(options)
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config := fmt.Sprintf(
		"rule_files: [%q]\nalerting: {alertmanagers: [{path_prefix: /am, static_configs: [{targets: ['127.0.0.1:9']}]}]}\n",
		path)
	return both{ours: server.URL, real: startPrometheus(t, exportBlocks(t, s), config, maxSamples)}
}

// moments matches what differs between two evaluators: the times and durations of evaluations.
var moments = regexp.MustCompile(`"(evaluationTime|lastEvaluation|activeAt|keepFiringSince)":("[^"]*"|[0-9.e-]+)`)

func TestRulesAndAlertsAreAnsweredAsPrometheusDoes(t *testing.T) {
	servers := startBothWithRules(t)
	ask := func(base, path string) string {
		r, err := http.Get(base + path)
		require.NoError(t, err)
		return moments.ReplaceAllString(show(t, r), `"$1":0`)
	}
	// after two evaluations of every group, alerts are restored
	for _, base := range []string{servers.ours, servers.real} {
		require.Eventually(t, func() bool {
			answer := ask(base, "/api/v1/rules")
			return !strings.Contains(answer, `"health":"unknown"`) && strings.Contains(answer, "exceeded limit of 1") &&
				strings.Contains(ask(base, "/api/v1/query?query=ALERTS"), "HeapPending")
		}, time.Minute, 50*time.Millisecond)
	}
	var pages []string
	for _, path := range []string{
		"/api/v1/rules", "/api/v1/rules?type=alert", "/api/v1/rules?type=record", "/api/v1/rules?type=RECORD",
		"/api/v1/rules?exclude_alerts=true",
		"/api/v1/rules?rule_name[]=HeapHigh&rule_name[]=Quiet", "/api/v1/rules?rule_group[]=alerts",
		"/api/v1/rules?file[]=/no/such",
		"/api/v1/rules?match[]=%7Bseverity%3D%22critical%22%7D", "/api/v1/rules?group_limit=1",
		"/api/v1/rules?group_limit=2&type=alert",
		"/api/v1/rules?group_limit=1&group_next_token=wrong", "/api/v1/alerts", "/api/v1/alertmanagers",
	} {
		real := ask(servers.real, path)
		assert.Equal(t, real, ask(servers.ours, path), path)
		pages = append(pages, real)
	}
	assert.Contains(t, pages[0], `"lastError":"found duplicate series`)
	assert.Contains(t, pages[len(pages)-2], `"state":"pending"`)
	assert.Contains(t, pages[len(pages)-1], "http://127.0.0.1:9/am/api/v2/alerts")
	next := regexp.MustCompile(`"groupNextToken":"([0-9a-f]+)"`).FindStringSubmatch(pages[9])
	require.NotNil(t, next, "a page of three groups has a next")
	page := "/api/v1/rules?group_limit=1&group_next_token=" + next[1]
	assert.Equal(t, ask(servers.real, page), ask(servers.ours, page))
}
