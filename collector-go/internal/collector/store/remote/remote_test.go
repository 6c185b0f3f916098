package remote

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

func columns() *slice.Columns {
	return &slice.Columns{
		Definitions: []slice.Definition{
			{Ref: 0, Series: metric.Series{Labels: labels.FromStrings("__name__", "bullet_active_queries", "topology",
				"t", "worker", ""), Kind: metric.KindGauge}},
			{Ref: 1, Series: metric.Series{Labels: labels.FromStrings("__name__", "bullet_query_latency_seconds",
				"topology", "t"), Kind: metric.KindDistribution}},
		},
		Refs: []slice.Ref{0, 0}, EndsMs: []int64{10, 20}, Values: []float64{1, staleNaN},
		HistogramRefs: []slice.Ref{1, 1}, HistogramEndsMs: []int64{10, 20},
		Histograms: []*histogram.Histogram{{Schema: 1, Count: 3, Sum: 0.75,
			PositiveSpans: []histogram.Span{{Offset: -4, Length: 2}}, PositiveBuckets: []int64{1, 1}}, nil},
	}
}

// sent returns the request for some columns, as a receiver decodes it.
func sent(t *testing.T, classic bool) (header http.Header, write prompb.WriteRequest) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		raw, err := snappy.Decode(nil, body)
		assert.NoError(t, err)
		assert.NoError(t, write.Unmarshal(raw))
	}))
	defer s.Close()
	store := open(t, s.URL, classic, time.Minute)
	rejected, err := store.Append(t.Context(), 10, columns())
	require.NoError(t, err)
	require.Empty(t, rejected)
	return header, write
}

func open(t *testing.T, url string, classic bool, timeout time.Duration) *forward.Store {
	p, err := New(Options{Receiver: forward.Receiver{URL: url}, Classic: classic})
	require.NoError(t, err)
	o := forward.DefaultOptions("test")
	o.Timeout = timeout
	store, err := forward.Open(t.TempDir(), p, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	return store
}

func TestNativeHistogramsAndMarkers(t *testing.T) {
	header, write := sent(t, false)
	assert.Equal(t, "snappy", header.Get("Content-Encoding"))
	assert.Equal(t, "application/x-protobuf", header.Get("Content-Type"))
	assert.Equal(t, "0.1.0", header.Get("X-Prometheus-Remote-Write-Version"))
	require.Len(t, write.Timeseries, 2, "a series' points are together")
	assert.Equal(t, []prompb.Label{{Name: "__name__", Value: "bullet_active_queries"}, {Name: "topology", Value: "t"}},
		write.Timeseries[0].Labels, "a label with an empty value is not sent")
	require.Len(t, write.Timeseries[0].Samples, 2)
	assert.True(t, value.IsStaleNaN(write.Timeseries[0].Samples[1].Value))
	native := write.Timeseries[1].Histograms
	require.Len(t, native, 2)
	assert.Equal(t, uint64(3), native[0].GetCountInt())
	assert.Equal(t, []int64{1, 1}, native[0].PositiveDeltas)
	assert.True(t, value.IsStaleNaN(native[1].Sum))
}

func TestClassicBuckets(t *testing.T) {
	_, write := sent(t, true)
	require.Len(t, write.Timeseries, 1+36)
	for _, series := range write.Timeseries {
		require.Len(t, series.Samples, 2)
		assert.Empty(t, series.Histograms)
		assert.True(t, value.IsStaleNaN(series.Samples[1].Value))
	}
}

// A receiver that accepts a request and never answers must not block for longer than the timeout. The same applies to
// one that sends one byte per second.
func TestASlowReceiverIsGivenUp(t *testing.T) {
	ended := make(chan struct{})
	asked, tooLong := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for bytes := 0; ; bytes++ {
			if bytes == 500 { // fifty times the timeout
				tooLong()
			}
			select {
			case <-r.Context().Done():
				return
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
				w.WriteHeader(http.StatusOK)
				_, _ = w.Write([]byte("."))
				w.(http.Flusher).Flush()
			}
		}
	}))
	defer s.Close()
	defer close(ended)
	store := open(t, s.URL, false, 200*time.Millisecond)
	_, err := store.Append(asked, 10, columns())
	assert.NoError(t, err, "the status is the answer: what comes behind it is for people, and is not waited for")
	assert.Equal(t, uint64(10), store.Durable())
}

func TestAReceiverThatNeverAnswersIsGivenUp(t *testing.T) {
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	defer s.Close()
	defer close(ended)
	store := open(t, s.URL, false, 100*time.Millisecond)
	_, err := store.Append(t.Context(), 10, columns())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Zero(t, store.Durable())
}
