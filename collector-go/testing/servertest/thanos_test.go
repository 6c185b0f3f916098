//go:build stores

package servertest

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	write "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query/remote"
)

// What a collector hands to a Thanos of three receivers, one of which is killed on the way, is asked through its
// querier as it is asked of the embedded store: whole queries, and those that read something beside it.
func TestThanosAnswersAsTheEmbeddedStore(t *testing.T) {
	r := Thanos(t, 2*time.Hour)
	w := newWorldAt(t, time.Now().Add(-40*time.Minute).Truncate(10*time.Second).UnixMilli())
	l := live(t, w, directory(t), []sink{{name: "thanos", protocol: func() (forward.Protocol, error) {
		return write.New(write.Options{Receiver: forward.Receiver{URL: r.Writes[0]}})
	}}})
	steps := func(n int) {
		for range n {
			w.step()
		}
		l.await("embedded", "thanos")
	}
	steps(70)
	r.Receivers[1].Kill()
	steps(70) // two of three are enough
	r.Receivers[1].Start()
	steps(70)
	r.Await()
	caller := &http.Client{Transport: &http.Transport{}}
	defer caller.CloseIdleConnections()
	there, err := remote.New(r.Querier.URL(), caller, 5*time.Minute)
	require.NoError(t, err)
	can, err := there.Abilities(t.Context())
	require.NoError(t, err)
	require.True(t, can.NativeHistograms)
	everything(t, l, there)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := expressions{rand.New(rand.NewPCG(seed, 0))}
	found := 0
	for range 200 {
		expression := g.any()
		at := time.UnixMilli((w.firstMs + 60_000 + g.Int64N(w.clockMs-w.firstMs-180_000)) / stepMs * stepMs)
		want, got := ours(t, l.embedded, expression, at), ours(t, there, expression, at)
		require.Len(t, got, len(want), "%s at %d", expression, at.Unix())
		for key, v := range want {
			found++
			require.InDelta(t, v, got[key], 1e-12*math.Abs(v), "%s at %d: %s", expression, at.Unix(), key)
		}
	}
	require.Greater(t, found, 200, "too little is found")
	l.end(true)
}

// everything compares all slices of all series, to the bit; gaps' markers apart, which no API gives.
func everything(t *testing.T, l *life, there *remote.Store) {
	read := func(store storage.Queryable, name string) promql.Matrix {
		engine, err := query.New(store, query.DefaultOptions())
		require.NoError(t, err)
		defer engine.Close()
		asked, err := engine.Instant(t.Context(), nil, `{topology="bullet"}[1h]`, time.UnixMilli(l.world.clockMs))
		require.NoError(t, err)
		defer asked.Close()
		all, err := asked.Exec(t.Context()).Matrix()
		require.NoError(t, err, name)
		return all
	}
	want, got := read(l.embedded, "embedded"), read(there, "Thanos")
	require.NotEmpty(t, want)
	require.Len(t, got, len(want))
	samples := 0
	for i, s := range want {
		require.Equal(t, s.Metric.String(), got[i].Metric.String())
		require.Len(t, got[i].Floats, len(s.Floats), s.Metric)
		for j, f := range s.Floats {
			require.Equal(t, f, got[i].Floats[j], s.Metric)
		}
		require.Len(t, got[i].Histograms, len(s.Histograms), s.Metric)
		for j, h := range s.Histograms {
			require.Equal(t, h.T, got[i].Histograms[j].T)
			require.Equal(t, h.H.TestExpression(), got[i].Histograms[j].H.TestExpression(), s.Metric)
		}
		samples += len(s.Floats) + len(s.Histograms)
	}
	t.Logf("%d series with %d slices alike", len(want), samples)
}

// BenchmarkThanosTakesSlices is what a receiver of three, each of which keeps everything, needs for slices that a
// collector hands over every 10 s: CPU, and memory once it has had 5 minutes of them.
func BenchmarkThanosTakesSlices(b *testing.B) {
	const series = 50_000
	ring := Thanos(b, 2*time.Hour)
	protocol, err := write.New(write.Options{Receiver: forward.Receiver{URL: ring.Writes[0]}})
	require.NoError(b, err)
	store, err := forward.Open(b.TempDir(), protocol, forward.DefaultOptions("thanos"))
	require.NoError(b, err)
	c := &slice.Columns{}
	for ref := range slice.Ref(series) {
		c.Definitions = append(c.Definitions, slice.Definition{Ref: ref, IntervalMs: stepMs,
			Series: metric.Series{Kind: metric.KindGauge, Labels: labels.FromStrings("__name__", "m", "topology", "bullet",
				"worker", strconv.Itoa(int(ref)/100), "task", strconv.Itoa(int(ref)%100))}})
	}
	random := rand.New(rand.NewPCG(1, 1))
	first := time.Now().Add(-20 * time.Minute).Truncate(time.Minute).UnixMilli()
	before, handed := ring.CPUSeconds(), 0
	for b.Loop() {
		handed++
		for ref := range slice.Ref(series) {
			c.Refs, c.EndsMs = append(c.Refs, ref), append(c.EndsMs, first+int64(handed)*stepMs)
			c.Values = append(c.Values, float64(random.IntN(1<<20)))
		}
		_, err := store.Append(b.Context(), uint64(handed), c)
		require.NoError(b, err)
		c.Reset()
	}
	_, resident := ring.Receivers[0].Uses()
	b.ReportMetric((ring.CPUSeconds()-before)/3/float64(handed*series)*1e6, "receiver-µs/slice")
	b.ReportMetric(resident/series, "receiver-B/series")
	require.NoError(b, store.Close(b.Context()))
}
