package rulesengine

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// A tsdb that fails to open leaks the goroutine of its log (TestResultsAreDisposable). This happens once per start,
// because Results checks the free space first.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/prometheus/prometheus/tsdb/wlog.(*WL).run"))
}

const slowFilter = `
groups:
- name: latency
  interval: 1s
  rules:
  - record: topology:bullet_filter_latency_mean_seconds:max
    expr: max by (topology) (bullet_filter_latency_mean_seconds)
  - alert: FilterLatencyHigh
    expr: topology:bullet_filter_latency_mean_seconds:max > 0.2
    labels: {severity: critical}
    annotations: {summary: "{{ $labels.topology }}: {{ $value | humanizeDuration }}"}
`

// place is an evaluator over a store that a test fills.
type place struct {
	store   *Results // any tsdb is suitable
	results *Results
	engine  *query.Engine
}

func newPlace(t *testing.T, dir string) place {
	open := func(name string) *Results {
		r := OpenResults(dir+"/"+name, time.Hour, nil, nil)
		return r
	}
	p := place{store: open("store"), results: open("rules")}
	var err error
	p.engine, err = query.New(query.Join(p.store, p.results), query.DefaultOptions())
	require.NoError(t, err)
	return p
}

func (p place) close(t *testing.T) {
	require.NoError(t, p.engine.Close())
	require.NoError(t, p.results.Close())
	require.NoError(t, p.store.Close())
}

// latency adds the current filter latency of a topology.
func (p place) latency(t *testing.T, seconds float64) {
	app := p.store.Appender(t.Context())
	_, err := app.Append(0, labels.FromStrings("__name__", "bullet_filter_latency_mean_seconds", "topology", "bullet"),
		time.Now().UnixMilli(), seconds)
	require.NoError(t, err)
	require.NoError(t, app.Commit())
}

func (p place) options(dir, text string, managers ...string) Options {
	o := DefaultOptions(dir + "/rules")
	o.Interval, o.ResendDelay, o.Files = time.Second, 0, []File{{"test.yml", []byte(text)}}
	for _, m := range managers {
		u, err := url.Parse(m)
		if err != nil {
			panic(err)
		}
		o.Alertmanagers = append(o.Alertmanagers, u)
	}
	return o
}

// run runs an evaluator until the returned function is called. It returns once the previous alerts are restored.
func run(t *testing.T, e *Evaluator) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended, restored := make(chan error, 1), make(chan struct{})
	go func() { ended <- e.Run(ctx, func() { close(restored) }) }()
	<-restored
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// posted is an alert as an Alertmanager receives it.
type posted struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

func (a posted) resolved() bool { return !a.EndsAt.After(time.Now()) }

// listener starts an Alertmanager that only receives alerts.
func listener(t *testing.T) (string, <-chan posted) {
	heard := make(chan posted, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var alerts []posted
		if !assert.Equal(t, "/am/api/v2/alerts", r.URL.Path) ||
			!assert.NoError(t, json.NewDecoder(r.Body).Decode(&alerts)) {
			return
		}
		for _, a := range alerts {
			heard <- a
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/am", heard
}

// await returns the first alert for which wanted is true.
func await(t *testing.T, heard <-chan posted, wanted func(posted) bool) posted {
	deadline := time.After(time.Minute)
	for {
		select {
		case a := <-heard:
			if wanted(a) {
				return a
			}
		case <-deadline:
			require.FailNow(t, "no such alert was posted")
		}
	}
}

func TestAnAlertBuildsOnARecordedSeriesAndIsResolvedWhenItEnds(t *testing.T) {
	dir := t.TempDir()
	p := newPlace(t, dir)
	defer p.close(t)
	manager, heard := listener(t)
	p.latency(t, 0.25)
	e, err := New(p.engine, p.results, p.options(dir, slowFilter, manager))
	require.NoError(t, err)
	defer run(t, e)()

	fired := await(t, heard, func(a posted) bool { return !a.resolved() })
	assert.Equal(t, map[string]string{"alertname": "FilterLatencyHigh", "severity": "critical", "topology": "bullet"},
		fired.Labels)
	assert.Equal(t, "bullet: 250ms", fired.Annotations["summary"])
	assert.Contains(t, fired.GeneratorURL, "http://127.0.0.1:9320/graph?")

	p.latency(t, 0.1)
	ended := await(t, heard, posted.resolved)
	assert.Equal(t, fired.Labels, ended.Labels)
	assert.True(t, fired.StartsAt.Equal(ended.StartsAt))
	assert.Empty(t, e.AlertingRules()[0].ActiveAlerts())
}

// A restarted collector still knows since when an alert is pending.
func TestARestartKeepsAnAlertPending(t *testing.T) {
	const pending = "groups: [{name: g, interval: 1s, rules: [{alert: Slow, expr: 'bullet_filter_latency_mean_seconds > 0.2', for: 1h}]}]"
	dir := t.TempDir()
	p := newPlace(t, dir)
	began, stopped := time.Now().Add(-40*time.Minute), time.Now().Add(-2*time.Minute)
	app := p.results.Appender(t.Context())
	state := labels.FromStrings("__name__", "ALERTS_FOR_STATE", "alertname", "Slow", "topology", "bullet")
	_, err := app.Append(0, state, stopped.UnixMilli(), float64(began.Unix()))
	require.NoError(t, err)
	require.NoError(t, app.Commit())
	p.close(t)

	p = newPlace(t, dir)
	defer p.close(t)
	p.latency(t, 0.25)
	e, err := New(p.engine, p.results, p.options(dir, pending))
	require.NoError(t, err)
	defer run(t, e)()
	var active []*rules.Alert
	require.Eventually(t, func() bool {
		active = nil
		if all := e.AlertingRules(); len(all) == 1 && all[0].Restored() {
			active = all[0].ActiveAlerts()
		}
		return len(active) == 1
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, rules.StatePending, active[0].State)
	assert.WithinDuration(t, began.Add(2*time.Minute), active[0].ActiveAt, 30*time.Second,
		"what it was away does not count, all before does")
}

// An alert that was firing when the collector ended fires again at once, however short its "for" and however long its
// interval is. Otherwise Alertmanager would resolve it, and the API would not list it.
func TestAnAlertThatFiredIsNotPendingAfterARestart(t *testing.T) {
	const firing = "groups: [{name: g, interval: 1h, rules: [{alert: Slow, expr: 'bullet_filter_latency_mean_seconds > 0.2', for: 5m}]}]"
	dir := t.TempDir()
	p := newPlace(t, dir)
	app := p.results.Appender(t.Context())
	state := labels.FromStrings("__name__", "ALERTS_FOR_STATE", "alertname", "Slow", "topology", "bullet")
	began := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	_, err := app.Append(0, state, time.Now().Add(-time.Minute).UnixMilli(), float64(began.Unix()))
	require.NoError(t, err)
	require.NoError(t, app.Commit())
	p.close(t)

	p = newPlace(t, dir)
	defer p.close(t)
	p.latency(t, 0.25)
	manager, heard := listener(t)
	e, err := New(p.engine, p.results, p.options(dir, firing, manager))
	require.NoError(t, err)
	defer run(t, e)()
	require.Len(t, e.AlertingRules()[0].ActiveAlerts(), 1,
		"it is there when the evaluator reports that its state is restored")
	assert.Equal(t, rules.StateFiring, e.AlertingRules()[0].ActiveAlerts()[0].State)
	assert.False(t, await(t, heard, func(posted) bool { return true }).resolved())
	assert.True(t, e.AlertingRules()[0].ActiveAlerts()[0].ActiveAt.Equal(began))
}

func TestRulesThatCannotBeNameFileLineAndReason(t *testing.T) {
	p := newPlace(t, t.TempDir())
	defer p.close(t)
	for text, want := range map[string]string{
		"groups:\n- name: g\n  rules:\n  - alert: A\n    expr: sum(": "test.yml: 5:11: group \"g\", rule 1, \"A\": could not parse expression",
		"groups:\n- name: g\n  rulez: []":                            "test.yml:3: unknown field \"rulez\"",
		"groups:\n- name: g\n- name: g":                              "test.yml: groupname: \"g\" is repeated in the same file",
	} {
		_, err := New(p.engine, p.results, p.options(t.TempDir(), text))
		assert.ErrorContains(t, err, want)
	}
	assert.ErrorContains(t, Check([]File{{"a.yml", nil}, {"a.yml", nil}}, p.engine.Parser()), "a.yml is listed twice")
}

func TestOptionsThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"missing directory":        func(o *Options) { o.Dir = "" },
		"interval 1ms is below 1s": func(o *Options) { o.Interval = time.Millisecond },
		"must be at least 1":       func(o *Options) { o.QueueCapacity = 0 },
		`"ftp://h" is not a URL`:   func(o *Options) { o.Alertmanagers = []*url.URL{{Scheme: "ftp", Host: "h"}} },
		"times must be positive":   func(o *Options) { o.Retention = 0 },
	} {
		o := DefaultOptions("dir")
		require.NoError(t, o.Validate())
		change(&o)
		assert.ErrorContains(t, o.Validate(), want)
	}
	_, err := Paths([]string{t.TempDir() + "/*.yml"})
	assert.ErrorContains(t, err, "no such file")
}
