package catalog

import (
	"strings"
	"time"
)

// The metrics of the collection itself, which the slicer makes for each worker and metric, never for a task. Those of a worker and
// metric have a value where it changes, which holds up to the next one, and at least every CollectionHolds; those of a worker, which are
// the sums over its metrics, have one every 30 s.
const (
	CollectionPrefix   = "bullet_metrics_collection_"
	CollectionInterval = CollectionPrefix + "interval_seconds"
	CollectionSeen     = CollectionPrefix + "interval_seen_seconds"
	CollectionSamples  = CollectionPrefix + "samples_total"
	CollectionRate     = CollectionPrefix + "samples_per_second"
	CollectionMissing  = CollectionPrefix + "missing_samples_total"
	CollectionLate     = CollectionPrefix + "late_samples_total"
	CollectionRefused  = CollectionPrefix + "refused_samples_total"
	CollectionDropped  = CollectionPrefix + "dropped_samples_total"
	CollectionSkew     = CollectionPrefix + "skew_seconds"

	CollectionSkewLeast = CollectionPrefix + "skew_least_seconds"
	CollectionSkewMost  = CollectionPrefix + "skew_most_seconds"

	CollectionWorkerSamples = CollectionPrefix + "worker_samples_total"
	CollectionWorkerMissing = CollectionPrefix + "worker_missing_samples_total"
	CollectionWorkerLate    = CollectionPrefix + "worker_late_samples_total"
	CollectionWorkerRefused = CollectionPrefix + "worker_refused_samples_total"
	CollectionWorkerRatio   = CollectionPrefix + "worker_interval_seen_ratio"
)

// CollectionPeriod is how often a worker's own series have a value, in its event time; what changes of a metric is stored at the same
// times. CollectionHolds is how far to look back for the newest value of a metric's series: it is written again each hour, and the
// slices of a metric with a long interval close late.
const (
	CollectionPeriod = 30 * time.Second
	CollectionHolds  = 2 * time.Hour
)

// CollectionSkewLimit is by how much a worker's clock may be off, beyond doubt: alert, page and doctor hold CollectionSkew to it.
const CollectionSkewLimit = 500 * time.Millisecond

// ofCollection says that a metric is not of what a topology sends, but of how it comes.
func (c *canonical) ofCollection() bool { return strings.HasPrefix(c.name, CollectionPrefix) }

// fitful are the metrics that say nothing where there is nothing to say, or whose labels come and go: a sample of these that is not there is
// not missing. Bullet's mean latency is none without records; a replay has a target, a connection a peer, for as long as it lasts; a
// client of the canary asks when it asks; Storm tells of a ticket, of a first report and of back-pressure when there is one.
var fitful = map[string]bool{
	"bullet_filter_latency_mean_seconds":        true,
	"bullet_filter_latency_seconds":             true,
	"bullet_query_engine_latency_seconds":       true,
	"bullet_query_first_result_latency_seconds": true,
	"bullet_latency_hook_left_out_total":        true,
	"bullet_query_latency_seconds":              true,
	"bullet_query_result_completeness_ratio":    true,
	"bullet_query_outcomes_total":               true,
	"bullet_active_replays":                     true,
	"bullet_created_replays_total":              true,
	"bullet_source_left_out_records_total":      true,
	"storm_connection_enqueued_messages_total":  true,
	"storm_connection_dequeued_messages_total":  true,
	"storm_connection_sent_messages_total":      true,
	"storm_connection_lost_messages_total":      true,
	"storm_connection_reconnects_total":         true,
	"storm_connection_pending_messages":         true,
	"storm_kerberos_ticket_remaining_seconds":   true,
	"storm_new_worker_event":                    true,
	"storm_backpressure_last_overflow_count":    true,
	"storm_memory_pool_used_after_gc_bytes":     true,
}

// Limits are the metrics in which -1, or more memory than there is, says that there is no limit.
func Limits() map[string]bool {
	limits := make(map[string]bool)
	for i := range metrics {
		if strings.HasSuffix(metrics[i].name, "_limit_bytes") {
			limits[metrics[i].name] = true
		}
	}
	return limits
}

// Lazy are the metrics of streams: Storm from 2.3 on has none of a stream until the first tuple of a process.
func Lazy() map[string]bool {
	lazy := make(map[string]bool)
	for i := range metrics {
		if strings.Contains(metrics[i].labels, "stream") {
			lazy[metrics[i].name] = true
		}
	}
	return lazy
}

// Steady are the metrics whose every series comes every interval for as long as its task runs, by name: one that the table does not have, as
// a user's own, may not.
func Steady() map[string]bool {
	steady := make(map[string]bool, len(metrics))
	for i := range metrics {
		if m := &metrics[i]; !fitful[m.name] && !m.ofCollection() {
			steady[m.name] = true
		}
	}
	return steady
}
