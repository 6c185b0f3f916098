package httpapi

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
)

// openRecent returns a store with slices of the last minutes: an active series, one that ended with a gap marker, one
// that is too old, and one of distributions.
func openRecent(t testing.TB, now time.Time) *grid.Store {
	f := &fixture{refs: map[string]slice.Ref{}}
	nowMs := now.Truncate(10 * time.Second).UnixMilli()
	for ms := nowMs - 600_000; ms <= nowMs-30_000; ms += 10_000 {
		f.number(ms, float64(ms%7919), model.MetricNameLabel, "bullet_worker_heap_used_bytes", "topology", "bullet",
			"worker", "h:1")
		f.number(ms, 0.1, model.MetricNameLabel, "bullet_active_queries", "topology", "<b>&\"\\\n\u2028ü\U0001F600")
		f.distribution(ms, latencies((ms-nowMs)/10_000+100), model.MetricNameLabel, "bullet_filter_latency_seconds",
			"topology", "bullet")
		switch {
		case ms < nowMs-400_000:
			f.number(ms, 1, model.MetricNameLabel, "bullet_old", "topology", "bullet")
		case ms < nowMs-60_000:
			f.number(ms, 1, model.MetricNameLabel, "bullet_worker_heap_used_bytes", "topology", "bullet", "worker",
				"h:2", "instance", "of its own")
		case ms == nowMs-60_000:
			f.number(ms, math.Float64frombits(value.StaleNaN), model.MetricNameLabel, "bullet_worker_heap_used_bytes",
				"topology", "bullet", "worker", "h:2", "instance", "of its own")
		}
	}
	s, err := grid.Open(t.TempDir(), grid.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	rejected, err := s.Append(t.Context(), 1, &f.columns)
	require.NoError(t, err)
	require.Empty(t, rejected)
	require.NoError(t, s.Flush(t.Context()))
	return s
}

// federations are requests in several formats.
var federations = []struct {
	match  []string
	accept string
}{
	{[]string{`{__name__=~".+"}`}, ""},
	{[]string{`bullet_worker_heap_used_bytes`, `bullet_active_queries`, `{worker="h:1"}`}, "text/plain"},
	{[]string{`{__name__=~".+"}`},
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"},
	{[]string{`{__name__=~".+"}`},
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text"},
	{[]string{`bullet_old`}, ""},
	{[]string{`up{`}, ""},
	{nil, ""},
}

func federated(t testing.TB, base string, match []string, accept string) string {
	if !strings.Contains(base, "?") {
		base += "/federate?"
	}
	request, err := http.NewRequest(http.MethodGet, base+url.Values{"match[]": match}.Encode(), nil)
	require.NoError(t, err)
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.Status + " " + response.Header.Get("Content-Type") + "\n" + string(body)
}

func TestFederate(t *testing.T) {
	now := time.Now()
	server := httptest.NewServer(newHandler(t, openRecent(t, now)))
	t.Cleanup(server.Close)
	text := federated(t, server.URL, []string{`{__name__=~"bullet_.*"}`}, "")
	newest := now.Truncate(10*time.Second).UnixMilli() - 30_000
	assert.Contains(t, text, `bullet_worker_heap_used_bytes{topology="bullet",worker="h:1",instance=""} `)
	assert.Contains(t, text, fmt.Sprintf(" %d\n", newest))
	for _, absent := range []string{`worker="h:2"`, "bullet_old", "bullet_filter_latency_seconds"} {
		assert.NotContains(t, text, absent)
	}
	assert.Contains(t, federated(t, server.URL, []string{`up{`}, ""), "400")
	proto := federated(t, server.URL, []string{`bullet_filter_latency_seconds`}, federations[3].accept)
	assert.Regexp(t, `schema: +2`, proto)
}

// A client that asks for types gets those of the metrics that have a description.
func TestFederateWithTypes(t *testing.T) {
	server := httptest.NewServer(newHandler(t, openRecent(t, time.Now()), func(o *Options) {
		o.Metadata = described{"bullet_worker_heap_used_bytes": {Type: "gauge"}, "bullet_active_queries": {Type: "counter"}}
	}))
	t.Cleanup(server.Close)
	for parameters, want := range map[string][2]string{
		"?types=true&": {"gauge", "counter"}, "?types=false&": {"untyped", "untyped"}, "?": {"untyped", "untyped"},
	} {
		for _, format := range []string{"", federations[3].accept} {
			answer := federated(t, server.URL+"/federate"+parameters, []string{`{topology!=""}`}, format)
			for i, name := range []string{"bullet_worker_heap_used_bytes", "bullet_active_queries"} {
				assert.Regexp(t, `(?i)(# TYPE `+name+` |name: +"`+name+`"\s+type: +)`+want[i]+`\s`, answer, parameters)
			}
			assert.Equal(t, format != "", strings.Contains(answer, "bullet_filter_latency_seconds"), "native histograms")
		}
	}
}
