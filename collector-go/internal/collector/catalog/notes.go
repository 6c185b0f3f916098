package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// TopologyInfo returns a constant series whose labels name the run and the software of a topology. Its value is 1.
func TopologyInfo(topology string, info *bulletmetricsv1.TopologyInfo) metric.Series {
	return infoSeries("bullet_topology_info",
		"topology", topology,
		"topology_id", info.GetId(),
		"storm_version", info.GetStormVersion(),
		"bullet_version", info.GetBulletVersion(),
		"java_version", info.GetJavaVersion(),
		"plugin_version", info.GetPluginVersion())
}

// FactsOf returns the facts about a topology that decide how its names are read: its Storm release, and which of its
// components are spouts. Everything else that a sender states is for the registry.
func FactsOf(info *bulletmetricsv1.TopologyInfo) Facts {
	f := Facts{Storm: info.GetStormVersion()}
	for _, c := range info.GetComponents() {
		if f.Components == nil {
			f.Components = make(map[string]bool, len(info.GetComponents()))
		}
		f.Components[c.GetName()] = c.GetKind() == bulletmetricsv1.ComponentKind_COMPONENT_KIND_SPOUT
	}
	return f
}

// ofPlugin begins the names that Storm gives to the plugin's metrics consumers.
const ofPlugin = "__metrics_io.github.bulletmetrics."

// SoleSender reports whether a topology has one task of the plugin, which then sends all its samples.
func SoleSender(info *bulletmetricsv1.TopologyInfo) bool {
	tasks := 0
	for _, c := range info.GetComponents() {
		if strings.HasPrefix(c.GetName(), ofPlugin) {
			tasks += len(c.GetTasks())
		}
	}
	return tasks == 1
}

// WorkerInfo returns the worker that a note describes, and the constant series whose labels identify its process.
func WorkerInfo(topology string, info *bulletmetricsv1.WorkerInfo) (metric.Worker, metric.Series) {
	worker := metric.Worker{Topology: topology, Host: info.GetHost(), Port: info.GetPort()}
	return worker, infoSeries("bullet_worker_info",
		"topology", topology,
		"worker", worker.String(),
		"host", info.GetHost(),
		"pid", strconv.FormatUint(info.GetPid(), 10))
}

// infoSeries leaves out empty values, because Prometheus treats an empty label as a missing one.
func infoSeries(name string, pairs ...string) metric.Series {
	builder := labels.NewScratchBuilder(1 + len(pairs)/2)
	builder.Add(model.MetricNameLabel, name)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			builder.Add(pairs[i], pairs[i+1])
		}
	}
	builder.Sort()
	return metric.Series{Labels: builder.Labels(), Kind: metric.KindGauge}
}

// Histogram converts a wire histogram to the form that stores use, with bucket counts as differences. It fails if the
// result is invalid. Negative observations are not part of it (HistogramSample.negative_count).
func Histogram(sample *bulletmetricsv1.HistogramSample) (*histogram.Histogram, error) {
	h := &histogram.Histogram{
		Schema:        sample.GetSchema(),
		ZeroThreshold: sample.GetZeroThreshold(),
		ZeroCount:     sample.GetZeroCount(),
		Count:         sample.GetCount(),
		Sum:           sample.GetSum(),
	}
	for _, span := range sample.GetPositiveSpans() {
		h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: span.GetOffset(), Length: span.GetLength()})
	}
	var previous int64
	for _, count := range sample.GetPositiveCounts() {
		h.PositiveBuckets = append(h.PositiveBuckets, int64(count)-previous)
		previous = int64(count)
	}
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("histogram of series %d: %w", sample.GetSeriesId(), err)
	}
	return h, nil
}
