package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// world has numbers with a gap and a series that ends, counters and distributions.
const world = `
load 10s
  heap{worker="a"}     1 2 3 4 _ _ stale _ 9 10 11 12 13 14 15 16 17 18 19 20
  heap{worker="b"}     5+1x6 stale
  heap{worker="c d\"e"} 7x19
  cpu_total{worker="a"} 0+3x19
  cpu_total{worker="b"} 0+3x8 0+1x10
  odd                   NaN Inf -Inf 1e-300 0.1 -0
  latency{worker="a"}  {{schema:3 sum:5 count:12 z_bucket:2 z_bucket_w:0.0005 buckets:[1 2 0 0 3 4]}}+{{schema:3 sum:5 count:12 z_bucket:2 z_bucket_w:0.0005 buckets:[1 2 0 0 3 4]}}x19
  latency{worker="b"}  {{schema:-1 sum:9 count:7 offset:-3 buckets:[1 2] n_offset:2 n_buckets:[4]}}+{{schema:-1 sum:9 count:7 offset:-3 buckets:[1 2] n_offset:2 n_buckets:[4]}}x19
`

// beside has series of another store, such as the results of rules.
const beside = `
load 10s
  ALERTS{worker="a"} 1x9 stale
  heap{worker="beside"} 100x19
`

func engineOver(t *testing.T, store storage.Queryable) *query.Engine {
	engine, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	return engine
}

func loaded(t *testing.T, text string) storage.Queryable {
	store := promqltest.LoadedStorage(t, text)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// asking returns a store that queries an engine behind a server.
func asking(t *testing.T, store storage.Queryable) *Store {
	options := httpapi.DefaultOptions()
	options.Engine, options.Gatherer = engineOver(t, store), prometheus.NewRegistry()
	handler, err := httpapi.New(options)
	require.NoError(t, err)
	return storeOf(t, handler)
}

func storeOf(t *testing.T, handler http.Handler) *Store {
	server := httptest.NewServer(handler)
	caller := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() { caller.CloseIdleConnections(); server.Close() })
	store, err := New(server.URL, caller, 5*time.Minute)
	require.NoError(t, err)
	return store
}

func answerOf(t *testing.T, e *query.Engine, text plan.Text) (string, error) {
	var asked promql.Query
	var err error
	if text.Range {
		asked, err = e.Range(t.Context(), nil, text.Expression, text.Start, text.End, text.Step)
	} else {
		asked, err = e.Instant(t.Context(), nil, text.Expression, text.Start)
	}
	require.NoError(t, err, text.Expression)
	defer asked.Close()
	result := asked.Exec(t.Context())
	return result.String(), result.Err
}

// texts returns a query at one time, over a range that begins before and ends after all data, and over a range with
// unusual steps.
func texts(expression string) []plan.Text {
	second := func(s int64) time.Time { return time.Unix(s, 0) }
	return []plan.Text{
		{Expression: expression, Start: second(75)},
		{Expression: expression, Start: second(190)},
		{Expression: expression, Start: second(100_000)},
		{Expression: expression, Start: second(-100), End: second(700), Step: 10 * time.Second, Range: true},
		{Expression: expression, Start: second(3), End: second(190), Step: 7 * time.Second, Range: true},
	}
}

// A remote engine gives the same answers over HTTP as a local one. This is true whether it evaluates the whole query,
// or part of the data is in another store.
func TestAnswersAreThoseOfTheEngine(t *testing.T) {
	here, extra := loaded(t, world), loaded(t, beside)
	there := asking(t, here)
	alone, pushed := engineOver(t, here), engineOver(t, there)
	joined, mixed := engineOver(t, query.Join(here, extra)), engineOver(t, query.Join(there, extra))
	for _, text := range texts(`max_over_time(sum(heap)[1m:10s])`) {
		want, _ := answerOf(t, alone, text)
		got, failed := answerOf(t, pushed, text)
		require.NoError(t, failed)
		assert.Equal(t, want, got, "%+v", text)
	}
	for _, expression := range []string{
		`heap`, `heap{worker=~"a|c.*"}`, `{worker="b"}`, `odd`, `latency`, `sum(heap)`, `sum by (worker) (rate(cpu_total[1m]))`,
		`histogram_quantile(0.9, sum(rate(latency[1m])))`, `histogram_count(latency)`, `increase(latency{worker="b"}[30s])`,
		`max_over_time(heap[30s])`, `heap offset 20s`, `absent(heap{worker="none"})`, `topk(2, heap)`, `time()`, `vector(1)`,
		`heap > 5 and on (worker) cpu_total`, `nothing`, `count_over_time(heap[1m]) > 0`, `scalar(heap{worker="a"})`,
		`sum by (worker) (latency)`, `label_replace(heap, "x", "$1", "worker", "(.).*")`, `heap @ 50`,
		`histogram_sum(latency) / histogram_count(latency)`,
		// together with series of the other store
		`ALERTS`, `heap * on (worker) ALERTS`, `{__name__=~"heap|ALERTS"}`, `sum(heap) + sum(ALERTS)`,
		`histogram_avg(rate(latency[40s])) and on (worker) ALERTS`, `sum(rate(latency[1m])) unless on () absent(ALERTS)`,
	} {
		for _, text := range texts(expression) {
			want, failed := answerOf(t, alone, text)
			require.NoError(t, failed, expression)
			got, failed := answerOf(t, pushed, text)
			require.NoError(t, failed, expression)
			assert.Equal(t, want, got, "%+v", text)
			want, _ = answerOf(t, joined, text)
			got, failed = answerOf(t, mixed, text)
			require.NoError(t, failed, expression)
			assert.Equal(t, want, got, "with what lies beside: %+v", text)
		}
	}
}

func TestLabelsAndSeries(t *testing.T) {
	q, err := asking(t, loaded(t, world)).Querier(0, 200_000)
	require.NoError(t, err)
	defer q.Close()
	of := func(name, v string) *labels.Matcher { return labels.MustNewMatcher(labels.MatchEqual, name, v) }
	names, _, err := q.LabelNames(t.Context(), nil, of("__name__", "heap"))
	require.NoError(t, err)
	assert.Equal(t, []string{"__name__", "worker"}, names)
	values, _, err := q.LabelValues(t.Context(), "worker", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", `c d"e`}, values)
	first, warnings, err := q.LabelValues(t.Context(), "worker", &storage.LabelHints{Limit: 1})
	require.NoError(t, err)
	require.Len(t, first, 1)
	assert.Contains(t, values, first[0], "which one, the engine chooses")
	assert.Len(t, warnings, 1, "that it was cut off")
	set := q.Select(t.Context(), true, &storage.SelectHints{End: 200_000, Func: "series"}, of("worker", `c d"e`))
	require.True(t, set.Next())
	assert.Equal(t, `{__name__="heap", worker="c d\"e"}`, set.At().Labels().String())
	assert.False(t, set.Next())
	require.NoError(t, set.Err())
}

// If the engine cannot be reached, it is an error of the store. If the engine refuses a query, its message is
// returned.
func TestFailures(t *testing.T) {
	var code int
	var body string
	store := storeOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	ask := func() error {
		_, err := answerOf(t, engineOver(t, store), plan.Text{Expression: "x", Start: time.Unix(1, 0)})
		return err
	}
	code, body = 503, `{"status":"error","errorType":"unavailable","error":"receivers are away"}`
	var unread promql.ErrStorage
	require.ErrorAs(t, ask(), &unread)
	require.ErrorContains(t, unread.Err, "receivers are away")
	code, body = 422, `{"status":"error","errorType":"execution","error":"too many series"}`
	require.ErrorContains(t, ask(), "too many series")
	require.NotErrorAs(t, ask(), &unread)
	code, body = 503, `{"status":"error","errorType":"timeout","error":"late"}`
	var late promql.ErrQueryTimeout
	require.ErrorAs(t, ask(), &late)
	code, body = 200, `<html>`
	require.ErrorAs(t, ask(), &unread)
	store.address = "gone"
	code, body = 404, `not here`
	require.ErrorContains(t, ask(), "gone")
	code, body = 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1","sum":"1","buckets":[[0,"1","1.5","1"]]}]}]}}`
	require.ErrorContains(t, ask(), "not exponential")
}

// A query also ends in the remote engine if its client disconnects or its time is over.
func TestTheQuestionEndsWithWhoAsks(t *testing.T) {
	ended := make(chan struct{}, 2)
	store := storeOf(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that the server does not notice a closed connection
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancel(errors.New("enough"))
	_, _, err := store.Evaluate(ctx, plan.Text{Expression: "x", Start: time.Unix(1, 0)})
	require.ErrorAs(t, err, new(promql.ErrQueryCanceled))
	options := query.DefaultOptions()
	options.Timeout = 50 * time.Millisecond
	engine, err := query.New(store, options)
	require.NoError(t, err)
	defer engine.Close()
	_, failed := answerOf(t, engine, plan.Text{Expression: "x", Start: time.Unix(1, 0)})
	require.ErrorAs(t, failed, new(promql.ErrQueryTimeout))
	<-ended
}

func TestAbilities(t *testing.T) {
	can, err := asking(t, loaded(t, world)).Abilities(t.Context())
	require.NoError(t, err)
	assert.True(t, can.NativeHistograms)
	other := storeOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api/v1/status/buildinfo":
			_, _ = io.WriteString(w, `{"status":"success","data":{"version":"2.24.0"}}`)
		case r.FormValue("query") == "vector(1)":
			_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"status":"error","errorType":"bad_data","error":"unknown function"}`)
		}
	}))
	can, err = other.Abilities(t.Context())
	require.NoError(t, err)
	assert.Equal(t, Abilities{Version: "2.24.0"}, can)
}
