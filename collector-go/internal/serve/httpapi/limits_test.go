package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// Every endpoint with PromQL refuses an expression that is nested too deep, within milliseconds. The message names the
// setting.
func TestNestedTooDeep(t *testing.T) {
	h := handlerOver(t, empty{})
	for _, text := range []string{"abs(", "ln(", "(", "-", "x+", "x[1m:]", "{", "[", "sum(", "!"} {
		text = strings.Repeat(text, 100_000)[:60_000]
		for path, form := range map[string]url.Values{
			"/api/v1/query":           {"query": {text}},
			"/api/v1/query_range":     {"query": {text}, "start": {"1"}, "end": {"2"}, "step": {"1"}},
			"/api/v1/query_exemplars": {"query": {text}},
			"/api/v1/format_query":    {"query": {text}},
			"/api/v1/series":          {"match[]": {text}},
			"/api/v1/labels":          {"match[]": {text}},
		} {
			r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			requireRefused(t, h, r)
		}
		for _, path := range []string{"/api/v1/label/a/values", "/api/v1/rules", "/federate"} {
			requireRefused(t, h, httptest.NewRequest(http.MethodGet, "http://localhost"+path+"?"+
				url.Values{"match[]": {text}}.Encode(), nil))
		}
	}
}

func requireRefused(t *testing.T, h http.Handler, r *http.Request) {
	t.Helper()
	started := time.Now()
	got := call(t, h, r)
	require.Less(t, time.Since(started), 2*time.Second)
	require.True(t, strings.HasPrefix(got, "400\n"), "%s: %.200s", r.URL.Path, got)
	require.Contains(t, got, "query.max_depth", r.URL.Path)
}

func TestTooLong(t *testing.T) {
	h := handlerOver(t, empty{})
	got := get(t, h, "http://localhost/api/v1/query?query="+strings.Repeat("a", 64<<10+1))
	assert.Equal(t, "400\nContent-Type: application/json\n\n"+
		`{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": query is more than 65536 bytes long; shorten it or raise query.max_length"}`+"\n",
		got)
}

// greedy is a querier in which every selector finds more than a query may read.
type greedy struct{ storage.Querier }

func (greedy) Select(ctx context.Context, _ bool, _ *storage.SelectHints, _ ...*labels.Matcher) storage.SeriesSet {
	return storage.ErrSeriesSet(plan.From(ctx).ReadSeries(500_001))
}

func TestReadsTooMuch(t *testing.T) {
	h := handlerOver(t, storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		return greedy{storage.NoopQuerier()}, nil
	}))
	const why = "query reads more than 500000 series; select fewer series or a shorter time, or raise query.max_series"
	for _, target := range []string{"/api/v1/query?query=up&time=1",
		"/api/v1/query_range?query=up&start=1&end=2&step=1", "/api/v1/series?match[]=up", "/federate?match[]=up"} {
		got := get(t, h, "http://localhost"+target)
		assert.True(t, strings.HasPrefix(got, "422\n"), got)
		assert.Contains(t, got, why, target)
	}
}
