package peer

import (
	"encoding/binary"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

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

func TestRemoteWriteIsReadByPrometheusOwnTypes(t *testing.T) {
	header, body := taken(t, func(url string) Sender {
		return &remoteWriter{url: url, client: &http.Client{}, series: map[int][]byte{}}
	})
	assert.Equal(t, "snappy", header.Get("Content-Encoding"))
	raw, err := snappy.Decode(nil, body)
	require.NoError(t, err)
	var request prompb.WriteRequest
	require.NoError(t, request.Unmarshal(raw))
	require.Len(t, request.Timeseries, 4)
	last := request.Timeseries[3]
	assert.Equal(t, []prompb.Sample{{Value: 4, Timestamp: two.TimeMs}}, last.Samples)
	require.Len(t, last.Labels, 11)
	assert.Equal(t, prompb.Label{Name: "__name__", Value: "cpu_usage_system"}, last.Labels[0])
	for i := range last.Labels[1:] {
		assert.Less(t, last.Labels[i].Name, last.Labels[i+1].Name, "labels are sorted")
	}
}

// fields are the fields of a number in an encoded message.
func fields(t *testing.T, message []byte, number protowire.Number) (all [][]byte) {
	for len(message) > 0 {
		n, kind, length := protowire.ConsumeTag(message)
		require.GreaterOrEqual(t, length, 0)
		message = message[length:]
		size := protowire.ConsumeFieldValue(n, kind, message)
		require.GreaterOrEqual(t, size, 0)
		value := message[:size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(message)
		}
		if n == number {
			all = append(all, value)
		}
		message = message[size:]
	}
	return all
}

func TestOTLPHasEachTimeAndValueInItsPlace(t *testing.T) {
	m := newOTLPMessage(7, 2)
	for n := range 2 {
		put64(m.encoded[m.times[n]:], uint64(100+n))
		put64(m.encoded[m.values[n]:], math.Float64bits(two.Values[n]))
	}
	resources := fields(t, m.encoded, 1)
	require.Len(t, resources, 1)
	assert.Len(t, fields(t, fields(t, resources[0], 1)[0], 1), 10, "the host's name and tags")
	metrics := fields(t, fields(t, resources[0], 2)[0], 2)
	require.Len(t, metrics, 2)
	for n, metric := range metrics {
		assert.Equal(t, bench.Field(n), string(fields(t, metric, 1)[0]))
		point := fields(t, fields(t, metric, 5)[0], 1)[0]
		assert.EqualValues(t, 100+n, binary.LittleEndian.Uint64(fields(t, point, 3)[0]))
		assert.Equal(t, two.Values[n], math.Float64frombits(binary.LittleEndian.Uint64(fields(t, point, 4)[0])))
	}
}

func TestAPeerThatWasNotBuiltSaysSo(t *testing.T) {
	for _, k := range Kinds {
		_, err := k.Open(filepath.Join(t.TempDir(), "none"))
		assert.ErrorContains(t, err, "was not built", k.Name)
		assert.NotEmpty(t, k.Durability)
	}
}
