//go:build dashboards

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// What the dashboards' expressions are run against: recorded runs, replayed through the whole collector; beside them
// what no capture has, made up; and the collector's own figures, scraped from a running one. All of it goes into our
// store and, by our remote write, into a real Prometheus.

// Bullet with a worker that is killed, and a word count on Storm 1.2, whose queues are others.
var recorded = []string{"capture-killed-2.8.3", "capture-storm-1.2.4"}

// The time of the first capture, in seconds.
const (
	fillStart = 1795276160
	fillEnd   = 1795276280
)

// both hands slices to two stores.
type both struct {
	feed.Store
	other feed.Store
}

func (b both) Append(ctx context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	rejected, err := b.other.Append(ctx, upTo, c)
	if err == nil && len(rejected) > 0 {
		err = fmt.Errorf("the other store refused %v", rejected)
	}
	if err != nil {
		return nil, err
	}
	return b.Store.Append(ctx, upTo, c)
}

// forwarded is our remote write to a URL.
func forwarded(t *testing.T, address string) *forward.Store {
	protocol, err := remote.New(remote.Options{Receiver: forward.Receiver{URL: address}})
	require.NoError(t, err)
	options := forward.DefaultOptions("other")
	options.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := forward.Open(t.TempDir(), protocol, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// fill replays, makes up and scrapes into a directory and whatever takes remote write at a URL, and returns the
// directory's store, open.
func fill(t *testing.T, write string) *grid.Store {
	dir := t.TempDir()
	var files []string
	for _, name := range recorded {
		files = append(files, captureFile(name))
	}
	replayed := replayBoth(t, dir, files, forwarded(t, write))
	store := openForever(t, filepath.Join(dir, datadir.Grid))
	made := madeUp()
	for name := range made.names {
		if slices.Contains(recordedToo, name) {
			continue
		}
		require.NotContains(t, replayed, name, "a capture has it now: make it up no longer")
	}
	made.scraped(t)
	_, err := both{store, forwarded(t, write)}.Append(t.Context(), store.Durable()+1, &made.columns)
	require.NoError(t, err)
	return store
}

func replayBoth(t *testing.T, dir string, captures []string, other *forward.Store) map[string]int {
	files, closeFiles, err := replay.Open(captures)
	require.NoError(t, err)
	defer closeFiles()
	c := config.Default()
	c.DataDir, c.Embedded.RetentionTime, c.Embedded.RetentionBytes = dir, 0, 0
	p, err := openReplay(c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	p.col.replay.Store = both{p.col.store, other}
	summary, _, err := p.play(t.Context(), files, "")
	require.NoError(t, err)
	return summary.Metrics
}

// onceRecorded is in the capture of Storm 1.2 a single time, from which no rate comes.
const onceRecorded = "storm_skipped_calls_total"

// recordedToo are names that are made up although a capture has them: no topology of the captures has what is needed.
var recordedToo = []string{onceRecorded, "bullet_worker_restarts_total", "bullet_worker_heap_used_bytes"}

// inventory is series that no capture has.
type inventory struct {
	columns slice.Columns
	names   map[string]bool
}

// series adds one that has a value at each slice's end.
func (v *inventory) series(value func(i int) float64, names ...string) {
	v.names[names[1]] = true
	ref := v.define(metric.KindGauge, names)
	for i, c := 0, &v.columns; fillStart+10*i <= fillEnd; i++ {
		c.Refs, c.EndsMs, c.Values = append(c.Refs, ref), append(c.EndsMs, int64(fillStart+10*i)*1000),
			append(c.Values, value(i))
	}
}

// distribution adds a cumulative one of latencies from 4 ms to a second, 103 observations each slice.
func (v *inventory) distribution(names ...string) {
	v.names[names[1]] = true
	ref := v.define(metric.KindDistribution, names)
	for i, c := 0, &v.columns; fillStart+10*i <= fillEnd; i++ {
		n := int64(i + 1)
		c.HistogramRefs, c.HistogramEndsMs = append(c.HistogramRefs, ref),
			append(c.HistogramEndsMs, int64(fillStart+10*i)*1000)
		c.Histograms = append(c.Histograms, &histogram.Histogram{Schema: 0, ZeroThreshold: 0.0005, ZeroCount: uint64(n),
			Count: uint64(103 * n), Sum: 7.5 * float64(n),
			PositiveSpans: []histogram.Span{{Offset: -7, Length: 8}}, PositiveBuckets: []int64{5 * n, 15 * n, 20 * n,
				-20 * n, -10 * n, -5 * n, -4 * n, 0}})
	}
}

func (v *inventory) define(kind metric.Kind, names []string) slice.Ref {
	ref := slice.Ref(len(v.columns.Definitions))
	v.columns.Definitions = append(v.columns.Definitions, slice.Definition{Ref: ref, IntervalMs: 10_000,
		Series: metric.Series{Kind: kind, Labels: labels.FromStrings(names...)}})
	return ref
}

func rising(by float64) func(int) float64 { return func(i int) float64 { return by * float64(i) } }
func always(v float64) func(int) float64  { return func(int) float64 { return v } }

// madeUp is what no capture has: what the worker's sampler, the latency hook, the load program and a source over Kafka
// send, and samples that are late. The first two are packed bytes, which a capture holds as Java wrote them.
func madeUp() *inventory {
	v := &inventory{names: map[string]bool{}}
	for i, worker := range []string{"127.0.0.1:10068", "127.0.0.1:10287"} {
		of := func(name string, more ...string) []string {
			return append([]string{model.MetricNameLabel, name, "topology", "bullet", "worker", worker}, more...)
		}
		task := fmt.Sprint(i + 3)
		v.series(rising(4.2+float64(i)), of("bullet_worker_cpu_seconds_total", "mode", "user")...)
		v.series(rising(0.7), of("bullet_worker_cpu_seconds_total", "mode", "system")...)
		// of one host, which has both workers
		for mode, by := range map[string]float64{"user": 9, "system": 3, "iowait": 0.4, "steal": 2.8, "idle": 24.8} {
			v.series(rising(by), of("bullet_host_cpu_seconds_total", "host", "127.0.0.1", "mode", mode)...)
		}
		v.series(always(4), of("bullet_host_cpu_cores", "host", "127.0.0.1")...)
		v.series(always(1), of("bullet_worker_info", "host", "127.0.0.1", "pid", fmt.Sprint(4711+i))...)
		v.distribution(of("bullet_filter_latency_seconds", "component", "FilterBolt", "task", task)...)
		v.series(rising(2), of("bullet_filter_latency_negative_total", "component", "FilterBolt", "task", task)...)
		for _, name := range []string{"bullet_query_engine_latency", "bullet_query_created_latency"} {
			v.distribution(of(name+"_seconds", "component", "JoinBolt", "task", task, "outcome", "complete")...)
		}
		v.series(rising(1), of("bullet_query_engine_latency_negative_total", "component", "JoinBolt", "task", task,
			"outcome", "complete")...)
		v.distribution(of("bullet_query_first_result_latency_seconds", "component", "JoinBolt", "task", task)...)
		v.series(rising(1), of("bullet_latency_hook_left_out_total", "component", "JoinBolt", "task", task, "reason",
			"unseen")...)
		v.series(rising(0.5), of("bullet_execute_seconds_total", "component", "FilterBolt", "task", task)...)
		v.series(rising(18_000), of("bullet_source_bytes_total", "component", "DataSource", "task", task)...)
		v.series(rising(40), of("bullet_source_partition_lag_records", "component", "kafka", "task", task, "topic",
			"clicks", "partition", fmt.Sprint(i))...)
		v.series(rising(3), of("bullet_source_repeated_records_total", "component", "DataSource", "task", task)...)
		v.series(rising(1), of("bullet_metrics_collection_worker_late_samples_total")...)
		v.series(rising(1), of("bullet_metrics_collection_worker_refused_samples_total", "reason", "nonsense")...)
		v.series(rising(0.4), of("bullet_worker_gc_concurrent_seconds_total", "collector", "ZGC Cycles")...)
		// of a topology whose workers all restarted
		restarted := []string{"topology", "restarted", "worker", worker}
		v.series(func(i int) float64 { return float64(min(i/6, 1)) },
			append([]string{model.MetricNameLabel, "bullet_worker_restarts_total"}, restarted...)...)
		v.series(always(1<<20), append([]string{model.MetricNameLabel, "bullet_worker_heap_used_bytes"}, restarted...)...)
	}
	v.series(rising(1), model.MetricNameLabel, onceRecorded, "topology", "bullet", "worker", "127.0.0.1:10068",
		"component", "DataSource", "task", "1", "reason", "max_spout_pending")
	v.series(rising(7), model.MetricNameLabel, "bullet_metrics_ingest_topology_rejected_samples_total", "topology",
		"bullet", "reason", "future", "job", "bullet-metrics", "instance", "collector:9320")
	for _, component := range []string{"FilterBolt", "DataSource"} { // of a worker that has left
		v.series(always(0), model.MetricNameLabel, "bullet_metrics_worker_tasks", "topology", "bullet", "worker",
			"127.0.0.1:10001", "component", component, "job", "bullet-metrics", "instance", "collector:9320")
	}
	v.series(always(-0.75), model.MetricNameLabel, "bullet_metrics_worker_clock_ahead_seconds", "topology", "bullet",
		"worker", "127.0.0.1:10001", "job", "bullet-metrics", "instance", "collector:9320")
	v.series(always(20), model.MetricNameLabel, "bullet_metrics_worker_clock_set_back_seconds", "topology", "bullet",
		"worker", "127.0.0.1:10001", "store", "embedded", "job", "bullet-metrics", "instance", "collector:9320")
	for i, class := range []string{"RAW", "GROUP"} {
		v.distribution(model.MetricNameLabel, "bullet_query_latency_seconds", "topology", "bullet", "worker",
			"canary:0", "class", class)
		v.series(rising(1), model.MetricNameLabel, "bullet_query_outcomes_total", "topology", "bullet", "worker",
			"canary:0", "class", class, "outcome", "timed_out")
		v.series(always(1-0.05*float64(i)), model.MetricNameLabel, "bullet_query_result_completeness_ratio", "topology",
			"bullet", "worker", "canary:0", "class", class)
	}
	v.series(always(1_800_000_000), model.MetricNameLabel, "bullet_metrics_client_stopped_timestamp_seconds",
		"topology", "bullet", "worker", "canary:0", "job", "bullet-metrics", "instance", "collector:9320")
	return v
}

// scraped adds the figures of a collector that took samples, closed slices and answered, as a Prometheus that scrapes
// it has them; its totals rise by what they are with each slice.
func (v *inventory) scraped(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	r.send(minute(1, time.Now().Add(-30*time.Second)))
	require.Eventually(t, func() bool { return r.ask("bullet_worker_cpu_seconds_total") != "[]" }, 30*time.Second,
		100*time.Millisecond)
	response, err := http.Get("http://" + r.col.httpListener.Addr().String() + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	families := expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header))
	for {
		var family dto.MetricFamily
		err := families.Decode(&family)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.Now()}, &family)
		require.NoError(t, err)
		for _, s := range samples {
			names := []string{model.MetricNameLabel, string(s.Metric[model.MetricNameLabel]), "job", "bullet-metrics",
				"instance", "collector:9320"}
			for name, value := range s.Metric {
				if name != model.MetricNameLabel {
					names = append(names, string(name), string(value))
				}
			}
			value := always(float64(s.Value))
			if family.GetType() != dto.MetricType_GAUGE {
				value = func(i int) float64 { return float64(s.Value) * float64(i+1) }
			}
			v.series(value, names...)
		}
	}
}
