package dashboardtest

import (
	"maps"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// Known are the metrics that an expression may name: the catalog's, the collector's own, and those of annotations.
func Known() map[string]Metric {
	known := map[string]Metric{}
	for name, d := range catalog.Metadata() {
		known[name] = Metric{Type: d.Type, Unit: d.Unit, Labels: d.Labels}
	}
	maps.Copy(known, own)
	// whoever evaluates rules
	known["ALERTS"] = Metric{Type: "gauge",
		Labels: strings.Fields("alertname alertstate severity topology worker class cause metric reason port")}
	return known
}

// Own are the collector's own figures that dashboards and alerts use, by name; a test in cmd/bullet-metrics holds them
// against /metrics.
func Own() map[string]Metric { return own }

func gauge(labels ...string) Metric   { return Metric{Type: "gauge", Labels: scraped(labels)} }
func counter(labels ...string) Metric { return Metric{Type: "counter", Labels: scraped(labels)} }
func histogram(labels ...string) Metric {
	return Metric{Type: "histogram", Unit: "seconds", Labels: scraped(labels)}
}

// scraped adds what a Prometheus records about each scrape.
func scraped(labels []string) []string { return append([]string{"job", "instance"}, labels...) }

func in(unit string, m Metric) Metric {
	m.Unit = unit
	return m
}

var own = map[string]Metric{
	"bullet_metrics_config_last_reload_successful":                gauge(),
	"bullet_metrics_config_last_reload_success_timestamp_seconds": gauge(),

	"bullet_metrics_build_info":                             gauge("version", "goversion"),
	"bullet_metrics_ingest_streams":                         gauge(),
	"bullet_metrics_ingest_connections":                     gauge(),
	"bullet_metrics_ingest_received_samples_total":          counter(),
	"bullet_metrics_ingest_journaled_samples_total":         counter(),
	"bullet_metrics_ingest_deduplicated_samples_total":      counter(),
	"bullet_metrics_ingest_rejected_samples_total":          counter("reason"),
	"bullet_metrics_ingest_topology_rejected_samples_total": counter("topology", "reason"),
	"bullet_metrics_security_files_broken":                  gauge("port"),
	"bullet_metrics_port_closed":                            gauge("port"),
	"bullet_metrics_worker_tasks":                           gauge("topology", "worker", "component"),
	"bullet_metrics_worker_clock_ahead_seconds":             gauge("topology", "worker"),
	"bullet_metrics_worker_clock_set_back_seconds":          gauge("store", "topology", "worker"),
	"bullet_metrics_topology_ended_timestamp_seconds":       gauge("topology", "how"),
	"bullet_metrics_client_stopped_timestamp_seconds":       gauge("topology", "worker"),
	"bullet_metrics_ingest_surplus_definitions_total":       counter(),
	"bullet_metrics_ingest_batches_total":                   counter("outcome"),
	"bullet_metrics_ingest_acknowledge_duration_seconds":    histogram(),
	"bullet_metrics_journal_fsync_duration_seconds":         histogram(),
	"bullet_metrics_ingest_accept_duration_seconds":         histogram(),
	"bullet_metrics_feed_extract_duration_seconds":          histogram("store"),
	"bullet_metrics_feed_write_duration_seconds":            histogram("store"),
	"bullet_metrics_http_request_seconds":                   histogram("route", "code"),
	"bullet_metrics_feed_samples":                           gauge("store", "fate", "reason"),
	"bullet_metrics_feed_behind_seconds":                    in("seconds", gauge("store")),
	"bullet_metrics_feed_slices_total":                      counter("store", "fate", "reason"),
	"bullet_metrics_feed_failures_total":                    counter("store"),
	"bullet_metrics_embedded_compaction_failures_total":     counter(),
	"bullet_metrics_embedded_merge_failures_total":          counter(),
	"bullet_metrics_embedded_slices_rejected_total":         counter("reason"),
	"bullet_metrics_embedded_slices_expired_total":          counter("bound"),
	"bullet_metrics_embedded_damaged_total":                 counter("what"),
	"bullet_metrics_embedded_head_series":                   gauge(),
	"bullet_metrics_embedded_series_limit":                  gauge(),
	"bullet_metrics_embedded_head_bytes":                    in("bytes", gauge()),
	"bullet_metrics_embedded_head_limit_bytes":              in("bytes", gauge()),
	"bullet_metrics_embedded_series_bytes":                  in("bytes", gauge()),
	"bullet_metrics_embedded_blocks_bytes":                  in("bytes", gauge()),
	"bullet_metrics_query_running":                          gauge(),
	"bullet_metrics_query_waiting":                          gauge(),
	"process_cpu_seconds_total":                             in("seconds", counter()),
	"process_resident_memory_bytes":                         in("bytes", gauge()),
	"go_memstats_heap_inuse_bytes":                          in("bytes", gauge()),
}

// annotations are series that the collector makes of annotations when it is asked for them
// (internal/serve/annotations).
func init() {
	own["bullet_annotation_active"] = Metric{Type: "gauge", Labels: strings.Fields("topology kind title text tags")}
	own["bullet_annotation_start_seconds"] = Metric{Type: "gauge", Unit: "seconds",
		Labels: strings.Fields("topology kind title text tags")}
}
