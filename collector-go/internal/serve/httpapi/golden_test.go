package httpapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// The golden answers are those of a real Prometheus. Only TestRealPrometheus (build tag prometheus) writes them.
var update = flag.Bool("update", false, "let TestRealPrometheus write the golden answers")

// maxSamples limits a query in these tests. It is low enough that a test can exceed it.
const maxSamples = 5000

// fixture is two hours of data of three workers, in the form in which the slicer writes them.
type fixture struct {
	columns slice.Columns
	refs    map[string]slice.Ref
}

const firstMs = int64(1_700_000_000_000)

func newFixture() *fixture {
	f := &fixture{refs: map[string]slice.Ref{}}
	for ms := firstMs; ms <= firstMs+7_200_000; ms += 10_000 {
		i := (ms - firstMs) / 10_000
		for w := range int64(3) {
			f.worker(ms, i, w)
		}
	}
	f.strange()
	return f
}

func (f *fixture) worker(ms, i, w int64) {
	worker := fmt.Sprintf("host-%d:6700", w)
	heap := float64(100<<20) + math.Sin(float64(i+7*w)/20)*float64(50<<20)
	switch {
	case w == 2 && i == 120:
		heap = math.Float64frombits(value.StaleNaN)
	case w == 2 && i > 120 && i < 200:
		return // a gap
	}
	f.number(ms, heap, model.MetricNameLabel, "bullet_worker_heap_used_bytes", "topology", "bullet", "worker", worker)
	f.number(ms, 1, model.MetricNameLabel, "bullet_worker_info", "topology", "bullet", "worker", worker, "pid",
		fmt.Sprint(4711+w))
	f.number(ms, float64((i+w)%300)*1.7, model.MetricNameLabel, "bullet_worker_cpu_seconds_total", "mode", "user",
		"topology", "bullet", "worker", worker)
	f.number(ms, float64(i)*0.3, model.MetricNameLabel, "bullet_worker_cpu_seconds_total", "mode", "system", "topology",
		"bullet", "worker", worker)
	if w < 2 {
		f.distribution(ms, latencies(i+w), model.MetricNameLabel, "bullet_filter_latency_seconds", "topology", "bullet",
			"worker", worker)
	}
}

// latencies returns the i-th state of a cumulative histogram.
func latencies(i int64) *histogram.Histogram {
	n := uint64(i + 1)
	return &histogram.Histogram{
		Schema: 2, ZeroThreshold: 0.0005, ZeroCount: n, Count: n + 10*n, Sum: float64(n) * 0.37,
		PositiveSpans:   []histogram.Span{{Offset: -30, Length: 2}, {Offset: 3, Length: 2}},
		PositiveBuckets: []int64{int64(n), int64(n), int64(n), int64(n)},
	}
}

// strange adds values and labels that need escaping in JSON and HTML.
func (f *fixture) strange() {
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-9, 1e21,
		123456789.123456789, math.SmallestNonzeroFloat64, math.MaxFloat64} {
		ms := firstMs + int64(i)*20_000
		f.number(ms, v, model.MetricNameLabel, "storm_strange", "topology", "<b>&\"\\\n\u2028ü\U0001F600")
		f.number(ms, v, model.MetricNameLabel, "storm.dotted name", "tëst label", "ä/b", "topology", "t")
	}
}

func (f *fixture) ref(names ...string) slice.Ref {
	key := strings.Join(names, "\xff")
	ref, known := f.refs[key]
	if !known {
		ref = slice.Ref(len(f.refs))
		f.refs[key] = ref
		f.columns.Definitions = append(f.columns.Definitions,
			slice.Definition{Ref: ref, Series: metric.Series{Labels: labels.FromStrings(names...)}})
	}
	return ref
}

func (f *fixture) number(ms int64, v float64, names ...string) {
	c := &f.columns
	c.Refs, c.EndsMs, c.Values = append(c.Refs, f.ref(names...)), append(c.EndsMs, ms), append(c.Values, v)
}

func (f *fixture) distribution(ms int64, h *histogram.Histogram, names ...string) {
	c := &f.columns
	c.HistogramRefs, c.HistogramEndsMs, c.Histograms = append(c.HistogramRefs, f.ref(names...)),
		append(c.HistogramEndsMs, ms), append(c.Histograms, h)
}

// openFixture returns a store with the fixture in blocks. The series are sorted, as in a Prometheus that reads the
// same data.
func openFixture(t testing.TB) *grid.Store {
	s := openInMemory(t)
	require.NoError(t, s.Flush(t.Context()))
	return s
}

// openInMemory returns a store with the fixture in memory, as far as the store keeps it there.
func openInMemory(t testing.TB) *grid.Store {
	options := grid.DefaultOptions()
	options.RetentionTime = 0 // because the fixture is from 2023
	s, err := grid.Open(t.TempDir(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(t.Context())) })
	rejected, err := s.Append(t.Context(), 1, &newFixture().columns)
	require.NoError(t, err)
	require.Empty(t, rejected)
	return s
}

func newHandler(t testing.TB, s *grid.Store, change ...func(*Options)) http.Handler {
	limits := query.DefaultOptions()
	limits.MaxSamples = maxSamples
	engine, err := query.New(s, limits)
	require.NoError(t, err)
	options := DefaultOptions()
	options.Engine, options.Gatherer = engine, prometheus.NewRegistry()
	for _, f := range change {
		f(&options)
	}
	handler, err := New(options)
	require.NoError(t, err)
	return handler
}

// ask is one line of testdata/requests.txt.
type ask struct {
	name, method, path string
	form               url.Values
}

func asks(t testing.TB) (all []ask) {
	text, err := os.ReadFile("testdata/requests.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		require.GreaterOrEqual(t, len(words), 3, line)
		a := ask{name: words[0], method: words[1], path: words[2], form: url.Values{}}
		_, rest, _ := strings.Cut(line, words[2])
		for pair := range strings.SplitSeq(strings.TrimSpace(rest), " & ") {
			if key, v, found := strings.Cut(pair, "="); found {
				a.form.Add(key, v)
			}
		}
		all = append(all, a)
	}
	return all
}

// request returns the HTTP request to a server at base.
func (a ask) request(t testing.TB, base string) *http.Request {
	target, body := base+a.path, io.Reader(nil)
	switch {
	case a.method == http.MethodPost:
		body = strings.NewReader(a.form.Encode())
	case len(a.form) > 0:
		target += "?" + a.form.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), a.method, target, body)
	require.NoError(t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

// show formats an answer for a golden file: status, relevant headers, body.
func show(t testing.TB, r *http.Response) string {
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", r.StatusCode)
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if r.StatusCode == http.StatusNoContent {
			break // the encoding of an empty body is irrelevant
		}
		if all := r.Header.Values(name); len(all) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(all, ", "))
		}
	}
	fmt.Fprintf(&out, "\n%s\n", normal(body))
	return out.String()
}

// normal formats JSON with one result per line and without parts that differ between calls. Other bodies are returned
// unchanged.
func normal(body []byte) string {
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil {
		return strings.TrimSpace(string(body))
	}
	text := string(body)
	if i := strings.Index(text, `"timings":{`); i >= 0 { // durations
		text = text[:i] + `"timings":{}` + text[i+strings.IndexByte(text[i:], '}')+1:]
	}
	for _, kind := range []string{"warnings", "infos"} { // in any order
		if raw, ok := answer[kind]; ok {
			var all []string
			_ = json.Unmarshal(raw, &all)
			slices.Sort(all)
			sorted, _ := encoding.Marshal(all)
			text = strings.Replace(text, string(raw), string(sorted), 1)
		}
	}
	return strings.ReplaceAll(text, `},{"metric"`, "},\n{\"metric\"")
}

func golden(name string) string { return filepath.Join("testdata", "golden", name+".txt") }

func TestAnswersAreThoseOfPrometheus(t *testing.T) {
	handler := newHandler(t, openFixture(t))
	for _, a := range asks(t) {
		t.Run(a.name, func(t *testing.T) {
			want, err := os.ReadFile(golden(a.name))
			require.NoError(t, err)
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, a.request(t, "http://localhost"))
			assert.Equal(t, string(want), show(t, recorder.Result()))
		})
	}
}

// Data in memory are found like data in blocks, except for the order of series that nothing sorts.
func TestAnswersFromMemory(t *testing.T) {
	handler, compared := newHandler(t, openInMemory(t)), 0
	for _, a := range asks(t) {
		want, err := os.ReadFile(golden(a.name))
		require.NoError(t, err)
		series := found(string(want))
		if len(series) == 0 || a.form.Has("limit") {
			continue // no series, or any selection of them
		}
		compared++
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, a.request(t, "http://localhost"))
		assert.ElementsMatch(t, series, found(show(t, recorder.Result())), a.name)
	}
	assert.Greater(t, compared, 30)
}

// found returns the series in a query's answer.
func found(answer string) (series []string) {
	_, body, _ := strings.Cut(answer, "\n\n")
	var parsed struct {
		Data struct{ Result []json.RawMessage }
	}
	if json.Unmarshal([]byte(body), &parsed) != nil {
		return nil
	}
	for _, one := range parsed.Data.Result {
		series = append(series, string(one))
	}
	return series
}

// Every golden file belongs to a request, so that no file is left over.
func TestNoGoldenFileIsLeftOver(t *testing.T) {
	files, err := os.ReadDir("testdata/golden")
	require.NoError(t, err)
	var names []string
	for _, a := range asks(t) {
		names = append(names, a.name+".txt")
	}
	for _, f := range files {
		assert.Contains(t, names, f.Name())
	}
	assert.Len(t, files, len(names), "names must differ")
}
