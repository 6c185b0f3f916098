package catalog

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"

// source is a row of the table from what Storm, Bullet or our sampler calls a number to what we call it. In name and
// key, "{label}" takes the text in its place for that label of the metric. "{cycles}" takes the name of a collector
// that states the time of concurrent cycles, for the label collector; its rows come before those of "{collector}".
type source struct {
	name        string // as metric.Raw has it
	key         string // path into a map, joined by "/" (a slash within a key is `\/`); "" for a plain number
	to          string // name of the canonical metric
	with        string // labels that the name implies, "mode=user"
	temporality metric.Temporality
	perUnit     float64 // the source's units in one of ours
	versions    string  // of Storm, or of what is named
	when        when    // in which topologies it comes, and is stored
}

const (
	instant    = metric.Gauge              // each value for itself
	cumulative = metric.Cumulative         // since the process started
	delta      = metric.Delta              // since the last report
	asSaid     = metric.TemporalityUnknown // as the sender says with the series
	// since the last report until Storm 2.2, since the process started from 2.3 (release.go)
	byRelease = metric.Temporality(255)

	one = 1
	ms  = 1000 // in a second
)

// when says in which topologies a source comes, and is stored.
type when uint8

const (
	always        when = iota
	unlessSampler      // left out where the worker's sampler reports
	untilStorm22       // a map that all executors report until Storm 2.2, and none from 2.3 on (release.go)
)

// sources of what the worker's sampler reports (DESIGN, decision 15). GC counts and times are keyed by the JVM's name
// of the collector.
var samplerSources = []source{
	{"cpu.user_ms", "", "bullet_worker_cpu_seconds_total", "mode=user", cumulative, ms, "sampler", always},
	{"cpu.system_ms", "", "bullet_worker_cpu_seconds_total", "mode=system", cumulative, ms, "sampler", always},
	{"cpu.total_ms", "", "bullet_worker_cpu_seconds_total", "mode=total", cumulative, ms, "sampler", always},
	{"heap.used_bytes", "", "bullet_worker_heap_used_bytes", "", instant, one, "sampler", always},
	{"heap.committed_bytes", "", "bullet_worker_heap_committed_bytes", "", instant, one, "sampler", always},
	{"heap.limit_bytes", "", "bullet_worker_heap_limit_bytes", "", instant, one, "sampler", always},
	{"gc.time_ms", "{cycles}", "bullet_worker_gc_concurrent_seconds_total", "", cumulative, ms, "sampler", always},
	{"gc.count", "{cycles}", "bullet_worker_gc_concurrent_cycles_total", "", cumulative, one, "sampler", always},
	{"gc.time_ms", "{collector}", "bullet_worker_gc_seconds_total", "", cumulative, ms, "sampler", always},
	{"gc.count", "{collector}", "bullet_worker_gc_collections_total", "", cumulative, one, "sampler", always},
	{"host.cpu_ms", "{mode}", "bullet_host_cpu_seconds_total", "", cumulative, ms, "sampler", always},
	{"host.cpu_cores", "", "bullet_host_cpu_cores", "", instant, one, "sampler", always},
	{"process.start_time_ms", "", "bullet_worker_start_time_seconds", "", instant, ms, "sampler", always},
}

// sources of distributions, from the latency hook and the canary; what they count from is said with the series.
var histogramSources = []source{
	{"bullet_filter_latency_seconds", "", "bullet_filter_latency_seconds", "", asSaid, one, "hook", always},
	{"bullet_query_engine_latency_seconds", "", "bullet_query_engine_latency_seconds", "", asSaid, one, "hook", always},
	{"bullet_query_engine_latency_seconds", "{outcome}", "bullet_query_engine_latency_seconds", "", asSaid, one,
		"hook", always},
	{"bullet_query_created_latency_seconds", "{outcome}", "bullet_query_created_latency_seconds", "", asSaid, one,
		"hook", always},
	{"bullet_query_first_result_latency_seconds", "", "bullet_query_first_result_latency_seconds", "", asSaid, one,
		"hook", always},
	{"bullet_query_latency_seconds", "{class}", "bullet_query_latency_seconds", "", asSaid, one, "canary", always},
}

// sources of what Bullet and Storm report.
var stormSources = []source{
	// Bullet, by its version.
	{"bullet_active_queries", "", "bullet_active_queries", "", instant, one, "Bullet 0.4.0 on", always},
	{"bullet_active_rules", "", "bullet_active_queries", "", instant, one, "Bullet 0.3", always},
	{"bullet_created_queries", "", "bullet_created_queries_total", "", cumulative, one, "Bullet 0.4.0 on", always},
	{"bullet_created_rules", "", "bullet_created_queries_total", "", cumulative, one, "Bullet 0.3", always},
	{"bullet_improper_queries", "", "bullet_improper_queries_total", "", cumulative, one, "Bullet 0.4.0 on", always},
	{"bullet_improper_rules", "", "bullet_improper_queries_total", "", cumulative, one, "Bullet 0.3", always},
	{"bullet_rate_exceeded_queries", "", "bullet_rate_exceeded_queries_total", "", cumulative, one,
		"Bullet 0.8.0 on", always},
	{"bullet_duplicated_queries", "", "bullet_duplicated_queries_total", "", cumulative, one,
		"Bullet 0.8.4 on", always},
	{"bullet_batched_queries", "", "bullet_batched_queries", "", instant, one, "Bullet 1.0.0 on", always},
	{"bullet_active_replays", "", "bullet_active_replays", "", instant, one, "Bullet 1.0.0 on, QuerySpout", always},
	{"bullet_active_replays", "{target}", "bullet_active_replays", "", instant, one, "Bullet 1.0.0 on, ReplayBolt",
		always},
	{"bullet_created_replays", "", "bullet_created_replays_total", "", cumulative, one, "Bullet 1.0.0 on", always},
	{"bullet_created_replays", "{target}", "bullet_created_replays_total", "", cumulative, one,
		"Bullet 1.0.0 on, ReplayBolt", always},
	{"bullet_filter_latency", "", "bullet_filter_latency_mean_seconds", "", instant, ms, "Bullet 0.4.3 on", always},
	{"bullet_query_result_completeness_ratio", "{class}", "bullet_query_result_completeness_ratio", "", instant, one,
		"canary", always},
	{"bullet_query_outcomes", "{class}/{outcome}", "bullet_query_outcomes_total", "", cumulative, one,
		"canary", always},
	{"bullet-metrics.latency-hook", "{reason}", "bullet_latency_hook_left_out_total", "", cumulative, one,
		"our latency hook", always},
	{"bullet-metrics.execute", "ms", "bullet_execute_seconds_total", "", cumulative, ms, "our latency hook", always},
	{"bullet-metrics.execute", "samples", "bullet_execute_samples_total", "", cumulative, one, "our latency hook", always},
	{"bullet_source_records", "", "bullet_source_records_total", "", cumulative, one, "our record sources", always},
	{"bullet_source_bytes", "", "bullet_source_bytes_total", "", cumulative, one, "our record sources", always},
	{"bullet_source_lag", "", "bullet_source_lag_records", "", instant, one, "our record sources", always},
	{"kafkaOffset.{topic}/partition_{partition}/spoutLag", "", "bullet_source_partition_lag_records", "", instant, one,
		"storm-kafka-client 2.6 on", always},
	{"kafkaOffset", `{topic}\/partition_{partition}\/spoutLag`, "bullet_source_partition_lag_records", "", instant, one,
		"storm-kafka-client 1.2 to 2.5", always},
	{"bullet_source_left_out", "{reason}", "bullet_source_left_out_records_total", "", cumulative, one,
		"our record sources", always},
	{"bullet_source_repeated", "", "bullet_source_repeated_records_total", "", cumulative, one,
		"our record sources", always},

	// Tuples: a cumulative number a stream from 2.3, a map of what was added by stream before.
	{"__emit-count-{stream}", "", "storm_emitted_total", "", cumulative, one, "2.3 on", always},
	{"__emit-count", "{stream}", "storm_emitted_total", "", delta, one, "1.0 to 2.2", untilStorm22},
	{"__transfer-count-{stream}", "", "storm_transferred_total", "", cumulative, one, "2.3 on", always},
	{"__transfer-count", "{stream}", "storm_transferred_total", "", delta, one, "1.0 to 2.2", untilStorm22},
	{"__ack-count-{source}:{stream}", "", "storm_acked_total", "", cumulative, one, "2.3 on, bolts", always},
	{"__ack-count-{stream}", "", "storm_acked_total", "", cumulative, one, "2.3 on, spouts", always},
	{"__ack-count", "{source}:{stream}", "storm_acked_total", "", delta, one, "1.0 to 2.2, bolts", untilStorm22},
	{"__ack-count", "{stream}", "storm_acked_total", "", delta, one, "1.0 to 2.2, spouts", untilStorm22},
	{"__fail-count-{source}:{stream}", "", "storm_failed_total", "", cumulative, one, "2.3 on, bolts", always},
	{"__fail-count-{stream}", "", "storm_failed_total", "", cumulative, one, "2.3 on, spouts", always},
	{"__fail-count", "{source}:{stream}", "storm_failed_total", "", delta, one, "1.0 to 2.2, bolts", untilStorm22},
	{"__fail-count", "{stream}", "storm_failed_total", "", delta, one, "1.0 to 2.2, spouts", untilStorm22},
	{"__execute-count-{source}:{stream}", "", "storm_executed_total", "", cumulative, one, "2.3 on", always},
	{"__execute-count", "{source}:{stream}", "storm_executed_total", "", delta, one, "1.0 to 2.2", untilStorm22},
	{"__execute-latency-{source}:{stream}", "", "storm_execute_latency_seconds", "", instant, ms,
		"2.3 on, over the last 3 samples", always},
	{"__execute-latency", "{source}:{stream}", "storm_execute_latency_seconds", "", instant, ms,
		"1.0 to 2.2, over the interval", always},
	{"__process-latency-{source}:{stream}", "", "storm_process_latency_seconds", "", instant, ms,
		"2.3 on, over the last 3 samples", always},
	{"__process-latency", "{source}:{stream}", "storm_process_latency_seconds", "", instant, ms,
		"1.0 to 2.2, over the interval", always},
	{"__complete-latency-{stream}", "", "storm_complete_latency_seconds", "", instant, ms,
		"2.3 on, over the last 3 samples", always},
	{"__complete-latency", "{stream}", "storm_complete_latency_seconds", "", instant, ms,
		"1.0 to 2.2, over the interval", always},
	{"__capacity", "", "storm_capacity_ratio", "", instant, one, "2.3 on", always},
	{"__skipped-max-spout-ms", "", "storm_skipped_seconds_total", "reason=max_spout_pending", byRelease, ms,
		"2.0 on", always},
	{"__skipped-inactive-ms", "", "storm_skipped_seconds_total", "reason=inactive", byRelease, ms, "2.0 on", always},
	{"__skipped-backpressure-ms", "", "storm_skipped_seconds_total", "reason=backpressure", byRelease, ms,
		"2.0 on", always},
	{"__skipped-max-spout", "", "storm_skipped_calls_total", "reason=max_spout_pending", delta, one, "1.x", always},
	{"__skipped-inactive", "", "storm_skipped_calls_total", "reason=inactive", delta, one, "1.x", always},
	{"__skipped-throttle", "", "storm_skipped_calls_total", "reason=backpressure", delta, one, "1.x", always},
	{"__reported-error-count", "", "storm_reported_errors_total", "", byRelease, one, "2.0 on", always},
	{"__backpressure-last-overflow-count", "", "storm_backpressure_last_overflow_count", "", instant, one,
		"2.3 on", always},

	// Queues.
	{"receive-queue-population", "", "storm_receive_queue_population", "", instant, one, "2.3 on", always},
	{"receive-queue-capacity", "", "storm_receive_queue_capacity", "", instant, one, "2.3 on", always},
	{"receive-queue-pct_full", "", "storm_receive_queue_full_ratio", "", instant, one, "2.3 on", always},
	{"receive-queue-overflow", "", "storm_receive_queue_overflow_population", "", instant, one, "2.3 on", always},
	{"receive-queue-sojourn_time_ms", "", "storm_receive_queue_sojourn_seconds", "", instant, ms, "2.3 on", always},
	{"receive-queue-arrival_rate_secs", "", "storm_receive_queue_arrivals_per_second", "", instant, one,
		"2.3 on", always},
	{"receive-queue-insert_failures", "", "storm_receive_queue_insert_failures_per_second", "", instant, one,
		"2.3 on", always},
	{"receive-queue-dropped_messages", "", "storm_receive_queue_dropped_messages_total", "", cumulative, one,
		"2.3 on", always},
	{"__receive", "population", "storm_receive_queue_population", "", instant, one, "1.0 to 2.2", untilStorm22},
	{"__receive", "capacity", "storm_receive_queue_capacity", "", instant, one, "1.0 to 2.2", untilStorm22},
	{"__receive", "pct_full", "storm_receive_queue_full_ratio", "", instant, one, "2.0 to 2.2", untilStorm22},
	{"__receive", "overflow", "storm_receive_queue_overflow_population", "", instant, one, "1.0 to 2.2", untilStorm22},
	{"__receive", "sojourn_time_ms", "storm_receive_queue_sojourn_seconds", "", instant, ms, "1.0 to 2.2",
		untilStorm22},
	{"__receive", "arrival_rate_secs", "storm_receive_queue_arrivals_per_second", "", instant, one, "1.0 to 2.2",
		untilStorm22},
	{"__receive", "insert_failures", "storm_receive_queue_insert_failures_per_second", "", instant, one, "2.0 to 2.2",
		untilStorm22},
	{"__receive", "dropped_messages", "storm_receive_queue_dropped_messages_total", "", cumulative, one, "2.0 to 2.2",
		untilStorm22},
	{"__sendqueue", "population", "storm_send_queue_population", "", instant, one, "1.x", untilStorm22},
	{"__sendqueue", "capacity", "storm_send_queue_capacity", "", instant, one, "1.x", untilStorm22},
	{"__sendqueue", "overflow", "storm_send_queue_overflow_population", "", instant, one, "1.x", untilStorm22},
	{"__sendqueue", "sojourn_time_ms", "storm_send_queue_sojourn_seconds", "", instant, ms, "1.x", untilStorm22},
	{"__sendqueue", "arrival_rate_secs", "storm_send_queue_arrivals_per_second", "", instant, one, "1.x", untilStorm22},
	{"worker-transfer-queue-population", "", "storm_transfer_queue_population", "", instant, one, "2.2 on", always},
	{"worker-transfer-queue-capacity", "", "storm_transfer_queue_capacity", "", instant, one, "2.2 on", always},
	{"worker-transfer-queue-pct_full", "", "storm_transfer_queue_full_ratio", "", instant, one, "2.3 on", always},
	{"worker-transfer-queue-overflow", "", "storm_transfer_queue_overflow_population", "", instant, one,
		"2.3 on", always},
	{"worker-transfer-queue-sojourn_time_ms", "", "storm_transfer_queue_sojourn_seconds", "", instant, ms,
		"2.3 on", always},
	{"worker-transfer-queue-arrival_rate_secs", "", "storm_transfer_queue_arrivals_per_second", "", instant, one,
		"2.3 on", always},
	{"worker-transfer-queue-insert_failures", "", "storm_transfer_queue_insert_failures_per_second", "", instant, one,
		"2.3 on", always},
	{"worker-transfer-queue-dropped_messages", "", "storm_transfer_queue_dropped_messages_total", "", cumulative, one,
		"2.3 on", always},
	{"__transfer", "population", "storm_transfer_queue_population", "", instant, one, "1.0 to 2.2", untilStorm22},
	{"__transfer", "capacity", "storm_transfer_queue_capacity", "", instant, one, "1.0 to 2.2", untilStorm22},
	{"__transfer", "pct_full", "storm_transfer_queue_full_ratio", "", instant, one, "2.0 to 2.2", untilStorm22},
	{"__transfer", "overflow", "storm_transfer_queue_overflow_population", "", instant, one, "1.0 to 2.2",
		untilStorm22},
	{"__transfer", "sojourn_time_ms", "storm_transfer_queue_sojourn_seconds", "", instant, ms, "1.0 to 2.2",
		untilStorm22},
	{"__transfer", "arrival_rate_secs", "storm_transfer_queue_arrivals_per_second", "", instant, one, "1.0 to 2.2",
		untilStorm22},
	{"__transfer", "insert_failures", "storm_transfer_queue_insert_failures_per_second", "", instant, one, "2.0 to 2.2",
		untilStorm22},
	{"__transfer", "dropped_messages", "storm_transfer_queue_dropped_messages_total", "", cumulative, one, "2.0 to 2.2",
		untilStorm22},

	// Connections between workers.
	{"__recv-iconnection", "enqueued/{peer}", "storm_connection_enqueued_messages_total", "", delta, one,
		"1.0 on", always},
	{"__recv-iconnection", "dequeuedMessages", "storm_connection_dequeued_messages_total", "", delta, one,
		"1.0 on", always},
	{"__send-iconnection", "{peer}/sent", "storm_connection_sent_messages_total", "", delta, one, "1.0 to 2.2", always},
	{"__send-iconnection", "{peer}/lostOnSend", "storm_connection_lost_messages_total", "", delta, one,
		"1.0 to 2.2", always},
	{"__send-iconnection", "{peer}/reconnects", "storm_connection_reconnects_total", "", delta, one,
		"1.0 to 2.2", always},
	{"__send-iconnection", "{peer}/pending", "storm_connection_pending_messages", "", instant, one,
		"1.0 to 2.2", always},
	{"__send-iconnection-sent-{peer}", "", "storm_connection_sent_messages_total", "", cumulative, one,
		"2.3 on", always},
	{"__send-iconnection-lostOnSend-{peer}", "", "storm_connection_lost_messages_total", "", cumulative, one,
		"2.3 on", always},
	{"__send-iconnection-reconnects-{peer}", "", "storm_connection_reconnects_total", "", cumulative, one,
		"2.3 on", always},
	{"__send-iconnection-pending-{peer}", "", "storm_connection_pending_messages", "", instant, one, "2.3 on", always},

	// CPU, heap, collections and start time: the sampler's, where it reports. Sigar's first CPU is since the process
	// started.
	{"CPU", "user-ms", "bullet_worker_cpu_seconds_total", "mode=user", delta, ms, "storm-metrics' CPUMetric on any",
		unlessSampler},
	{"CPU", "sys-ms", "bullet_worker_cpu_seconds_total", "mode=system", delta, ms, "storm-metrics' CPUMetric on any",
		unlessSampler},
	{"memory.heap.used", "", "bullet_worker_heap_used_bytes", "", instant, one, "2.2 on", unlessSampler},
	{"memory.heap.committed", "", "bullet_worker_heap_committed_bytes", "", instant, one, "2.2 on", unlessSampler},
	{"memory.heap.max", "", "bullet_worker_heap_limit_bytes", "", instant, one, "2.2 on", unlessSampler},
	{"memory/heap", "usedBytes", "bullet_worker_heap_used_bytes", "", instant, one, "1.0 to 2.1", unlessSampler},
	{"memory/heap", "committedBytes", "bullet_worker_heap_committed_bytes", "", instant, one, "1.0 to 2.1",
		unlessSampler},
	{"memory/heap", "maxBytes", "bullet_worker_heap_limit_bytes", "", instant, one, "1.0 to 2.1", unlessSampler},
	{"GC.{cycles}.time", "", "bullet_worker_gc_concurrent_seconds_total", "", cumulative, ms, "2.2 on", unlessSampler},
	{"GC.{cycles}.count", "", "bullet_worker_gc_concurrent_cycles_total", "", cumulative, one, "2.2 on", unlessSampler},
	{"GC/{cycles}", "timeMs", "bullet_worker_gc_concurrent_seconds_total", "", delta, ms, "1.0 to 2.1", unlessSampler},
	{"GC/{cycles}", "count", "bullet_worker_gc_concurrent_cycles_total", "", delta, one, "1.0 to 2.1", unlessSampler},
	{"GC.{collector}.time", "", "bullet_worker_gc_seconds_total", "", cumulative, ms, "2.2 on", unlessSampler},
	{"GC.{collector}.count", "", "bullet_worker_gc_collections_total", "", cumulative, one, "2.2 on", unlessSampler},
	{"GC/{collector}", "timeMs", "bullet_worker_gc_seconds_total", "", delta, ms, "1.0 to 2.1", unlessSampler},
	{"GC/{collector}", "count", "bullet_worker_gc_collections_total", "", delta, one, "1.0 to 2.1", unlessSampler},
	{"startTimeSecs", "", "bullet_worker_start_time_seconds", "", instant, one, "1.0 on", unlessSampler},

	// The rest of the JVM.
	{"memory.heap.init", "", "storm_memory_init_bytes", "area=heap", instant, one, "2.2 on", always},
	{"memory.heap.usage", "", "storm_memory_usage_ratio", "area=heap", instant, one, "2.2 on", always},
	{"memory.pools.{pool}.used", "", "storm_memory_pool_used_bytes", "", instant, one, "2.2 on", always},
	{"memory.pools.{pool}.used-after-gc", "", "storm_memory_pool_used_after_gc_bytes", "", instant, one,
		"2.2 on", always},
	{"memory.pools.{pool}.committed", "", "storm_memory_pool_committed_bytes", "", instant, one, "2.2 on", always},
	{"memory.pools.{pool}.max", "", "storm_memory_pool_limit_bytes", "", instant, one, "2.2 on", always},
	{"memory.pools.{pool}.init", "", "storm_memory_pool_init_bytes", "", instant, one, "2.2 on", always},
	{"memory.pools.{pool}.usage", "", "storm_memory_pool_usage_ratio", "", instant, one, "2.2 on", always},
	{"memory.{area}.used", "", "storm_memory_used_bytes", "", instant, one, "2.2 on", always},
	{"memory.{area}.committed", "", "storm_memory_committed_bytes", "", instant, one, "2.2 on", always},
	{"memory.{area}.max", "", "storm_memory_limit_bytes", "", instant, one, "2.2 on", always},
	{"memory.{area}.init", "", "storm_memory_init_bytes", "", instant, one, "2.2 on", always},
	{"memory.{area}.usage", "", "storm_memory_usage_ratio", "", instant, one, "2.2 on", always},
	{"memory/heap", "initBytes", "storm_memory_init_bytes", "area=heap", instant, one, "1.0 to 2.1", always},
	{"memory/heap", "unusedBytes", "storm_memory_unused_bytes", "area=heap", instant, one, "1.0 to 2.1", always},
	{"memory/heap", "virtualFreeBytes", "storm_memory_free_bytes", "area=heap", instant, one, "1.0 to 2.1", always},
	{"memory/nonHeap", "usedBytes", "storm_memory_used_bytes", "area=non-heap", instant, one, "1.0 to 2.1", always},
	{"memory/nonHeap", "committedBytes", "storm_memory_committed_bytes", "area=non-heap", instant, one,
		"1.0 to 2.1", always},
	{"memory/nonHeap", "maxBytes", "storm_memory_limit_bytes", "area=non-heap", instant, one, "1.0 to 2.1", always},
	{"memory/nonHeap", "initBytes", "storm_memory_init_bytes", "area=non-heap", instant, one, "1.0 to 2.1", always},
	{"memory/nonHeap", "unusedBytes", "storm_memory_unused_bytes", "area=non-heap", instant, one, "1.0 to 2.1", always},
	{"memory/nonHeap", "virtualFreeBytes", "storm_memory_free_bytes", "area=non-heap", instant, one,
		"1.0 to 2.1", always},
	{"threads.count", "", "storm_worker_threads", "", instant, one, "2.2 on", always},
	{"threadCount", "", "storm_worker_threads", "", instant, one, "2.0 and 2.1", always},
	{"threads.daemon.count", "", "storm_worker_daemon_threads", "", instant, one, "2.2 on", always},
	{"threads.peak.count", "", "storm_worker_peak_threads", "", instant, one, "2.6.3 on", always},
	{"threads.deadlock.count", "", "storm_worker_deadlocked_threads", "", instant, one, "2.2 on", always},
	{"threads.total_started.count", "", "storm_worker_started_threads_total", "", cumulative, one, "2.6.3 on", always},
	{"threads.{state}.count", "", "storm_worker_threads_in_state", "", instant, one, "2.2 on", always},
	{"uptimeSecs", "", "storm_worker_uptime_seconds", "", instant, one, "1.0 on", always},
	{"newWorkerEvent", "", "storm_new_worker_event", "", instant, one, "1.0 on", always},
	{"workerCpuUsage", "", "storm_worker_cpu_usage_cores", "", instant, one, "2.6.3 on", always},
	{"TGT-TimeToExpiryMsecs", "", "storm_kerberos_ticket_remaining_seconds", "", instant, ms,
		"1.0 on, with AutoTGT", always},
	{"doHeartbeat-calls.count", "", "storm_heartbeat_calls_total", "", cumulative, one, "2.3 on", always},

	// The cgroup.
	{"CGroupCpu.user-ms", "", "storm_cgroup_cpu_seconds_total", "mode=user", cumulative, ms, "2.3 on", always},
	{"CGroupCpu.sys-ms", "", "storm_cgroup_cpu_seconds_total", "mode=system", cumulative, ms, "2.3 on", always},
	{"CGroupCpu", "user-ms", "storm_cgroup_cpu_seconds_total", "mode=user", delta, ms, "1.1 to 2.2", always},
	{"CGroupCpu", "sys-ms", "storm_cgroup_cpu_seconds_total", "mode=system", delta, ms, "1.1 to 2.2", always},
	{"CGroupCpuGuarantee", "", "storm_cgroup_cpu_guarantee", "", instant, one, "1.1 on", always},
	{"CGroupCpuGuaranteeByCfsQuota", "", "storm_cgroup_cpu_quota_percent", "", instant, one, "2.3 on", always},
	{"CGroupCpuStat.nr.period-count", "", "storm_cgroup_cpu_periods", "", instant, one, "2.3 on", always},
	{"CGroupCpuStat.nr.throttled-count", "", "storm_cgroup_cpu_throttled_periods", "", instant, one, "2.3 on", always},
	{"CGroupCpuStat.nr.throttled-percentage", "", "storm_cgroup_cpu_throttled_percent", "", instant, one,
		"2.3 on", always},
	{"CGroupCpuStat.throttled.time-ms", "", "storm_cgroup_cpu_throttled_seconds", "", instant, ms, "2.3 on", always},
	{"CGroupMemoryUsage", "", "storm_cgroup_memory_used_bytes", "", instant, one, "2.3 on", always},
	{"CGroupMemory", "", "storm_cgroup_memory_used_bytes", "", instant, one, "1.1 to 2.2", always},
	{"CGroupMemoryLimit", "", "storm_cgroup_memory_limit_bytes", "", instant, one, "1.1 on", always},
}

// leaving is a row of what is left out beside what states the same, better, or from which it follows.
type leaving struct {
	name, key string
	// beside is the name of what makes it redundant, where that is stored: Storm's name or ours, of the same task, or
	// of the same worker where Storm's own component says both. Alone, it is stored under its own name.
	beside   string
	reason   string
	versions string // of Storm, in which it comes
	why      string
	system   bool // it comes from Storm's own component
}

var leftOutSources = []leaving{
	// a meter or timer of anybody's (com.codahale.metrics), from 2.2 on
	{"{name}.m1_rate", "", "{name}.count", ReasonDerived, "2.2 on", "a rate of a count that is stored", false},
	{"{name}.m5_rate", "", "{name}.count", ReasonDerived, "2.2 on", "a rate of a count that is stored", false},
	{"{name}.m15_rate", "", "{name}.count", ReasonDerived, "2.2 on", "a rate of a count that is stored", false},
	{"{name}.mean_rate", "", "{name}.count", ReasonDerived, "2.2 on", "a rate of a count that is stored", false},
	// a counter of Storm's own (org.apache.storm.metrics2.RateCounter)
	{"{name}.m1_rate", "", "{name}", ReasonDerived, "2.3 on", "a rate of one of Storm's counters that is stored", false},
	{"acked", "", "__ack-count", ReasonRepeat, "2.2", "without its streams, which overwrite each other", false},
	{"emitted", "", "__emit-count", ReasonRepeat, "2.2", "without its streams", false},
	{"transferred", "", "__transfer-count", ReasonRepeat, "2.2", "without its streams", false},
	{"failed", "", "__fail-count", ReasonRepeat, "2.2", "without its streams", false},
	{"receive-queue[{executor}]-population", "", "__receive", ReasonRepeat, "2.2", "there it is by task", true},
	{"receive-queue[{executor}]-capacity", "", "__receive", ReasonRepeat, "2.2", "there it is by task", true},
	{"__receive", "tuple_population", "__receive", ReasonRepeat, "1.x", "the same as `population`, overflow included", false},
	{"__receive", "read_pos", "__receive", ReasonDerived, "1.x", "a position in a ring", false},
	{"__receive", "write_pos", "__receive", ReasonDerived, "1.x", "a position in a ring", false},
	{"__sendqueue", "tuple_population", "__sendqueue", ReasonRepeat, "1.x",
		"the same as `population`, overflow included", false},
	{"__sendqueue", "read_pos", "__sendqueue", ReasonDerived, "1.x", "a position in a ring", false},
	{"__sendqueue", "write_pos", "__sendqueue", ReasonDerived, "1.x", "a position in a ring", false},
	{"__transfer", "tuple_population", "__transfer", ReasonRepeat, "1.x",
		"the same as `population`, overflow included", true},
	{"__transfer", "read_pos", "__transfer", ReasonDerived, "1.x", "a position in a ring", true},
	{"__transfer", "write_pos", "__transfer", ReasonDerived, "1.x", "a position in a ring", true},
	{"memory.total.max", "", "bullet_worker_heap_limit_bytes", ReasonDerived, "2.2 on",
		"the sum of the limits of heap and non-heap memory; where the latter has none, which is -1, it is the heap's less one byte", true},
}
