package load

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, handler http.HandlerFunc) *Gateway {
	server := httptest.NewServer(handler)
	gateway := NewGateway(strings.TrimPrefix(server.URL, "http://"), 2)
	t.Cleanup(func() { gateway.Close(); server.Close() })
	return gateway
}

func TestGatewayQuery(t *testing.T) {
	gateway := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		assert.Equal(t, "POST /api/bullet/queries/http-query SELECT 1", r.Method+" "+r.URL.Path+" "+string(body))
		io.WriteString(w, `{"records":[{"probe":"p","probe_sequence":17,"x":{"y":1}}],"meta":{"id":"q"}}`)
	})
	answer, err := gateway.Query(context.Background(), "SELECT 1")
	require.NoError(t, err)
	records, err := rows[Record](answer)
	require.NoError(t, err)
	assert.Equal(t, []Record{{"p", 17}}, records)
}

func TestGatewayControl(t *testing.T) {
	var kept string
	gateway := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			body, _ := io.ReadAll(r.Body)
			kept = string(body)
		}
		io.WriteString(w, kept)
	})
	want := Control{RecordsPerSecond: 1500, Probes: Probes(DefaultRawQuery(), 2)}
	require.NoError(t, gateway.SetControl(context.Background(), want))
	assert.JSONEq(t, `{"records_per_second":1500,"probes":[{"value":"probe-0","per_second":0.4},{"value":"probe-1","per_second":0.4}]}`,
		kept)
	got, err := gateway.Control(context.Background())
	require.NoError(t, err)
	assert.Equal(t, want, got)

	for _, other := range []string{"", "null", "{}", `{"message":"unauthorized"}`, `{"records_per_second":`} {
		kept = other // another answer would look like a source that makes nothing
		_, err = gateway.Control(context.Background())
		assert.ErrorContains(t, err, "the answer is not from a record source", other)
		_, err = gateway.Status(context.Background())
		assert.ErrorContains(t, err, "the answer is not from a record source", other)
	}

	require.NoError(t, gateway.SetControl(context.Background(), Control{RecordsPerSecond: 1}))
	assert.JSONEq(t, `{"records_per_second":1,"probes":[]}`, kept)
}

func TestGatewayErrorsSayWhat(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "unknown stream",
				http.StatusBadRequest)
		}, "400 Bad Request: unknown stream"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
			"an HTML page"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"meta":"`)
			io.WriteString(w, strings.Repeat("x", maxAnswerBytes))
		}, "exceeds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, c.answer).Query(context.Background(), "q")
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
}
