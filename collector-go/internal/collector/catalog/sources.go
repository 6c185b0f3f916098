package catalog

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"

// source is a row of the table that maps a sender's name for a value to ours. The senders are Storm, Bullet and our own
// plugin. One metric may have several sources, because releases of Storm rename and reshape their metrics.
//
// In name and key, "{label}" matches any text that is not empty, and that text becomes the value of the label. The
// placeholder "{cycles}" stands for a garbage collector that reports concurrent cycles; its text becomes the label
// collector. Its rows must come before those of "{collector}", because the first row that matches wins.
//
// A row leaves out default values. newTable fills in the rest: the temporality of a gauge, and a unit that equals ours.
type source struct {
	name string // as in metric.Raw
	key  string // path into a map, joined by "/" (a slash within a key is `\/`); "" for a plain number
	to   string // name of the canonical metric, a row of metrics.go
	with string // labels that the name implies, such as "mode=user"
	// temporality is what a value counts from. A counter must state it. A gauge is always instant, and a distribution
	// is as its sender states.
	temporality metric.Temporality
	perUnit     float64 // number of the source's units in one of ours, such as ms; 1 if it is not set
	versions    string  // releases that report it: of Storm unless another program is named; releasesOf reads it
	when        when    // in which topologies the source is reported and stored; always if it is not set
}

const (
	instant    = metric.Gauge              // each value stands alone
	cumulative = metric.Cumulative         // since the process started
	delta      = metric.Delta              // since the last report
	asSaid     = metric.TemporalityUnknown // as the sender states with the series
	// since the last report until Storm 2.2, since the process started from 2.3 on (release.go)
	byRelease = metric.Temporality(255)

	one = 1
	ms  = 1000 // in a second
)

// when decides in which topologies a source is reported and stored.
type when uint8

const (
	always        when = iota
	unlessSampler      // left out if the worker's sampler reports
	untilStorm22       // a map that all executors report until Storm 2.2, and none reports from 2.3 on (release.go)
)

// samplerSources are the values of the worker's own sampler, a thread of the plugin. The keys of GC counts and times
// are the JVM's names of the collectors.
var samplerSources = []source{
	{name: "cpu.user_ms", to: "bullet_worker_cpu_seconds_total", with: "mode=user", temporality: cumulative,
		perUnit: ms, versions: "sampler"},
	{name: "cpu.system_ms", to: "bullet_worker_cpu_seconds_total", with: "mode=system", temporality: cumulative,
		perUnit: ms, versions: "sampler"},
	{name: "cpu.total_ms", to: "bullet_worker_cpu_seconds_total", with: "mode=total", temporality: cumulative,
		perUnit: ms, versions: "sampler"},
	{name: "heap.used_bytes", to: "bullet_worker_heap_used_bytes", versions: "sampler"},
	{name: "heap.committed_bytes", to: "bullet_worker_heap_committed_bytes", versions: "sampler"},
	{name: "heap.limit_bytes", to: "bullet_worker_heap_limit_bytes", versions: "sampler"},
	{name: "gc.time_ms", key: "{cycles}", to: "bullet_worker_gc_concurrent_seconds_total", temporality: cumulative,
		perUnit: ms, versions: "sampler"},
	{name: "gc.count", key: "{cycles}", to: "bullet_worker_gc_concurrent_cycles_total", temporality: cumulative,
		versions: "sampler"},
	{name: "gc.time_ms", key: "{collector}", to: "bullet_worker_gc_seconds_total", temporality: cumulative, perUnit: ms,
		versions: "sampler"},
	{name: "gc.count", key: "{collector}", to: "bullet_worker_gc_collections_total", temporality: cumulative,
		versions: "sampler"},
	{name: "host.cpu_ms", key: "{mode}", to: "bullet_host_cpu_seconds_total", temporality: cumulative, perUnit: ms,
		versions: "sampler"},
	{name: "host.cpu_cores", to: "bullet_host_cpu_cores", versions: "sampler"},
	{name: "process.start_time_ms", to: "bullet_worker_start_time_seconds", perUnit: ms, versions: "sampler"},
}

// histogramSources are the distributions of the latency hook and of the canary. Their senders state the temporality
// with each series.
var histogramSources = []source{
	{name: "bullet_filter_latency_seconds", to: "bullet_filter_latency_seconds", versions: "hook"},
	{name: "bullet_query_engine_latency_seconds", to: "bullet_query_engine_latency_seconds", versions: "hook"},
	{name: "bullet_query_engine_latency_seconds", key: "{outcome}", to: "bullet_query_engine_latency_seconds",
		versions: "hook"},
	{name: "bullet_query_created_latency_seconds", key: "{outcome}", to: "bullet_query_created_latency_seconds",
		versions: "hook"},
	{name: "bullet_query_first_result_latency_seconds", to: "bullet_query_first_result_latency_seconds",
		versions: "hook"},
	{name: "bullet_query_latency_seconds", key: "{class}", to: "bullet_query_latency_seconds", versions: "canary"},
}

// stormSources are the values that a metrics consumer receives: those of Storm, of Bullet, and of our own tasks.
var stormSources = []source{
	// Bullet, by its version.
	{name: "bullet_active_queries", to: "bullet_active_queries", versions: "Bullet 0.4.0 on"},
	{name: "bullet_active_rules", to: "bullet_active_queries", versions: "Bullet 0.3"},
	{name: "bullet_created_queries", to: "bullet_created_queries_total", temporality: cumulative,
		versions: "Bullet 0.4.0 on"},
	{name: "bullet_created_rules", to: "bullet_created_queries_total", temporality: cumulative, versions: "Bullet 0.3"},
	{name: "bullet_improper_queries", to: "bullet_improper_queries_total", temporality: cumulative,
		versions: "Bullet 0.4.0 on"},
	{name: "bullet_improper_rules", to: "bullet_improper_queries_total", temporality: cumulative,
		versions: "Bullet 0.3"},
	{name: "bullet_rate_exceeded_queries", to: "bullet_rate_exceeded_queries_total", temporality: cumulative,
		versions: "Bullet 0.8.0 on"},
	{name: "bullet_duplicated_queries", to: "bullet_duplicated_queries_total", temporality: cumulative,
		versions: "Bullet 0.8.4 on"},
	{name: "bullet_batched_queries", to: "bullet_batched_queries", versions: "Bullet 1.0.0 on"},
	{name: "bullet_active_replays", to: "bullet_active_replays", versions: "Bullet 1.0.0 on, QuerySpout"},
	{name: "bullet_active_replays", key: "{target}", to: "bullet_active_replays",
		versions: "Bullet 1.0.0 on, ReplayBolt"},
	{name: "bullet_created_replays", to: "bullet_created_replays_total", temporality: cumulative,
		versions: "Bullet 1.0.0 on"},
	{name: "bullet_created_replays", key: "{target}", to: "bullet_created_replays_total", temporality: cumulative,
		versions: "Bullet 1.0.0 on, ReplayBolt"},
	{name: "bullet_filter_latency", to: "bullet_filter_latency_mean_seconds", perUnit: ms, versions: "Bullet 0.4.3 on"},
	{name: "bullet_query_result_completeness_ratio", key: "{class}", to: "bullet_query_result_completeness_ratio",
		versions: "canary"},
	{name: "bullet_query_outcomes", key: "{class}/{outcome}", to: "bullet_query_outcomes_total",
		temporality: cumulative, versions: "canary"},
	{name: "bullet-metrics.latency-hook", key: "{reason}", to: "bullet_latency_hook_left_out_total",
		temporality: cumulative, versions: "our latency hook"},
	{name: "bullet-metrics.execute", key: "ms", to: "bullet_execute_seconds_total", temporality: cumulative,
		perUnit: ms, versions: "our latency hook"},
	{name: "bullet-metrics.execute", key: "samples", to: "bullet_execute_samples_total", temporality: cumulative,
		versions: "our latency hook"},
	{name: "bullet_source_records", to: "bullet_source_records_total", temporality: cumulative,
		versions: "our record sources"},
	{name: "bullet_source_bytes", to: "bullet_source_bytes_total", temporality: cumulative,
		versions: "our record sources"},
	{name: "bullet_source_lag", to: "bullet_source_lag_records", versions: "our record sources"},
	{name: "kafkaOffset.{topic}/partition_{partition}/spoutLag", to: "bullet_source_partition_lag_records",
		versions: "storm-kafka-client 2.6 on"},
	{name: "kafkaOffset", key: `{topic}\/partition_{partition}\/spoutLag`, to: "bullet_source_partition_lag_records",
		versions: "storm-kafka-client 1.2 to 2.5"},
	{name: "bullet_source_left_out", key: "{reason}", to: "bullet_source_left_out_records_total",
		temporality: cumulative, versions: "our record sources"},
	{name: "bullet_source_repeated", to: "bullet_source_repeated_records_total", temporality: cumulative,
		versions: "our record sources"},

	// Tuples: from 2.3 on a cumulative number for each stream; before that a map of increments by stream.
	{name: "__emit-count-{stream}", to: "storm_emitted_total", temporality: cumulative, versions: "2.3 on"},
	{name: "__emit-count", key: "{stream}", to: "storm_emitted_total", temporality: delta, versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__transfer-count-{stream}", to: "storm_transferred_total", temporality: cumulative, versions: "2.3 on"},
	{name: "__transfer-count", key: "{stream}", to: "storm_transferred_total", temporality: delta,
		versions: "1.0 to 2.2", when: untilStorm22},
	{name: "__ack-count-{source}:{stream}", to: "storm_acked_total", temporality: cumulative,
		versions: "2.3 on, bolts"},
	{name: "__ack-count-{stream}", to: "storm_acked_total", temporality: cumulative, versions: "2.3 on, spouts"},
	{name: "__ack-count", key: "{source}:{stream}", to: "storm_acked_total", temporality: delta,
		versions: "1.0 to 2.2, bolts", when: untilStorm22},
	{name: "__ack-count", key: "{stream}", to: "storm_acked_total", temporality: delta, versions: "1.0 to 2.2, spouts",
		when: untilStorm22},
	{name: "__fail-count-{source}:{stream}", to: "storm_failed_total", temporality: cumulative,
		versions: "2.3 on, bolts"},
	{name: "__fail-count-{stream}", to: "storm_failed_total", temporality: cumulative, versions: "2.3 on, spouts"},
	{name: "__fail-count", key: "{source}:{stream}", to: "storm_failed_total", temporality: delta,
		versions: "1.0 to 2.2, bolts", when: untilStorm22},
	{name: "__fail-count", key: "{stream}", to: "storm_failed_total", temporality: delta,
		versions: "1.0 to 2.2, spouts", when: untilStorm22},
	{name: "__execute-count-{source}:{stream}", to: "storm_executed_total", temporality: cumulative,
		versions: "2.3 on"},
	{name: "__execute-count", key: "{source}:{stream}", to: "storm_executed_total", temporality: delta,
		versions: "1.0 to 2.2", when: untilStorm22},
	{name: "__execute-latency-{source}:{stream}", to: "storm_execute_latency_seconds", perUnit: ms,
		versions: "2.3 on, over the last 3 samples"},
	{name: "__execute-latency", key: "{source}:{stream}", to: "storm_execute_latency_seconds", perUnit: ms,
		versions: "1.0 to 2.2, over the interval"},
	{name: "__process-latency-{source}:{stream}", to: "storm_process_latency_seconds", perUnit: ms,
		versions: "2.3 on, over the last 3 samples"},
	{name: "__process-latency", key: "{source}:{stream}", to: "storm_process_latency_seconds", perUnit: ms,
		versions: "1.0 to 2.2, over the interval"},
	{name: "__complete-latency-{stream}", to: "storm_complete_latency_seconds", perUnit: ms,
		versions: "2.3 on, over the last 3 samples"},
	{name: "__complete-latency", key: "{stream}", to: "storm_complete_latency_seconds", perUnit: ms,
		versions: "1.0 to 2.2, over the interval"},
	{name: "__capacity", to: "storm_capacity_ratio", versions: "2.3 on"},
	{name: "__skipped-max-spout-ms", to: "storm_skipped_seconds_total", with: "reason=max_spout_pending",
		temporality: byRelease, perUnit: ms, versions: "2.0 on"},
	{name: "__skipped-inactive-ms", to: "storm_skipped_seconds_total", with: "reason=inactive", temporality: byRelease,
		perUnit: ms, versions: "2.0 on"},
	{name: "__skipped-backpressure-ms", to: "storm_skipped_seconds_total", with: "reason=backpressure",
		temporality: byRelease, perUnit: ms, versions: "2.0 on"},
	{name: "__skipped-max-spout", to: "storm_skipped_calls_total", with: "reason=max_spout_pending", temporality: delta,
		versions: "1.x"},
	{name: "__skipped-inactive", to: "storm_skipped_calls_total", with: "reason=inactive", temporality: delta,
		versions: "1.x"},
	{name: "__skipped-throttle", to: "storm_skipped_calls_total", with: "reason=backpressure", temporality: delta,
		versions: "1.x"},
	{name: "__reported-error-count", to: "storm_reported_errors_total", temporality: byRelease, versions: "2.0 on"},
	{name: "__backpressure-last-overflow-count", to: "storm_backpressure_last_overflow_count", versions: "2.3 on"},

	// Queues.
	{name: "receive-queue-population", to: "storm_receive_queue_population", versions: "2.3 on"},
	{name: "receive-queue-capacity", to: "storm_receive_queue_capacity", versions: "2.3 on"},
	{name: "receive-queue-pct_full", to: "storm_receive_queue_full_ratio", versions: "2.3 on"},
	{name: "receive-queue-overflow", to: "storm_receive_queue_overflow_population", versions: "2.3 on"},
	{name: "receive-queue-sojourn_time_ms", to: "storm_receive_queue_sojourn_seconds", perUnit: ms, versions: "2.3 on"},
	{name: "receive-queue-arrival_rate_secs", to: "storm_receive_queue_arrivals_per_second", versions: "2.3 on"},
	{name: "receive-queue-insert_failures", to: "storm_receive_queue_insert_failures_per_second", versions: "2.3 on"},
	{name: "receive-queue-dropped_messages", to: "storm_receive_queue_dropped_messages_total", temporality: cumulative,
		versions: "2.3 on"},
	{name: "__receive", key: "population", to: "storm_receive_queue_population", versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__receive", key: "capacity", to: "storm_receive_queue_capacity", versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__receive", key: "pct_full", to: "storm_receive_queue_full_ratio", versions: "2.0 to 2.2",
		when: untilStorm22},
	{name: "__receive", key: "overflow", to: "storm_receive_queue_overflow_population", versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__receive", key: "sojourn_time_ms", to: "storm_receive_queue_sojourn_seconds", perUnit: ms,
		versions: "1.0 to 2.2", when: untilStorm22},
	{name: "__receive", key: "arrival_rate_secs", to: "storm_receive_queue_arrivals_per_second", versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__receive", key: "insert_failures", to: "storm_receive_queue_insert_failures_per_second",
		versions: "2.0 to 2.2", when: untilStorm22},
	{name: "__receive", key: "dropped_messages", to: "storm_receive_queue_dropped_messages_total",
		temporality: cumulative, versions: "2.0 to 2.2", when: untilStorm22},
	{name: "__sendqueue", key: "population", to: "storm_send_queue_population", versions: "1.x", when: untilStorm22},
	{name: "__sendqueue", key: "capacity", to: "storm_send_queue_capacity", versions: "1.x", when: untilStorm22},
	{name: "__sendqueue", key: "overflow", to: "storm_send_queue_overflow_population", versions: "1.x",
		when: untilStorm22},
	{name: "__sendqueue", key: "sojourn_time_ms", to: "storm_send_queue_sojourn_seconds", perUnit: ms, versions: "1.x",
		when: untilStorm22},
	{name: "__sendqueue", key: "arrival_rate_secs", to: "storm_send_queue_arrivals_per_second", versions: "1.x",
		when: untilStorm22},
	{name: "worker-transfer-queue-population", to: "storm_transfer_queue_population", versions: "2.2 on"},
	{name: "worker-transfer-queue-capacity", to: "storm_transfer_queue_capacity", versions: "2.2 on"},
	{name: "worker-transfer-queue-pct_full", to: "storm_transfer_queue_full_ratio", versions: "2.3 on"},
	{name: "worker-transfer-queue-overflow", to: "storm_transfer_queue_overflow_population", versions: "2.3 on"},
	{name: "worker-transfer-queue-sojourn_time_ms", to: "storm_transfer_queue_sojourn_seconds", perUnit: ms,
		versions: "2.3 on"},
	{name: "worker-transfer-queue-arrival_rate_secs", to: "storm_transfer_queue_arrivals_per_second",
		versions: "2.3 on"},
	{name: "worker-transfer-queue-insert_failures", to: "storm_transfer_queue_insert_failures_per_second",
		versions: "2.3 on"},
	{name: "worker-transfer-queue-dropped_messages", to: "storm_transfer_queue_dropped_messages_total",
		temporality: cumulative, versions: "2.3 on"},
	{name: "__transfer", key: "population", to: "storm_transfer_queue_population", versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__transfer", key: "capacity", to: "storm_transfer_queue_capacity", versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__transfer", key: "pct_full", to: "storm_transfer_queue_full_ratio", versions: "2.0 to 2.2",
		when: untilStorm22},
	{name: "__transfer", key: "overflow", to: "storm_transfer_queue_overflow_population", versions: "1.0 to 2.2",
		when: untilStorm22},
	{name: "__transfer", key: "sojourn_time_ms", to: "storm_transfer_queue_sojourn_seconds", perUnit: ms,
		versions: "1.0 to 2.2", when: untilStorm22},
	{name: "__transfer", key: "arrival_rate_secs", to: "storm_transfer_queue_arrivals_per_second",
		versions: "1.0 to 2.2", when: untilStorm22},
	{name: "__transfer", key: "insert_failures", to: "storm_transfer_queue_insert_failures_per_second",
		versions: "2.0 to 2.2", when: untilStorm22},
	{name: "__transfer", key: "dropped_messages", to: "storm_transfer_queue_dropped_messages_total",
		temporality: cumulative, versions: "2.0 to 2.2", when: untilStorm22},

	// Connections between workers.
	{name: "__recv-iconnection", key: "enqueued/{peer}", to: "storm_connection_enqueued_messages_total",
		temporality: delta, versions: "1.0 on"},
	{name: "__recv-iconnection", key: "dequeuedMessages", to: "storm_connection_dequeued_messages_total",
		temporality: delta, versions: "1.0 on"},
	{name: "__send-iconnection", key: "{peer}/sent", to: "storm_connection_sent_messages_total", temporality: delta,
		versions: "1.0 to 2.2"},
	{name: "__send-iconnection", key: "{peer}/lostOnSend", to: "storm_connection_lost_messages_total",
		temporality: delta, versions: "1.0 to 2.2"},
	{name: "__send-iconnection", key: "{peer}/reconnects", to: "storm_connection_reconnects_total", temporality: delta,
		versions: "1.0 to 2.2"},
	{name: "__send-iconnection", key: "{peer}/pending", to: "storm_connection_pending_messages",
		versions: "1.0 to 2.2"},
	{name: "__send-iconnection-sent-{peer}", to: "storm_connection_sent_messages_total", temporality: cumulative,
		versions: "2.3 on"},
	{name: "__send-iconnection-lostOnSend-{peer}", to: "storm_connection_lost_messages_total", temporality: cumulative,
		versions: "2.3 on"},
	{name: "__send-iconnection-reconnects-{peer}", to: "storm_connection_reconnects_total", temporality: cumulative,
		versions: "2.3 on"},
	{name: "__send-iconnection-pending-{peer}", to: "storm_connection_pending_messages", versions: "2.3 on"},

	// CPU, heap, collections and start time: left out if the sampler reports them. Sigar's first CPU value counts since
	// the process started.
	{name: "CPU", key: "user-ms", to: "bullet_worker_cpu_seconds_total", with: "mode=user", temporality: delta,
		perUnit: ms, versions: "storm-metrics' CPUMetric on any", when: unlessSampler},
	{name: "CPU", key: "sys-ms", to: "bullet_worker_cpu_seconds_total", with: "mode=system", temporality: delta,
		perUnit: ms, versions: "storm-metrics' CPUMetric on any", when: unlessSampler},
	{name: "memory.heap.used", to: "bullet_worker_heap_used_bytes", versions: "2.2 on", when: unlessSampler},
	{name: "memory.heap.committed", to: "bullet_worker_heap_committed_bytes", versions: "2.2 on", when: unlessSampler},
	{name: "memory.heap.max", to: "bullet_worker_heap_limit_bytes", versions: "2.2 on", when: unlessSampler},
	{name: "memory/heap", key: "usedBytes", to: "bullet_worker_heap_used_bytes", versions: "1.0 to 2.1",
		when: unlessSampler},
	{name: "memory/heap", key: "committedBytes", to: "bullet_worker_heap_committed_bytes", versions: "1.0 to 2.1",
		when: unlessSampler},
	{name: "memory/heap", key: "maxBytes", to: "bullet_worker_heap_limit_bytes", versions: "1.0 to 2.1",
		when: unlessSampler},
	{name: "GC.{cycles}.time", to: "bullet_worker_gc_concurrent_seconds_total", temporality: cumulative, perUnit: ms,
		versions: "2.2 on", when: unlessSampler},
	{name: "GC.{cycles}.count", to: "bullet_worker_gc_concurrent_cycles_total", temporality: cumulative,
		versions: "2.2 on", when: unlessSampler},
	{name: "GC/{cycles}", key: "timeMs", to: "bullet_worker_gc_concurrent_seconds_total", temporality: delta,
		perUnit: ms, versions: "1.0 to 2.1", when: unlessSampler},
	{name: "GC/{cycles}", key: "count", to: "bullet_worker_gc_concurrent_cycles_total", temporality: delta,
		versions: "1.0 to 2.1", when: unlessSampler},
	{name: "GC.{collector}.time", to: "bullet_worker_gc_seconds_total", temporality: cumulative, perUnit: ms,
		versions: "2.2 on", when: unlessSampler},
	{name: "GC.{collector}.count", to: "bullet_worker_gc_collections_total", temporality: cumulative,
		versions: "2.2 on", when: unlessSampler},
	{name: "GC/{collector}", key: "timeMs", to: "bullet_worker_gc_seconds_total", temporality: delta, perUnit: ms,
		versions: "1.0 to 2.1", when: unlessSampler},
	{name: "GC/{collector}", key: "count", to: "bullet_worker_gc_collections_total", temporality: delta,
		versions: "1.0 to 2.1", when: unlessSampler},
	{name: "startTimeSecs", to: "bullet_worker_start_time_seconds", versions: "1.0 on", when: unlessSampler},

	// The rest of the JVM.
	{name: "memory.heap.init", to: "storm_memory_init_bytes", with: "area=heap", versions: "2.2 on"},
	{name: "memory.heap.usage", to: "storm_memory_usage_ratio", with: "area=heap", versions: "2.2 on"},
	{name: "memory.pools.{pool}.used", to: "storm_memory_pool_used_bytes", versions: "2.2 on"},
	{name: "memory.pools.{pool}.used-after-gc", to: "storm_memory_pool_used_after_gc_bytes", versions: "2.2 on"},
	{name: "memory.pools.{pool}.committed", to: "storm_memory_pool_committed_bytes", versions: "2.2 on"},
	{name: "memory.pools.{pool}.max", to: "storm_memory_pool_limit_bytes", versions: "2.2 on"},
	{name: "memory.pools.{pool}.init", to: "storm_memory_pool_init_bytes", versions: "2.2 on"},
	{name: "memory.pools.{pool}.usage", to: "storm_memory_pool_usage_ratio", versions: "2.2 on"},
	{name: "memory.{area}.used", to: "storm_memory_used_bytes", versions: "2.2 on"},
	{name: "memory.{area}.committed", to: "storm_memory_committed_bytes", versions: "2.2 on"},
	{name: "memory.{area}.max", to: "storm_memory_limit_bytes", versions: "2.2 on"},
	{name: "memory.{area}.init", to: "storm_memory_init_bytes", versions: "2.2 on"},
	{name: "memory.{area}.usage", to: "storm_memory_usage_ratio", versions: "2.2 on"},
	{name: "memory/heap", key: "initBytes", to: "storm_memory_init_bytes", with: "area=heap", versions: "1.0 to 2.1"},
	{name: "memory/heap", key: "unusedBytes", to: "storm_memory_unused_bytes", with: "area=heap",
		versions: "1.0 to 2.1"},
	{name: "memory/heap", key: "virtualFreeBytes", to: "storm_memory_free_bytes", with: "area=heap",
		versions: "1.0 to 2.1"},
	{name: "memory/nonHeap", key: "usedBytes", to: "storm_memory_used_bytes", with: "area=non-heap",
		versions: "1.0 to 2.1"},
	{name: "memory/nonHeap", key: "committedBytes", to: "storm_memory_committed_bytes", with: "area=non-heap",
		versions: "1.0 to 2.1"},
	{name: "memory/nonHeap", key: "maxBytes", to: "storm_memory_limit_bytes", with: "area=non-heap",
		versions: "1.0 to 2.1"},
	{name: "memory/nonHeap", key: "initBytes", to: "storm_memory_init_bytes", with: "area=non-heap",
		versions: "1.0 to 2.1"},
	{name: "memory/nonHeap", key: "unusedBytes", to: "storm_memory_unused_bytes", with: "area=non-heap",
		versions: "1.0 to 2.1"},
	{name: "memory/nonHeap", key: "virtualFreeBytes", to: "storm_memory_free_bytes", with: "area=non-heap",
		versions: "1.0 to 2.1"},
	{name: "threads.count", to: "storm_worker_threads", versions: "2.2 on"},
	{name: "threadCount", to: "storm_worker_threads", versions: "2.0 and 2.1"},
	{name: "threads.daemon.count", to: "storm_worker_daemon_threads", versions: "2.2 on"},
	{name: "threads.peak.count", to: "storm_worker_peak_threads", versions: "2.6.3 on"},
	{name: "threads.deadlock.count", to: "storm_worker_deadlocked_threads", versions: "2.2 on"},
	{name: "threads.total_started.count", to: "storm_worker_started_threads_total", temporality: cumulative,
		versions: "2.6.3 on"},
	{name: "threads.{state}.count", to: "storm_worker_threads_in_state", versions: "2.2 on"},
	{name: "uptimeSecs", to: "storm_worker_uptime_seconds", versions: "1.0 on"},
	{name: "newWorkerEvent", to: "storm_new_worker_event", versions: "1.0 on"},
	{name: "workerCpuUsage", to: "storm_worker_cpu_usage_cores", versions: "2.6.3 on"},
	{name: "TGT-TimeToExpiryMsecs", to: "storm_kerberos_ticket_remaining_seconds", perUnit: ms,
		versions: "1.0 on, with AutoTGT"},
	{name: "doHeartbeat-calls.count", to: "storm_heartbeat_calls_total", temporality: cumulative, versions: "2.3 on"},

	// The cgroup.
	{name: "CGroupCpu.user-ms", to: "storm_cgroup_cpu_seconds_total", with: "mode=user", temporality: cumulative,
		perUnit: ms, versions: "2.3 on"},
	{name: "CGroupCpu.sys-ms", to: "storm_cgroup_cpu_seconds_total", with: "mode=system", temporality: cumulative,
		perUnit: ms, versions: "2.3 on"},
	{name: "CGroupCpu", key: "user-ms", to: "storm_cgroup_cpu_seconds_total", with: "mode=user", temporality: delta,
		perUnit: ms, versions: "1.1 to 2.2"},
	{name: "CGroupCpu", key: "sys-ms", to: "storm_cgroup_cpu_seconds_total", with: "mode=system", temporality: delta,
		perUnit: ms, versions: "1.1 to 2.2"},
	{name: "CGroupCpuGuarantee", to: "storm_cgroup_cpu_guarantee", versions: "1.1 on"},
	{name: "CGroupCpuGuaranteeByCfsQuota", to: "storm_cgroup_cpu_quota_percent", versions: "2.3 on"},
	{name: "CGroupCpuStat.nr.period-count", to: "storm_cgroup_cpu_periods", versions: "2.3 on"},
	{name: "CGroupCpuStat.nr.throttled-count", to: "storm_cgroup_cpu_throttled_periods", versions: "2.3 on"},
	{name: "CGroupCpuStat.nr.throttled-percentage", to: "storm_cgroup_cpu_throttled_percent", versions: "2.3 on"},
	{name: "CGroupCpuStat.throttled.time-ms", to: "storm_cgroup_cpu_throttled_seconds", perUnit: ms,
		versions: "2.3 on"},
	{name: "CGroupMemoryUsage", to: "storm_cgroup_memory_used_bytes", versions: "2.3 on"},
	{name: "CGroupMemory", to: "storm_cgroup_memory_used_bytes", versions: "1.1 to 2.2"},
	{name: "CGroupMemoryLimit", to: "storm_cgroup_memory_limit_bytes", versions: "1.1 on"},
}

// leaving is a row of the table of names that are left out. Another stored metric reports the same value or a better
// one, or the value can be computed from it. If the other metric is not stored, the value is stored under its own name,
// so that a row of this table never loses data.
type leaving struct {
	name, key string
	// beside is the metric that makes this one redundant, by Storm's name for it or by ours. It must be stored for the
	// same task, or, if system is set, for the same worker.
	beside   string
	reason   string // ReasonDerived or ReasonRepeat
	versions string // releases of Storm that report it
	why      string // for proto/METRICS.md
	system   bool   // it must come from Storm's own component
}

var leftOutSources = []leaving{
	// any meter or timer (com.codahale.metrics), from 2.2 on
	{name: "{name}.m1_rate", beside: "{name}.count", reason: ReasonDerived, versions: "2.2 on",
		why: "the rate of a stored count"},
	{name: "{name}.m5_rate", beside: "{name}.count", reason: ReasonDerived, versions: "2.2 on",
		why: "the rate of a stored count"},
	{name: "{name}.m15_rate", beside: "{name}.count", reason: ReasonDerived, versions: "2.2 on",
		why: "the rate of a stored count"},
	{name: "{name}.mean_rate", beside: "{name}.count", reason: ReasonDerived, versions: "2.2 on",
		why: "the rate of a stored count"},
	// a counter of Storm itself (org.apache.storm.metrics2.RateCounter)
	{name: "{name}.m1_rate", beside: "{name}", reason: ReasonDerived, versions: "2.3 on",
		why: "the rate of a stored counter of Storm"},
	{name: "acked", beside: "__ack-count", reason: ReasonRepeat, versions: "2.2",
		why: "not split by stream; the streams overwrite each other"},
	{name: "emitted", beside: "__emit-count", reason: ReasonRepeat, versions: "2.2", why: "not split by stream"},
	{name: "transferred", beside: "__transfer-count", reason: ReasonRepeat, versions: "2.2",
		why: "not split by stream"},
	{name: "failed", beside: "__fail-count", reason: ReasonRepeat, versions: "2.2", why: "not split by stream"},
	{name: "receive-queue[{executor}]-population", beside: "__receive", reason: ReasonRepeat, versions: "2.2",
		why: "the stored metric is split by task", system: true},
	{name: "receive-queue[{executor}]-capacity", beside: "__receive", reason: ReasonRepeat, versions: "2.2",
		why: "the stored metric is split by task", system: true},
	{name: "__receive", key: "tuple_population", beside: "__receive", reason: ReasonRepeat, versions: "1.x",
		why: "the same as `population`, including the overflow"},
	{name: "__receive", key: "read_pos", beside: "__receive", reason: ReasonDerived, versions: "1.x",
		why: "a position in a ring buffer"},
	{name: "__receive", key: "write_pos", beside: "__receive", reason: ReasonDerived, versions: "1.x",
		why: "a position in a ring buffer"},
	{name: "__sendqueue", key: "tuple_population", beside: "__sendqueue", reason: ReasonRepeat, versions: "1.x",
		why: "the same as `population`, including the overflow"},
	{name: "__sendqueue", key: "read_pos", beside: "__sendqueue", reason: ReasonDerived, versions: "1.x",
		why: "a position in a ring buffer"},
	{name: "__sendqueue", key: "write_pos", beside: "__sendqueue", reason: ReasonDerived, versions: "1.x",
		why: "a position in a ring buffer"},
	{name: "__transfer", key: "tuple_population", beside: "__transfer", reason: ReasonRepeat, versions: "1.x",
		why: "the same as `population`, including the overflow", system: true},
	{name: "__transfer", key: "read_pos", beside: "__transfer", reason: ReasonDerived, versions: "1.x",
		why: "a position in a ring buffer", system: true},
	{name: "__transfer", key: "write_pos", beside: "__transfer", reason: ReasonDerived, versions: "1.x",
		why: "a position in a ring buffer", system: true},
	{name: "memory.total.max", beside: "bullet_worker_heap_limit_bytes", reason: ReasonDerived, versions: "2.2 on",
		why:    "the sum of the limits of heap and non-heap memory. Without a non-heap limit (-1), it is the heap's limit minus one byte",
		system: true},
}
