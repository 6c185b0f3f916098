package peer

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// two are the rows of two hosts with two metrics.
var two = Rows{First: 7, Metrics: 2, Values: []float64{1, 2.5, 3, 4}, TimeMs: 1_700_000_000_123}

// taken is what a server is sent in one request.
func taken(t *testing.T, send func(url string) Sender) (header http.Header, body []byte) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	s := send(server.URL)
	defer s.Close()
	require.NoError(t, s.Send(t.Context(), two))
	require.NoError(t, s.Send(t.Context(), two), "the same connection again")
	return header, body
}

func TestLinesAreTSBSs(t *testing.T) {
	_, body := taken(t, func(url string) Sender { return newLineSender(url) })
	assert.Equal(t, "cpu,hostname=host_7,"+bench.Tags(7)+" usage_user=1,usage_system=2.5 1700000000123000000\n"+
		"cpu,hostname=host_8,"+bench.Tags(8)+" usage_user=3,usage_system=4 1700000000123000000\n", string(body))
}

func TestARefusedRequestIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too old", http.StatusBadRequest)
	}))
	defer server.Close()
	assert.ErrorContains(t, newLineSender(server.URL).Send(t.Context(), two), "too old")
}

func TestAPeerThatWasNotBuiltSaysSo(t *testing.T) {
	for _, k := range Kinds {
		_, err := k.Open(filepath.Join(t.TempDir(), "none"))
		assert.ErrorContains(t, err, "was not built", k.Name)
		assert.NotEmpty(t, k.Durability)
	}
}
