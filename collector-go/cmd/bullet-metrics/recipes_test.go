//go:build stores

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

const p99 = "topology:bullet_filter_latency_seconds:p99_rate3m"

// withFourMinutes starts a collector that has four minutes of a counter, a gauge and a distribution, and results of its
// rules.
func withFourMinutes(t *testing.T) *running {
	r := startCollector(t, settings(t.TempDir()))
	b := &pb.Batch{Epoch: bytes.Repeat([]byte{7}, 16), Sequence: 1, OldestHeldSequence: 1,
		SendTimeMs: time.Now().UnixMilli(), Samples: &pb.SampleColumns{},
		Topology: &pb.TopologyInfo{Name: "t", Id: "t-1", StormVersion: "2.8.3"},
		Series: []*pb.SeriesDefinition{
			{Id: 1, Name: "cpu.user_ms", Task: -1, Component: "__system", Shape: pb.Shape_SHAPE_SAMPLER,
				Temporality: pb.Temporality_TEMPORALITY_CUMULATIVE},
			{Id: 2, Name: "heap.used_bytes", Task: -1, Component: "__system", Shape: pb.Shape_SHAPE_SAMPLER,
				Temporality: pb.Temporality_TEMPORALITY_GAUGE},
			{Id: 3, Name: "bullet_filter_latency_seconds", Task: 4, Component: "FilterBolt",
				Shape: pb.Shape_SHAPE_HISTOGRAM, Temporality: pb.Temporality_TEMPORALITY_CUMULATIVE},
		}}
	for _, s := range b.Series {
		s.Host, s.Port, s.IntervalMs = "h", 6700, 10_000
	}
	start := time.Now().Add(-4 * time.Minute).Truncate(10 * time.Second).UnixMilli()
	for i := range int64(24) {
		at := start + i*10_000 + 9_900
		b.Samples.SeriesIds = append(b.Samples.SeriesIds, 1, 2)
		b.Samples.TimeOffsetsMs = append(b.Samples.TimeOffsetsMs, at, at)
		b.Samples.Values = append(b.Samples.Values, float64(2500*i), 64<<20)
		b.Histograms = append(b.Histograms, &pb.HistogramSample{SeriesId: 3, TimeMs: at, ZeroThreshold: 0.0005,
			Schema: 0, Count: uint64(100 * i), Sum: 20 * float64(i), PositiveCounts: []uint64{uint64(100 * i)},
			PositiveSpans: []*pb.BucketSpan{{Offset: -2, Length: 1}}})
	}
	r.send(b)
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + r.col.httpListener.Addr().String() + "/federate?" +
			url.Values{"match[]": {`{topology="t"}`}}.Encode())
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return bytes.Contains(text, []byte(p99+"{")) && bytes.Contains(text, []byte("bullet_worker_heap_used_bytes{"))
	}, time.Minute, 100*time.Millisecond, "the rules have no result")
	return r
}

// recipe is a file of packaging with the address of a collector. Its other words are left as they are.
func recipe(t *testing.T, name string, r *running) string {
	text, err := os.ReadFile(packaging + name)
	require.NoError(t, err)
	require.Contains(t, string(text), "127.0.0.1:9320")
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "127.0.0.1:9320",
		r.col.httpListener.Addr().String())), 0o644))
	return file
}

// otlpMetric is a metric as OTLP's JSON has it.
type otlpMetric struct {
	Name  string
	Gauge struct{ DataPoints []otlpPoint }
	Sum   struct {
		DataPoints             []otlpPoint
		AggregationTemporality int
		IsMonotonic            bool
	}
	ExponentialHistogram struct{ DataPoints []otlpPoint }
}

type otlpPoint struct {
	Attributes []struct {
		Key   string
		Value struct{ StringValue string }
	}
	TimeUnixNano int64 `json:",string"`
	Count        int64 `json:",string"`
	AsDouble     float64
}

// A real OpenTelemetry Collector with the recipe's file sends the slices on, with their types and times.
func TestRecipeForOpenTelemetry(t *testing.T) {
	r := withFourMinutes(t)
	batches := make(chan map[string]otlpMetric, 100)
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		var export struct {
			ResourceMetrics []struct {
				ScopeMetrics []struct{ Metrics []otlpMetric }
			}
		}
		if !assert.NoError(t, json.NewDecoder(request.Body).Decode(&export)) {
			return
		}
		assert.Equal(t, "/v1/metrics", request.URL.Path)
		all := map[string]otlpMetric{}
		for _, resource := range export.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					all[m.Name] = m
				}
			}
		}
		batches <- all
	}))
	t.Cleanup(backend.Close)
	// What the test reads, and no port of its own.
	const overrides = "yaml:{exporters: {otlp_http: {endpoint: '%s', encoding: json, compression: none}}, " +
		"service: {telemetry: {metrics: {level: none}}}}"
	otelcol := exec.Command("../../../build/tools/otelcol", "--config", "file:"+recipe(t, "otel-collector.yaml", r),
		"--config", strings.Replace(overrides, "%s", backend.URL, 1))
	otelcol.Stdout, otelcol.Stderr = t.Output(), t.Output()
	otelcol.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, otelcol.Start())
	defer func() {
		require.NoError(t, otelcol.Process.Signal(syscall.SIGTERM))
		require.NoError(t, otelcol.Wait())
	}()

	var got map[string]otlpMetric
	for got["bullet_worker_heap_used_bytes"].Name == "" {
		select {
		case got = <-batches:
		case <-time.After(time.Minute):
			require.Fail(t, "no slice came")
		}
	}
	heap := got["bullet_worker_heap_used_bytes"].Gauge.DataPoints
	require.Len(t, heap, 1)
	attributes := map[string]string{}
	for _, a := range heap[0].Attributes {
		attributes[a.Key] = a.Value.StringValue
	}
	assert.Equal(t, map[string]string{"topology": "t", "worker": "h:6700"}, attributes)
	assert.EqualValues(t, 64<<20, heap[0].AsDouble)
	assert.Zero(t, heap[0].TimeUnixNano%int64(10*time.Second), "the end of a slice")

	cpu := got["bullet_worker_cpu_seconds_total"].Sum
	require.Len(t, cpu.DataPoints, 1)
	assert.True(t, cpu.IsMonotonic)
	assert.Equal(t, 2, cpu.AggregationTemporality, "cumulative")
	assert.Positive(t, cpu.DataPoints[0].AsDouble)

	latency := got["bullet_filter_latency_seconds"].ExponentialHistogram.DataPoints
	require.Len(t, latency, 1)
	assert.Positive(t, latency[0].Count)
	require.Len(t, got[p99].Gauge.DataPoints, 1)
}

// checkOnce runs the Agent's own check once, as its `openmetrics` integration does, and prints what it submits.
const checkOnce = `
import json, sys, yaml
from datadog_checks.base import OpenMetricsBaseCheckV2
from datadog_checks.base.stubs import aggregator
instance = yaml.safe_load(open(sys.argv[1]))["instances"][0]
failed = OpenMetricsBaseCheckV2("openmetrics", {}, [instance]).run()
assert not failed, failed
kinds = {v: k for k, v in aggregator.METRIC_ENUM_MAP.items()}
print(json.dumps([[kinds[m.type], m.name, m.value, m.tags] for n in aggregator.metric_names for m in aggregator.metrics(n)]))
`

// The check of a Datadog Agent, with the recipe's file, submits what the recipe says.
func TestRecipeForDatadog(t *testing.T) {
	r := withFourMinutes(t)
	check := exec.Command(recipesPython, "-c", checkOnce, recipe(t, "datadog-openmetrics.yaml", r))
	check.Stderr = t.Output()
	printed, err := check.Output()
	require.NoError(t, err)
	var submitted [][4]json.RawMessage
	require.NoError(t, json.Unmarshal(printed, &submitted), "%s", printed)
	values, tags := map[string]string{}, map[string][]string{}
	for _, m := range submitted {
		var kind, name string
		var of []string
		require.NoError(t, json.Unmarshal(m[0], &kind))
		require.NoError(t, json.Unmarshal(m[1], &name))
		require.NoError(t, json.Unmarshal(m[3], &of))
		values[kind+" "+name], tags[name] = string(m[2]), of
	}
	named := slices.Sorted(maps.Keys(values))
	assert.Equal(t, "67108864.0", values["gauge bullet_metrics.bullet_worker_heap_used_bytes"], named)
	assert.ElementsMatch(t, []string{"topology:t", "worker:h:6700"}, tags["bullet_metrics.bullet_worker_heap_used_bytes"])
	assert.Contains(t, values, "monotonic_count bullet_metrics.bullet_worker_cpu_seconds.count")
	assert.Contains(t, values, "gauge bullet_metrics.filter_latency_p99_seconds")
}

const recipesPython = "../../../build/recipes/venv/bin/python"

// The manifests are objects of Kubernetes by its own schemas, without an unknown field.
func TestRecipeForKubernetes(t *testing.T) {
	validate := func(file string) ([]byte, error) {
		return exec.Command(filepath.Join(filepath.Dir(recipesPython), "kubernetes-validate"), "--strict", file).
			CombinedOutput()
	}
	printed, err := validate(packaging + "kubernetes.yaml")
	require.NoError(t, err, "%s", printed)
	text, err := os.ReadFile(packaging + "kubernetes.yaml")
	require.NoError(t, err)
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, bytes.Replace(text, []byte("fsGroup:"), []byte("fsGruop:"), 1), 0o644))
	printed, err = validate(wrong)
	require.Error(t, err, "the schema judges")
	assert.Contains(t, string(printed), "fsGruop")
}

// Ansible reads the role. TestTheAnsibleRoleInstallsTheCollector runs it.
func TestRecipeForAnsible(t *testing.T) {
	check := exec.Command(recipesPython, "-m", "ansible", "playbook", "--syntax-check", "--inventory", "localhost,",
		packaging+"ansible/site.yml")
	check.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	printed, err := check.CombinedOutput()
	require.NoError(t, err, "%s", printed)
}
