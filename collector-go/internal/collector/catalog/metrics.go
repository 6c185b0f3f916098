package catalog

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"

// scope names whose figure a metric is, and so which labels it has beside its own.
type scope uint8

const (
	ofTopology scope = iota + 1 // topology
	ofWorker                    // topology, worker
	ofHost                      // topology, worker, host: what a worker has of its host, as the others there do
	ofTask                      // topology, worker, component, task
)

// labels of a scope, in the order in which METRICS.md lists them.
func (s scope) labels() []string {
	return map[scope][]string{
		ofTopology: {"topology"},
		ofWorker:   {"topology", "worker"},
		ofHost:     {"topology", "worker", "host"},
		ofTask:     {"topology", "worker", "component", "task"},
	}[s]
}

// canonical is a metric that users meet. Its unit is the end of its name.
type canonical struct {
	name   string
	kind   metric.Kind
	scope  scope
	labels string // its own labels, separated by spaces
	flags  flags
	help   string // one sentence, without a full stop at its end
}

// flags are what holds of a metric beside its name, kind and labels.
type flags uint8

const (
	plain flags = 0
	// intermittent: it is absent where there is nothing to report, or its labels come and go, so that a sample that
	// is not there is not missing. Bullet's mean latency is none without records; a replay has a target, a connection
	// a peer, for as long as it lasts; a client of the canary queries when it queries; Storm reports a ticket, a
	// first report and back-pressure when there is one.
	intermittent flags = 1 << (iota - 1)
	// sampled: Storm counts or times it on a sample of the tuples (topology.stats.sample.rate, 0.05 unless set),
	// scaled up: org.apache.storm.stats and, from 2.3, org.apache.storm.metrics2.TaskMetrics.
	sampled
	// signed: it may be below zero, as a mean latency between two hosts, whose clocks differ, a ticket's age, or the
	// lag of a partition that was made again.
	signed
	// limit: a gauge below zero, or of more memory than there is, states that there is no limit. A JVM and a cgroup say
	// -1 where they have none, and what Storm computes from a limit of -1 is below zero too. A counter of -1 is
	// undefined: so a JVM says that it does not count a collector's runs.
	limit
	// single: a slice of this gauge has one value, so no least and greatest sample.
	single
	// start: it is when a process started; restarts are counted from it.
	start
	// byPlugin and bySlicer say who makes it, where no source names it.
	byPlugin
	bySlicer
)

func (c *canonical) is(f flags) bool { return c.flags&f != 0 }

// ofCollection: it is not of what a topology sends, but of how it comes.
const ofCollection = intermittent | single | bySlicer

const (
	gauge        = metric.KindGauge
	counter      = metric.KindCounter
	distribution = metric.KindDistribution
)

// metrics are all metrics that have a name of ours, in the order of METRICS.md. sources.go states where each comes
// from.
var metrics = []canonical{
	// What runs.
	{"bullet_topology_info", gauge, ofTopology, "topology_id storm_version bullet_version java_version plugin_version",
		single | byPlugin, "1; the labels say which run of which software the topology is"},
	{"bullet_worker_info", gauge, ofWorker, "host pid", single | byPlugin,
		"1; the labels say which process the worker is"},
	{"bullet_worker_start_time_seconds", gauge, ofWorker, "", single | start,
		"When the worker's process started, since the Unix epoch; the last value of a slice"},
	{"bullet_worker_restarts_total", counter, ofWorker, "", bySlicer,
		"Times that the worker's process was seen started again, from 0"},

	// The worker's process.
	{"bullet_worker_cpu_seconds_total", counter, ofWorker, "mode", plain,
		"CPU time of the worker's process, all its threads included; mode is user or system, or total where they cannot be kept apart"},
	{"bullet_worker_heap_used_bytes", gauge, ofWorker, "", plain, "Heap in use"},
	{"bullet_worker_heap_committed_bytes", gauge, ofWorker, "", plain,
		"Heap that the JVM has from the operating system"},
	{"bullet_worker_heap_limit_bytes", gauge, ofWorker, "", limit, "Most heap that the JVM may use"},
	{"bullet_worker_gc_seconds_total", counter, ofWorker, "collector", limit,
		"Time that garbage collection paused the worker, as the JVM's collector reports it; concurrent cycles are in bullet_worker_gc_concurrent_seconds_total. A collector of an unknown name counts here"},
	{"bullet_worker_gc_collections_total", counter, ofWorker, "collector", limit,
		"Collections that paused the worker; each pause is one where the collector's name ends in Pauses"},
	{"bullet_worker_gc_concurrent_seconds_total", counter, ofWorker, "collector", limit,
		"Time from the begin to the end of the collector's concurrent cycles, in which the worker goes on: collectors whose names end in Cycles (ZGC, Shenandoah), and GPGC without Pauses (Zing)"},
	{"bullet_worker_gc_concurrent_cycles_total", counter, ofWorker, "collector", limit,
		"Concurrent cycles of the collector"},
	{"bullet_host_cpu_seconds_total", counter, ofHost, "mode", plain,
		"CPU time of the worker's machine, everything on it included, each ten seconds; mode is user (niced too), system (interrupts too), iowait, steal (taken by the hypervisor) or idle. Every worker of a host has it: max by (host, mode) counts a host once"},
	{"bullet_host_cpu_cores", gauge, ofHost, "", plain, "CPUs of the worker's machine; every worker of a host has it"},

	// Bullet.
	{"bullet_active_queries", gauge, ofTask, "", plain,
		"Queries running in the task; a topology's figure is the sum over JoinBolt's tasks"},
	{"bullet_created_queries_total", counter, ofTask, "", plain, "Queries created"},
	{"bullet_improper_queries_total", counter, ofTask, "", plain, "Queries that could not be made to run"},
	{"bullet_rate_exceeded_queries_total", counter, ofTask, "", plain, "Queries killed for exceeding their rate limit"},
	{"bullet_duplicated_queries_total", counter, ofTask, "", plain,
		"Queries that came while one of the same id was running"},
	{"bullet_batched_queries", gauge, ofTask, "", plain, "Queries held for replaying"},
	{"bullet_active_replays", gauge, ofTask, "target", intermittent,
		"Replays under way; target is the task replayed to, as \"component-task\", where ReplayBolt reports"},
	{"bullet_created_replays_total", counter, ofTask, "target", intermittent, "Replays begun"},
	{"bullet_filter_latency_mean_seconds", gauge, ofTask, "", intermittent | signed,
		"Bullet's own mean over its interval of the time from a record's timestamp to its being filtered"},
	{"bullet_filter_latency_seconds", distribution, ofTask, "", intermittent,
		"Time from a record's timestamp to its being filtered"},
	{"bullet_query_engine_latency_seconds", distribution, ofTask, "outcome", intermittent,
		"Time from a query's being seen to its result's being sent"},
	{"bullet_query_created_latency_seconds", distribution, ofTask, "outcome", plain,
		"Time from a query's creation, by the clock of the web service or of Storm's DRPC, to its result's being sent"},
	{"bullet_query_first_result_latency_seconds", distribution, ofTask, "", intermittent,
		"Time from a query's being seen to the first that is sent for it, a window or its result"},
	{"bullet_latency_hook_left_out_total", counter, ofTask, "reason", intermittent,
		"What the latency hook could not measure; reason is unseen (a query that ended and had not been seen to arrive, as after a restart), evicted (more queries at a time than it follows) or failed (1 once it has switched itself off in the task)"},
	{"bullet_execute_seconds_total", counter, ofTask, "", sampled,
		"Time that a bolt's task spent executing tuples, estimated by the latency hook: each tuple that Storm timed, in whole milliseconds, stands for all that were executed since the last one"},
	{"bullet_execute_samples_total", counter, ofTask, "", plain,
		"Executed tuples that Storm timed, on which bullet_execute_seconds_total rests"},
	{"bullet_query_latency_seconds", distribution, ofTask, "class", intermittent,
		"Time from when a query was meant to start to its result, as a client sees it"},
	{"bullet_query_result_completeness_ratio", gauge, ofTask, "class", intermittent,
		"Records in a query's result over those that were generated to match"},
	{"bullet_query_outcomes_total", counter, ofTask, "class outcome", intermittent,
		"Queries of a client of ours that ended; outcome is returned, failed, timed_out, or missed (due while as many were under way as may be)"},
	{"bullet_source_records_total", counter, ofTask, "", plain, "Records read from the data source"},
	{"bullet_source_bytes_total", counter, ofTask, "", plain, "Bytes read from the data source"},
	{"bullet_source_lag_records", gauge, ofTask, "", plain,
		"Records that the data source holds and that were not read yet"},
	{"bullet_source_partition_lag_records", gauge, ofTask, "topic partition", intermittent | signed,
		"Records of a Kafka partition that Storm's KafkaSpout has not committed; the task is the one that reads it. Below zero where the partition ends before what was committed, as after it was made again"},
	{"bullet_source_left_out_records_total", counter, ofTask, "reason", intermittent,
		"Records read, or due, that did not enter the topology; reason is sampling, conversion, empty or late"},
	{"bullet_source_repeated_records_total", counter, ofTask, "", plain,
		"Records read that the same task had read before"},

	// Storm: tuples.
	{"storm_emitted_total", counter, ofTask, "stream", sampled, "Tuples emitted"},
	{"storm_transferred_total", counter, ofTask, "stream", sampled, "Tuples sent to other tasks"},
	{"storm_acked_total", counter, ofTask, "source stream", sampled, "Tuples acknowledged; a spout has no source"},
	{"storm_failed_total", counter, ofTask, "source stream", sampled, "Tuples failed; a spout has no source"},
	{"storm_executed_total", counter, ofTask, "source stream", sampled, "Tuples executed"},
	{"storm_execute_latency_seconds", gauge, ofTask, "source stream", sampled, "Storm's mean time in execute()"},
	{"storm_process_latency_seconds", gauge, ofTask, "source stream", sampled,
		"Storm's mean time from a tuple's arrival to its acknowledgement"},
	{"storm_complete_latency_seconds", gauge, ofTask, "stream", sampled,
		"Storm's mean time from a tuple's emission to the acknowledgement of its whole tree"},
	{"storm_capacity_ratio", gauge, ofTask, "", sampled,
		"Share of its time that a bolt spends executing; 1 is saturated"},
	{"storm_skipped_seconds_total", counter, ofTask, "reason", plain,
		"Time for which a spout was not asked for tuples; reason is max_spout_pending, inactive or backpressure"},
	{"storm_skipped_calls_total", counter, ofTask, "reason", plain,
		"Times that a spout was not asked for tuples (Storm 1.x counts calls, not time)"},
	{"storm_reported_errors_total", counter, ofTask, "", plain, "Errors that the component reported"},
	{"storm_backpressure_last_overflow_count", gauge, ofTask, "", intermittent,
		"Overflow of the receive queue when back-pressure was last noticed"},

	// Storm: queues.
	{"storm_receive_queue_population", gauge, ofTask, "", plain, "Tuples waiting in the executor's receive queue"},
	{"storm_receive_queue_capacity", gauge, ofTask, "", plain, "Tuples that the receive queue holds"},
	{"storm_receive_queue_full_ratio", gauge, ofTask, "", plain, "Population of the receive queue over its capacity"},
	{"storm_receive_queue_overflow_population", gauge, ofTask, "", plain, "Tuples waiting behind a full receive queue"},
	{"storm_receive_queue_sojourn_seconds", gauge, ofTask, "", plain,
		"Time that a tuple spends in the receive queue, from population and arrival rate"},
	{"storm_receive_queue_arrivals_per_second", gauge, ofTask, "", plain, "Tuples arriving at the receive queue"},
	{"storm_receive_queue_insert_failures_per_second", gauge, ofTask, "", plain,
		"Failed attempts to insert into the receive queue"},
	{"storm_receive_queue_dropped_messages_total", counter, ofTask, "", plain,
		"Messages dropped since the overflow was full"},
	{"storm_send_queue_population", gauge, ofTask, "", plain,
		"Tuples waiting in the executor's send queue (Storm 1.x)"},
	{"storm_send_queue_capacity", gauge, ofTask, "", plain, "Tuples that the send queue holds"},
	{"storm_send_queue_overflow_population", gauge, ofTask, "", plain, "Tuples waiting behind a full send queue"},
	{"storm_send_queue_sojourn_seconds", gauge, ofTask, "", plain, "Time that a tuple spends in the send queue"},
	{"storm_send_queue_arrivals_per_second", gauge, ofTask, "", plain, "Tuples arriving at the send queue"},
	{"storm_transfer_queue_population", gauge, ofWorker, "", plain, "Messages waiting to be sent to other workers"},
	{"storm_transfer_queue_capacity", gauge, ofWorker, "", plain, "Messages that the transfer queue holds"},
	{"storm_transfer_queue_full_ratio", gauge, ofWorker, "", plain,
		"Population of the transfer queue over its capacity"},
	{"storm_transfer_queue_overflow_population", gauge, ofWorker, "", plain,
		"Messages waiting behind a full transfer queue"},
	{"storm_transfer_queue_sojourn_seconds", gauge, ofWorker, "", plain,
		"Time that a message spends in the transfer queue"},
	{"storm_transfer_queue_arrivals_per_second", gauge, ofWorker, "", plain, "Messages arriving at the transfer queue"},
	{"storm_transfer_queue_insert_failures_per_second", gauge, ofWorker, "", plain,
		"Failed attempts to insert into the transfer queue"},
	{"storm_transfer_queue_dropped_messages_total", counter, ofWorker, "", plain,
		"Messages dropped since the overflow was full"},

	// Storm: connections between workers.
	{"storm_connection_enqueued_messages_total", counter, ofWorker, "peer", intermittent,
		"Messages received from another worker"},
	{"storm_connection_dequeued_messages_total", counter, ofWorker, "", intermittent, "A relic of older Storm: 0"},
	{"storm_connection_sent_messages_total", counter, ofWorker, "peer", intermittent,
		"Messages sent to another worker"},
	{"storm_connection_lost_messages_total", counter, ofWorker, "peer", intermittent,
		"Messages lost while being sent to another worker"},
	{"storm_connection_reconnects_total", counter, ofWorker, "peer", intermittent,
		"Attempts to connect to another worker"},
	{"storm_connection_pending_messages", gauge, ofWorker, "peer", intermittent,
		"Messages not yet sent to another worker"},

	// Storm: the worker.
	{"storm_worker_uptime_seconds", gauge, ofWorker, "", plain, "Time since the worker started"},
	{"storm_new_worker_event", gauge, ofWorker, "", intermittent, "1 in a worker's first report"},
	{"storm_worker_cpu_usage_cores", gauge, ofWorker, "", plain,
		"CPU of the worker's live Java threads, so without its garbage collector; bullet_worker_cpu_seconds_total has all"},
	{"storm_heartbeat_calls_total", counter, ofWorker, "", plain, "Heartbeats that the worker sent"},
	{"storm_memory_used_bytes", gauge, ofWorker, "area", plain, "Memory in use; area is non-heap or total"},
	{"storm_memory_committed_bytes", gauge, ofWorker, "area", plain, "Memory committed"},
	{"storm_memory_limit_bytes", gauge, ofWorker, "area", limit, "Most memory that may be used"},
	{"storm_memory_init_bytes", gauge, ofWorker, "area", plain, "Memory at start; area is heap, non-heap or total"},
	{"storm_memory_usage_ratio", gauge, ofWorker, "area", limit,
		"Memory in use over the most that may be used, as Storm computes it"},
	{"storm_memory_unused_bytes", gauge, ofWorker, "area", plain, "Memory committed and not in use (Storm 1.x)"},
	{"storm_memory_free_bytes", gauge, ofWorker, "area", limit, "Limit less what is in use (Storm 1.x)"},
	{"storm_memory_pool_used_bytes", gauge, ofWorker, "pool", plain, "Memory in use in one of the JVM's pools"},
	{"storm_memory_pool_used_after_gc_bytes", gauge, ofWorker, "pool", intermittent,
		"Memory in use in the pool after its last collection"},
	{"storm_memory_pool_committed_bytes", gauge, ofWorker, "pool", plain, "Memory committed to the pool"},
	{"storm_memory_pool_limit_bytes", gauge, ofWorker, "pool", limit, "Most memory that the pool may use"},
	{"storm_memory_pool_init_bytes", gauge, ofWorker, "pool", plain, "Memory of the pool at start"},
	{"storm_memory_pool_usage_ratio", gauge, ofWorker, "pool", limit,
		"Memory in use over the most that the pool may use"},
	{"storm_worker_threads", gauge, ofWorker, "", plain, "Live threads"},
	{"storm_worker_daemon_threads", gauge, ofWorker, "", plain, "Live daemon threads"},
	{"storm_worker_peak_threads", gauge, ofWorker, "", plain, "Most threads that were alive at once"},
	{"storm_worker_deadlocked_threads", gauge, ofWorker, "", plain, "Threads in a deadlock"},
	{"storm_worker_threads_in_state", gauge, ofWorker, "state", plain, "Live threads by state"},
	{"storm_worker_started_threads_total", counter, ofWorker, "", plain, "Threads started"},

	{"storm_kerberos_ticket_remaining_seconds", gauge, ofTask, "", intermittent | signed,
		"Time until the worker's Kerberos ticket expires; below zero once it has"},

	// The cgroup that Storm sees: often the host's, so never taken for the worker's.
	{"storm_cgroup_cpu_seconds_total", counter, ofWorker, "mode", plain,
		"CPU time of the cgroup that Storm sees, which is the host's unless the worker has one of its own"},
	{"storm_cgroup_cpu_guarantee", gauge, ofWorker, "", plain, "CPU guaranteed to the cgroup, as Storm reports it"},
	{"storm_cgroup_cpu_quota_percent", gauge, ofWorker, "", limit, "CPU quota of the cgroup, in percent of a core; not there without a quota"},
	{"storm_cgroup_cpu_periods", gauge, ofWorker, "", plain, "Enforcement periods, as Storm reports them"},
	{"storm_cgroup_cpu_throttled_periods", gauge, ofWorker, "", plain, "Throttled periods, as Storm reports them"},
	{"storm_cgroup_cpu_throttled_percent", gauge, ofWorker, "", plain, "Share of periods that were throttled"},
	{"storm_cgroup_cpu_throttled_seconds", gauge, ofWorker, "", plain, "Time throttled, as Storm reports it"},
	{"storm_cgroup_memory_used_bytes", gauge, ofWorker, "", plain, "Memory of the cgroup that Storm sees"},
	{"storm_cgroup_memory_limit_bytes", gauge, ofWorker, "", limit, "Memory limit of the cgroup that Storm sees"},

	// How the samples come (slicer): of a worker every 30 s of its event time, of its metrics while something is
	// wrong.
	{CollectionInterval, gauge, ofTopology, "metric", ofCollection,
		"How often the sources say that they report the metric; where it changes, and each hour"},
	{CollectionSeen, gauge, ofWorker, "metric", ofCollection,
		"Longest time between two samples of one of the metric's series that came in 30 s, or in the last that had any, and the time since the newest one where the metric is silent; there as missing samples are"},
	{CollectionSamples, counter, ofWorker, "metric", ofCollection,
		"Samples of the metric that are in slices; there as missing samples are, and not while the metric is silent"},
	{CollectionMissing, counter, ofWorker, "metric", ofCollection,
		"Samples that should be in slices by the interval and are not, whatever became of them, late and dropped ones too; there while something is wrong with the metric (samples missing, late, refused, off their interval by more than half of it, or silent) and 5 minutes longer"},
	{CollectionLate, counter, ofWorker, "metric", ofCollection,
		"Samples that came when their slice was closed; there as missing samples are"},
	{CollectionRefused, counter, ofWorker, "metric reason", ofCollection,
		"Samples that the slicer could not use; reason is nonsense (a value that makes no sense, as a usage below 0), shape, collision, series_limit, open_limit, repeated_time (the worker's clock was set back, and had shown that time before) or duplicate (another producer, or another metric of that name, brought the same sample); there as missing samples are"},
	{CollectionWorkerSamples, counter, ofWorker, "", ofCollection,
		"Samples of all metrics of the worker that are in slices"},
	{CollectionWorkerMissing, counter, ofWorker, "", ofCollection,
		"Samples of all metrics of the worker that should be in slices and are not"},
	{CollectionWorkerLate, counter, ofWorker, "", ofCollection,
		"Samples of all metrics of the worker that came when their slice was closed"},
	{CollectionWorkerRefused, counter, ofWorker, "reason", ofCollection,
		"Samples of all metrics of the worker that the slicer could not use; there from the first one on"},
	{CollectionWorkerRatio, gauge, ofWorker, "", ofCollection,
		"The longest time between two samples of a series over its interval, of the worker's metric that was worst in the last 30 s: 1 where samples come as they should"},
	{CollectionDropped, counter, ofWorker, "reason", intermittent | byPlugin,
		"Samples, of any worker, that the plugin in this worker says it dropped before they reached the collector; reason is queue_full, expired, unsupported_value, series_limit, internal or closed"},
	{CollectionSkew, gauge, ofWorker, "", ofCollection,
		"How far the worker's clock is ahead of the collector's beyond doubt, by all that was sent and answered in the last minute or two: 0 where it may be right, below 0 where it is behind; for 7 minutes after it was set back, by how much, below 0"},
	{CollectionSkewLeast, gauge, ofWorker, "", ofCollection,
		"How far the worker's clock is ahead of the collector's at least: nothing arrives before it was sent. Below 0 it includes the way of the freshest of what came"},
	{CollectionSkewMost, gauge, ofWorker, "", ofCollection,
		"How far the worker's clock is ahead of the collector's at most, where a sender on its host has had answers: none comes before it was sent. Not there for hosts without a sender"},
}
