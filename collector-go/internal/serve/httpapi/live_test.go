package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/live"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// sampled is the sampler of one worker of the topology of startReported.
type sampled struct{ *live.Live }

func startSampled() sampled {
	s := sampled{live.New(func() time.Time { return time.UnixMilli(1_800_000_601_500) })}
	for i, name := range []string{"cpu.total_ms", "heap.used_bytes", "gc.time_ms", "process.start_time_ms"} {
		s.Observe(&journal.SeriesDefined{ID: journal.SeriesID(i + 1), Series: metric.Raw{
			Worker: metric.Worker{Topology: "bullet", Host: "worker-1", Port: 6700}, Name: name,
			Shape: metric.ShapeSampler, IntervalMs: 1_000, PackSpanMs: 2_000}})
	}
	s.Observe(&journal.LayoutDefined{ID: 1, Series: []journal.SeriesID{1, 2, 3, 4}})
	s.Observe(&journal.Tick{TimeMs: 1_800_000_600_000})
	return s
}

func (s sampled) send(timeMs int64, cpuMs, heap, gcMs float64) {
	s.Observe(&journal.Batch{ReceivedMs: timeMs + 100, Blocks: []journal.Block{{Layout: 1, Block: block.Block{
		Columns: 4, Rows: 1, FirstMs: timeMs, Codec: block.Doubles,
		Values: block.AppendDoubles(nil, []float64{cpuMs, heap, gcMs, 1_800_000_000_000})}}}})
}

// stream is an open stream of events.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	id    string // of the last event
}

func openStream(t *testing.T, address, lastID string) (*stream, *http.Response) {
	url := "http://" + address + "/api/v1/live?topology=bullet"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	return &stream{t: t, lines: bufio.NewScanner(response.Body)}, response
}

// next returns the data of the next event with workers, or "" if the stream ended.
func (s *stream) next() string {
	for s.lines.Scan() {
		if id, is := strings.CutPrefix(s.lines.Text(), "id: "); is {
			s.id = id
		}
		if data, is := strings.CutPrefix(s.lines.Text(), "data: "); is && !strings.Contains(data, `"workers":[]`) {
			return data
		}
	}
	return ""
}

func TestLiveSamplesArriveAsEvents(t *testing.T) {
	known, samples := startReported(t), startSampled()
	address := serve(t, empty{}, func(o *Options) { o.Registry, o.Live = known.registry, samples.Live })
	samples.send(1_800_000_600_900, 100, 7e6, 0)

	s, response := openStream(t, address, "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	assert.JSONEq(t, `{"now_ms":1800000601500,"read_ms":1800000601500,"workers":[{"worker":"worker-1:6700",
		"heard_ms":1800000601000,"every_ms":2000,"times_ms":[1800000600900],"cpu_cores":[null],"heap_bytes":[7000000],
		"gc_share":[null]}]}`, s.next())
	first := s.id

	samples.send(1_800_000_601_900, 433.33333, 8e6, 12)
	const second = `{"now_ms":1800000601500,"read_ms":1800000601500,"workers":[{"worker":"worker-1:6700",
		"heard_ms":1800000602000,"every_ms":2000,"times_ms":[1800000601900],"cpu_cores":[0.3333],"heap_bytes":[8000000],"gc_share":[0.012]}]}`
	assert.JSONEq(t, second, s.next())

	again, _ := openStream(t, address, first)
	assert.JSONEq(t, second, again.next(), "a client that comes back gets what it missed")
	lost, _ := openStream(t, address, "12")
	assert.Contains(t, lost.next(), `"times_ms":[1800000600900,1800000601900]`, "an id from before a restart")
}

// A value that is too large for JSON does not end the stream.
func TestAnInfiniteValueIsNull(t *testing.T) {
	data, err := json.Marshal([]orNull{orNull(math.MaxFloat64), orNull(math.Inf(1)), orNull(math.NaN()), 0.00004})
	require.NoError(t, err)
	assert.JSONEq(t, `[null, null, null, 0]`, string(data))
}

// Without samples, an event each second shows that the collector works.
func TestAQuietStreamHasEvents(t *testing.T) {
	known := startReported(t)
	address := serve(t, empty{}, func(o *Options) { o.Registry, o.Live = known.registry, startSampled().Live })
	s, _ := openStream(t, address, "")
	for range 2 {
		for s.lines.Scan() && !strings.HasPrefix(s.lines.Text(), "data: ") {
		}
		require.Equal(t, `data: {"now_ms":1800000601500,"read_ms":1800000601500,"workers":[]}`, s.lines.Text())
	}
}

func TestStreamsEndWithTheServerAndWithTime(t *testing.T) {
	known := startReported(t)
	address := serve(t, empty{}, func(o *Options) {
		o.Registry, o.Live, o.RequestTimeout = known.registry, startSampled().Live, 500*time.Millisecond
	})
	s, _ := openStream(t, address, "")
	assert.Empty(t, s.next(), "its time is over")
	require.NoError(t, s.lines.Err(), "it ends in order")

	ctx, stop := context.WithCancel(t.Context())
	address = serveUntil(t, ctx, empty{}, func(o *Options) {
		// the test ends long before a minute
		o.Registry, o.Live, o.ShutdownTimeout = known.registry, startSampled().Live, time.Minute
	})
	s, _ = openStream(t, address, "")
	require.True(t, s.lines.Scan())
	stop()
	assert.Empty(t, s.next())
	require.NoError(t, s.lines.Err(), "it ends in order")
}

// If the credentials change, streams end, and the next one needs the new credentials.
func TestStreamsEndWhenTheirClientMayNoLongerRead(t *testing.T) {
	known, tokens := startReported(t), filepath.Join(t.TempDir(), "tokens")
	accesstest.TokenFile(t, tokens, "reader read")
	address := serve(t, empty{}, func(o *Options) {
		o.Registry, o.Live, o.Guard = known.registry, startSampled().Live, guardOf(t, access.Options{TokenFile: tokens})
	})
	open := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+address+"/api/v1/live?topology=bullet", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer reader")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	response := open()
	require.Equal(t, http.StatusOK, response.StatusCode)
	accesstest.TokenFile(t, tokens, "another read")
	_, err := io.Copy(io.Discard, response.Body)
	require.NoError(t, err, "it ends in order")
	assert.Equal(t, http.StatusUnauthorized, open().StatusCode)
}

func TestAStreamIsRefusedWithAReason(t *testing.T) {
	known := startReported(t)
	address := serve(t, empty{}, func(o *Options) {
		o.Registry, o.Live, o.MaxRequests = known.registry, startSampled().Live, 4*maxLiveStreams
	})
	for query, want := range map[string]string{
		"":                  `400 {"status":"error","errorType":"bad_data","error":"missing parameter \"topology\""}`,
		"?topology=unknown": `404 {"status":"error","errorType":"not_found","error":"topology \"unknown\" does not report to this collector; /api/v1/topologies lists the known topologies"}`,
	} {
		response, err := http.Get("http://" + address + "/api/v1/live" + query)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, want, fmt.Sprint(response.StatusCode, " ", strings.TrimSpace(string(body))))
		response.Body.Close()
	}
	open, status := 0, http.StatusOK
	for ; status == http.StatusOK; open++ {
		_, response := openStream(t, address, "")
		status = response.StatusCode
	}
	assert.Equal(t, http.StatusTooManyRequests, status)
	assert.Equal(t, 2*maxLiveStreams/3+2, open, "two thirds for one client, and the one that was refused")
}

// BenchmarkWatching is a second of a stream that one page watches: each worker sends a sample per second, in packs of
// two, and the stream sends four events.
func BenchmarkWatching(b *testing.B) {
	for _, workers := range []int{100, 500} {
		b.Run(fmt.Sprintf("%d workers", workers), func(b *testing.B) {
			samples := live.New(time.Now)
			var layouts []journal.Block
			for n := range workers {
				var ids []journal.SeriesID
				for i, name := range []string{"cpu.user_ms", "cpu.system_ms", "heap.used_bytes", "heap.committed_bytes",
					"heap.limit_bytes", "process.start_time_ms", "gc.count", "gc.time_ms"} {
					id := journal.SeriesID(n*8 + i + 1)
					at := metric.Worker{Topology: "t", Host: fmt.Sprintf("host-%d", n), Port: 6700}
					samples.Observe(&journal.SeriesDefined{ID: id, Series: metric.Raw{Worker: at, Name: name,
						Shape: metric.ShapeSampler, IntervalMs: 1_000, PackSpanMs: 2_000}})
					ids = append(ids, id)
				}
				samples.Observe(&journal.LayoutDefined{ID: journal.LayoutID(n), Series: ids})
				layouts = append(layouts, journal.Block{Layout: journal.LayoutID(n),
					Block: block.Block{Columns: 8, Rows: 2, StepMs: 1_000, Codec: block.Trimmed}})
			}
			seen, bytes, at := uint64(0), 0, 0
			send := func(n int, second int64) {
				x := layouts[n]
				x.FirstMs = second * 1_000
				var values []float64
				for column := range 8 {
					v := float64(second*700 + int64(n*column)*1_000)
					values = append(values, v, v+350)
				}
				x.Values = block.AppendTrimmed(nil, values)
				samples.Observe(&journal.Batch{ReceivedMs: x.FirstMs, Blocks: []journal.Block{x}})
			}
			for second := int64(2); b.Loop(); second++ {
				for range 4 {
					for range workers / 8 {
						send(at%workers, second)
						at++
					}
					var news []live.Worker
					news, seen, _ = samples.Since("t", seen)
					data, err := json.Marshal(liveEventOf(1_800_000_000_000, 1_800_000_000_000, news))
					require.NoError(b, err)
					bytes += len(data)
				}
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "B/s")
		})
	}
}
