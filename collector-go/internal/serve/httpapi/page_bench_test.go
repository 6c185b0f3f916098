package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"sort"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/webui"
)

const (
	benchWorkers = 500
	benchFirst   = int64(1_700_006_400_000)
	benchDay     = 86_400_000
)

// pageFigures are the page's questions about a day (internal/serve/webui/static/js/expressions.js), thinned as gridOf
// does.
const pageStep = 900 // s: three slices of 5 minutes, which the page uses for a day with so many workers

var pageFigures = []struct{ figure, expression string }{
	{"latency-mean", `max(max_over_time(bullet_filter_latency_mean_seconds{topology="bullet"}[900s]))`},
	{"latency-p99-kept", `max_over_time(topology:bullet_filter_latency_seconds:p99_rate3m{topology="bullet"}[900s])`},
	{"busy", `max by (component) (avg_over_time(storm_capacity_ratio{topology="bullet",component!~"__.*"}[900s]))`},
	{"queue", `max by (component) (avg_over_time(storm_receive_queue_sojourn_seconds{topology="bullet",component!~"__.*"}[900s]))`},
	{"records-read", `sum(rate(bullet_source_records_total{topology="bullet"}[910s]))`},
	{"records-filtered",
		`sum(rate(storm_executed_total{topology="bullet",component="FilterBolt",source!~"QuerySpout|TickSpout|ReplayBolt|__.*"}[910s]))`},
	{"lag", `sum(avg_over_time(bullet_source_lag_records{topology="bullet"}[900s]))`},
	{"held", `max by (component, reason) (rate(storm_skipped_seconds_total{topology="bullet",component!~"__.*",reason!="inactive"}[910s]))`},
	{"gc", `sum by (worker) (rate(bullet_worker_gc_seconds_total{topology="bullet"}[910s]))`},
	{"workers", `count(count by (worker) (count_over_time(bullet_worker_heap_used_bytes{topology="bullet"}[900s])))`},
	{"queries", `sum(avg_over_time(bullet_active_queries{topology="bullet",component="JoinBolt"}[900s]))`},
	{"cpu", `sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology="bullet"}[910s]))`},
	{"cpu-user", `sum(rate(bullet_worker_cpu_seconds_total{topology="bullet",mode="user"}[910s]))`},
	{"cpu-system", `sum(rate(bullet_worker_cpu_seconds_total{topology="bullet",mode="system"}[910s]))`},
	{"cpu-steal-kept", `max_over_time(topology:bullet_host_cpu_stolen_cores:max_rate2m{topology="bullet"}[900s])`},
	{"heap", `sum by (worker) (avg_over_time(bullet_worker_heap_used_bytes{topology="bullet"}[900s]))`},
	{"streams", `sum by (component, stream) (rate(storm_emitted_total{topology="bullet",component!~"__.*",stream!~"__.*"}[910s]))`},
}

// BenchmarkPage runs the queries of the page's figures. The store has 500 workers and a day of 10 s slices, and the
// page asks for 96 points. It runs each figure alone, and all of them together as the page does. PAGE_STORE names a
// directory in which the store is created once and kept. PAGE_BROWSER=1 also shows the page in a browser.
func BenchmarkPage(b *testing.B) {
	benchPage(b, benchStore(b), cpuSeconds)
}

// benchPage runs the queries over a store with a day of data.
func benchPage(b *testing.B, store storage.Queryable, cpuSeconds func() float64) {
	files, err := webui.Handler()
	require.NoError(b, err)
	server := httptest.NewServer(handlerOver(b, store, func(o *Options) { o.Page = files }))
	defer server.Close()
	if os.Getenv("PAGE_BROWSER") != "" {
		paint(b, server.URL)
	}
	day := func(expression string) url.Values {
		return url.Values{"query": {expression}, "start": {fmt.Sprint(benchFirst/1000 + pageStep)},
			"end": {fmt.Sprint(benchFirst/1000 + benchDay/1000)}, "step": {fmt.Sprint(pageStep)}}
	}
	// over longer times the page uses the recorded series
	hour := day(`histogram_quantile(0.99, sum(rate(bullet_filter_latency_seconds{topology="bullet"}[70s])))`)
	hour.Set("start", fmt.Sprint((benchFirst+benchDay)/1000-3600))
	hour.Set("step", "60")
	var all []url.Values
	for _, f := range pageFigures {
		all = append(all, day(f.expression))
	}
	b.Run("all together", func(b *testing.B) { askPage(b, server.URL, cpuSeconds, all) })
	for i, f := range pageFigures {
		b.Run(f.figure, func(b *testing.B) { askPage(b, server.URL, cpuSeconds, all[i:i+1]) })
	}
	b.Run("latency-p99-hour", func(b *testing.B) { askPage(b, server.URL, cpuSeconds, []url.Values{hour}) })
}

// askPage sends queries concurrently, and reports how long the answers took in wall time and CPU time.
func askPage(b *testing.B, address string, cpuSeconds func() float64, forms []url.Values) {
	var took []float64
	cpu := cpuSeconds()
	for b.Loop() {
		began := time.Now()
		answers := make(chan error, len(forms))
		for _, form := range forms {
			go func() { answers <- askOnce(address, form) }()
		}
		for range forms {
			require.NoError(b, <-answers)
		}
		took = append(took, time.Since(began).Seconds()*1000)
	}
	sort.Float64s(took)
	b.ReportMetric(took[len(took)/2], "median-ms")
	b.ReportMetric((cpuSeconds()-cpu)*1000/float64(len(took)), "cpu-ms/op")
}

func askOnce(address string, form url.Values) error {
	response, err := http.Get(address + "/api/v1/query_range?" + form.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch n, err := io.Copy(io.Discard, response.Body); {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK || n < 1000:
		return fmt.Errorf("%s: %s with %d bytes: nothing was found", form.Get("query"), response.Status, n)
	}
	return nil
}

// paint lets a browser show the day, and prints the time it took.
func paint(b *testing.B, address string) {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	browser := exec.Command("node", "browser/paint.bench.mjs", address+"/#"+url.Values{"topology": {"bullet"},
		"from": {at(benchFirst)}, "to": {at(benchFirst + benchDay)}}.Encode())
	browser.Dir = "../webui"
	out, err := browser.CombinedOutput()
	require.NoError(b, err, "%s", out)
	fmt.Printf("%s", out)
}

// cpuSeconds returns the CPU time of this process. On a shared machine it is a better measure than wall time.
func cpuSeconds() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func benchStore(b *testing.B) *grid.Store {
	dir, keep := os.Getenv("PAGE_STORE"), grid.DefaultOptions()
	keep.RetentionTime = 0
	made := false
	if dir == "" {
		dir = b.TempDir()
	} else if _, err := os.Stat(dir); err == nil {
		made = true
	}
	store, err := grid.Open(dir, keep)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close(b.Context())) })
	if !made {
		fillDay(b, store, 10_000)
	}
	return store
}

// dayStore is a store that can be filled with a day of data.
type dayStore interface {
	Append(ctx context.Context, upTo uint64, c *slice.Columns) (map[string]int, error)
	Flush(ctx context.Context) error
}

// fillDay writes a day of every series that the figures use, with one slice every so many ms. Distributions cover only
// the last two hours, because the page does not use them over longer times.
func fillDay(b *testing.B, store dayStore, every int64) {
	c := &slice.Columns{}
	type line struct {
		ref   slice.Ref
		value func(t float64) float64
	}
	var lines []line
	var distributions []slice.Ref
	define := func(kind metric.Kind, value func(t float64) float64, names ...string) {
		ref := slice.Ref(len(c.Definitions))
		c.Definitions = append(c.Definitions, slice.Definition{Ref: ref, IntervalMs: every,
			Series: metric.Series{Kind: kind, Labels: labels.FromStrings(append(names, "topology", "bullet")...)}})
		if value == nil {
			distributions = append(distributions, ref)
			return
		}
		lines = append(lines, line{ref, value})
	}
	for w := range benchWorkers {
		worker, k := fmt.Sprintf("host-%d:6700", w), float64(w%37+1)
		define(metric.KindCounter, func(t float64) float64 { return 0.02*k*t + float64(int64(t)%70)*0.01 },
			model.MetricNameLabel, "bullet_worker_cpu_seconds_total", "worker", worker, "mode", "user")
		define(metric.KindCounter, func(t float64) float64 { return 0.004 * k * t }, model.MetricNameLabel,
			"bullet_worker_cpu_seconds_total", "worker", worker, "mode", "system")
		define(metric.KindGauge, func(t float64) float64 { return float64(int64(t*k*1e5)%1e9 + 2e8) },
			model.MetricNameLabel, "bullet_worker_heap_used_bytes", "worker", worker)
		for _, collector := range []string{"G1 Young Generation", "G1 Old Generation"} {
			define(metric.KindCounter, func(t float64) float64 { return float64(int64(t*k/40)) * 0.012 },
				model.MetricNameLabel, "bullet_worker_gc_seconds_total", "worker", worker, "collector", collector)
		}
		define(metric.KindGauge, func(t float64) float64 { return 0.001*k + float64(int64(t)%90)*0.001 },
			model.MetricNameLabel, "bullet_filter_latency_mean_seconds", "worker", worker, "component", "FilterBolt",
			"task", fmt.Sprint(w))
		task := []string{"worker", worker, "component", "FilterBolt", "task", fmt.Sprint(w)}
		of := func(name string, more ...string) []string {
			return append(append([]string{model.MetricNameLabel, name}, task...), more...)
		}
		define(metric.KindGauge, func(t float64) float64 { return 0.02*k + float64(int64(t)%50)*0.002 },
			of("storm_capacity_ratio")...)
		define(metric.KindGauge, func(t float64) float64 { return 0.001 * k },
			of("storm_receive_queue_sojourn_seconds")...)
		define(metric.KindCounter, func(t float64) float64 { return float64(int64(t * 40 * k)) },
			of("storm_executed_total", "source", "DataSource", "stream", "default")...)
		define(metric.KindCounter, func(t float64) float64 { return float64(int64(t)) },
			of("storm_executed_total", "source", "TickSpout", "stream", "default")...)
		define(metric.KindCounter, func(t float64) float64 { return float64(int64(t * 2)) },
			of("storm_emitted_total", "stream", "default")...)
		define(metric.KindDistribution, nil, model.MetricNameLabel, "bullet_filter_latency_seconds", "worker", worker,
			"component", "FilterBolt", "task", fmt.Sprint(w))
	}
	for task := range 10 {
		define(metric.KindGauge, func(t float64) float64 { return float64(int64(t) / 3600) }, model.MetricNameLabel,
			"bullet_active_queries", "worker", fmt.Sprintf("host-%d:6700", task), "component", "JoinBolt", "task",
			fmt.Sprint(1000+task))
	}
	for task := range 100 {
		of := func(name string, more ...string) []string {
			return append([]string{model.MetricNameLabel, name, "worker", fmt.Sprintf("host-%d:6700", task),
				"component", "DataSource", "task", fmt.Sprint(2000 + task)}, more...)
		}
		define(metric.KindCounter, func(t float64) float64 { return float64(int64(t * 200)) },
			of("bullet_source_records_total")...)
		define(metric.KindCounter, func(t float64) float64 { return float64(int64(t * 200)) },
			of("storm_emitted_total", "stream", "default")...)
		define(metric.KindGauge, func(t float64) float64 { return float64(int64(t) % 900) },
			of("bullet_source_lag_records")...)
		define(metric.KindCounter, func(t float64) float64 { return 0.03 * t },
			of("storm_skipped_seconds_total", "reason", "max_spout_pending")...)
		define(metric.KindCounter, func(t float64) float64 { return 0 },
			of("storm_skipped_seconds_total", "reason", "backpressure")...)
	}
	define(metric.KindGauge, func(t float64) float64 { return 0.05 + float64(int64(t)%600)*0.0002 },
		model.MetricNameLabel, "topology:bullet_filter_latency_seconds:p99_rate3m")
	define(metric.KindGauge, func(t float64) float64 { return 0.3 + float64(int64(t)%90)*0.001 }, model.MetricNameLabel,
		"topology:bullet_host_cpu_stolen_cores:max_rate2m")
	define(metric.KindGauge, func(float64) float64 { return 1 }, model.MetricNameLabel, "bullet_topology_info")
	for ms := every; ms <= benchDay; ms += every {
		for _, l := range lines {
			c.Refs, c.EndsMs, c.Values = append(c.Refs, l.ref), append(c.EndsMs, benchFirst+ms),
				append(c.Values, l.value(float64(ms)/1000))
		}
		if ms > benchDay-7_200_000 {
			for _, ref := range distributions {
				n := ms / 10_000
				c.HistogramRefs, c.HistogramEndsMs = append(c.HistogramRefs, ref),
					append(c.HistogramEndsMs, benchFirst+ms)
				c.Histograms = append(c.Histograms, &histogram.Histogram{Schema: 3, ZeroThreshold: 0.0005,
					ZeroCount: uint64(n), Count: uint64(103 * n), Sum: 7.5 * float64(n),
					PositiveSpans:   []histogram.Span{{Offset: -56, Length: 8}},
					PositiveBuckets: []int64{5 * n, 15 * n, 20 * n, -20 * n, -10 * n, -5 * n, -4 * n, 0}})
			}
		}
		rejected, err := store.Append(b.Context(), uint64(ms), c)
		require.NoError(b, err)
		require.Empty(b, rejected)
		c.Reset()
		// one write per second, as in a collector, so that parts are merged in the same way
		if ms%600_000 == 0 {
			require.NoError(b, store.Flush(b.Context()))
		}
	}
	require.NoError(b, store.Flush(b.Context()))
}
