package catalog

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"

// scope is what one series of a metric describes. It decides which labels the series has in addition to the metric's
// own. A user who sums series of one scope therefore always sums values of the same kind.
type scope uint8

const (
	ofTopology scope = iota + 1 // labels: topology
	ofWorker                    // labels: topology, worker
	ofHost                      // labels: topology, worker, host; all workers of a host report the same value
	ofTask                      // labels: topology, worker, component, task
)

// labels returns the label names of a scope, in the order in which METRICS.md lists them.
func (s scope) labels() []string {
	return map[scope][]string{
		ofTopology: {"topology"},
		ofWorker:   {"topology", "worker"},
		ofHost:     {"topology", "worker", "host"},
		ofTask:     {"topology", "worker", "component", "task"},
	}[s]
}

// canonical is a metric as users see it, whatever its sender calls it. Dashboards, alerts and queries depend on these
// names, so a name never changes its meaning.
//
// The name ends with the unit (canonical.go has the list of units), and the name of a counter ends with _total. A row
// leaves out labels and flags if there are none.
type canonical struct {
	name   string
	kind   metric.Kind
	scope  scope
	labels string // its own labels, separated by spaces
	flags  flags
	help   string // one sentence, without a full stop at the end
}

// flags are properties of a metric that its name, kind and labels do not show. They decide which values are valid
// (signed, limit) and what the slicer derives (single, start). They also decide whether a sample that does not arrive
// counts as missing (intermittent).
type flags uint8

const (
	// intermittent: there is no sample if there is nothing to report, or the labels change. A sample that does not
	// arrive is therefore not missing. Bullet reports no mean latency without records. A replay has a target, and a
	// connection a peer, only for as long as it lasts. A client of the canary reports only when it queries. Storm
	// reports a ticket, a first report and back-pressure only when there is one.
	intermittent flags = 1 << iota
	// sampled: Storm counts or times it on a sample of the tuples (topology.stats.sample.rate, 0.05 by default) and
	// scales it up. See org.apache.storm.stats and, from 2.3 on, org.apache.storm.metrics2.TaskMetrics.
	sampled
	// signed: the value may be negative. Examples are a mean latency between two hosts with different clocks, the age
	// of a ticket, and the lag of a partition that was recreated.
	signed
	// limit: a negative gauge, or one with more memory than any machine has, means "no limit". A JVM and a cgroup
	// report -1 if they have none, and what Storm computes from a limit of -1 is negative too. A counter of -1 is
	// undefined: a JVM reports it if it does not count the runs of a collector.
	limit
	// single: a slice of this gauge has one value, so there is no least and greatest sample.
	single
	// start: the value is when a process started. Restarts are derived from it.
	start
	// byPlugin and bySlicer name the component that writes the metric, if it has no row in sources.go.
	byPlugin
	bySlicer
)

func (c *canonical) is(f flags) bool { return c.flags&f != 0 }

// ofCollection are the flags of the metrics about the collection itself, such as the number of missing samples.
const ofCollection = intermittent | single | bySlicer

const (
	gauge        = metric.KindGauge
	counter      = metric.KindCounter
	distribution = metric.KindDistribution
)

// metrics is the table of all metrics that have a name of ours, in the order of proto/METRICS.md, which is generated
// from it. sources.go maps each sender's names to them. CONTRIBUTING.md has an example of a new row.
var metrics = []canonical{
	// Topology and workers.
	{name: "bullet_topology_info", kind: gauge, scope: ofTopology,
		labels: "topology_id storm_version bullet_version java_version plugin_version", flags: single | byPlugin,
		help: "1; the labels say which run of which software the topology is"},
	{name: "bullet_worker_info", kind: gauge, scope: ofWorker, labels: "host pid", flags: single | byPlugin,
		help: "1; the labels say which process the worker is"},
	{name: "bullet_worker_start_time_seconds", kind: gauge, scope: ofWorker, flags: single | start,
		help: "When the worker's process started, since the Unix epoch; the last value of a slice"},
	{name: "bullet_worker_restarts_total", kind: counter, scope: ofWorker, flags: bySlicer,
		help: "Times that the worker's process was seen started again, from 0"},

	// The worker's process.
	{name: "bullet_worker_cpu_seconds_total", kind: counter, scope: ofWorker, labels: "mode",
		help: "CPU time of the worker's process, all its threads included; mode is user or system, or total where they cannot be kept apart"},
	{name: "bullet_worker_heap_used_bytes", kind: gauge, scope: ofWorker, help: "Heap in use"},
	{name: "bullet_worker_heap_committed_bytes", kind: gauge, scope: ofWorker,
		help: "Heap that the JVM has from the operating system"},
	{name: "bullet_worker_heap_limit_bytes", kind: gauge, scope: ofWorker, flags: limit,
		help: "Most heap that the JVM may use"},
	{name: "bullet_worker_gc_seconds_total", kind: counter, scope: ofWorker, labels: "collector", flags: limit,
		help: "Time that garbage collection paused the worker, as the JVM's collector reports it; concurrent cycles are in bullet_worker_gc_concurrent_seconds_total. A collector of an unknown name counts here"},
	{name: "bullet_worker_gc_collections_total", kind: counter, scope: ofWorker, labels: "collector", flags: limit,
		help: "Collections that paused the worker; each pause is one where the collector's name ends in Pauses"},
	{name: "bullet_worker_gc_concurrent_seconds_total", kind: counter, scope: ofWorker, labels: "collector",
		flags: limit,
		help:  "Time from the begin to the end of the collector's concurrent cycles, in which the worker goes on: collectors whose names end in Cycles (ZGC, Shenandoah), and GPGC without Pauses (Zing)"},
	{name: "bullet_worker_gc_concurrent_cycles_total", kind: counter, scope: ofWorker, labels: "collector",
		flags: limit, help: "Concurrent cycles of the collector"},
	{name: "bullet_host_cpu_seconds_total", kind: counter, scope: ofHost, labels: "mode",
		help: "CPU time of the worker's machine, everything on it included, each ten seconds; mode is user (niced too), system (interrupts too), iowait, steal (taken by the hypervisor) or idle. Every worker of a host has it: max by (host, mode) counts a host once"},
	{name: "bullet_host_cpu_cores", kind: gauge, scope: ofHost,
		help: "CPUs of the worker's machine; every worker of a host has it"},

	// Bullet.
	{name: "bullet_active_queries", kind: gauge, scope: ofTask,
		help: "Queries running in the task; a topology's figure is the sum over JoinBolt's tasks"},
	{name: "bullet_created_queries_total", kind: counter, scope: ofTask, help: "Queries created"},
	{name: "bullet_improper_queries_total", kind: counter, scope: ofTask,
		help: "Queries that could not be made to run"},
	{name: "bullet_rate_exceeded_queries_total", kind: counter, scope: ofTask,
		help: "Queries killed for exceeding their rate limit"},
	{name: "bullet_duplicated_queries_total", kind: counter, scope: ofTask,
		help: "Queries that came while one of the same id was running"},
	{name: "bullet_batched_queries", kind: gauge, scope: ofTask, help: "Queries held for replaying"},
	{name: "bullet_active_replays", kind: gauge, scope: ofTask, labels: "target", flags: intermittent,
		help: "Replays under way; target is the task replayed to, as \"component-task\", where ReplayBolt reports"},
	{name: "bullet_created_replays_total", kind: counter, scope: ofTask, labels: "target", flags: intermittent,
		help: "Replays begun"},
	{name: "bullet_filter_latency_mean_seconds", kind: gauge, scope: ofTask, flags: intermittent | signed,
		help: "Bullet's own mean over its interval of the time from a record's timestamp to its being filtered"},
	{name: "bullet_filter_latency_seconds", kind: distribution, scope: ofTask, flags: intermittent,
		help: "Time from a record's timestamp to its being filtered"},
	{name: "bullet_query_engine_latency_seconds", kind: distribution, scope: ofTask, labels: "outcome",
		flags: intermittent, help: "Time from a query's being seen to its result's being sent"},
	{name: "bullet_query_created_latency_seconds", kind: distribution, scope: ofTask, labels: "outcome",
		help: "Time from a query's creation, by the clock of the web service or of Storm's DRPC, to its result's being sent"},
	{name: "bullet_query_first_result_latency_seconds", kind: distribution, scope: ofTask, flags: intermittent,
		help: "Time from a query's being seen to the first that is sent for it, a window or its result"},
	{name: "bullet_latency_hook_left_out_total", kind: counter, scope: ofTask, labels: "reason", flags: intermittent,
		help: "What the latency hook could not measure; reason is unseen (a query that ended and had not been seen to arrive, as after a restart), evicted (more queries at a time than it follows) or failed (1 once it has switched itself off in the task)"},
	{name: "bullet_execute_seconds_total", kind: counter, scope: ofTask, flags: sampled,
		help: "Time that a bolt's task spent executing tuples, estimated by the latency hook: each tuple that Storm timed, in whole milliseconds, stands for all that were executed since the last one"},
	{name: "bullet_execute_samples_total", kind: counter, scope: ofTask,
		help: "Executed tuples that Storm timed, on which bullet_execute_seconds_total rests"},
	{name: "bullet_query_latency_seconds", kind: distribution, scope: ofTask, labels: "class", flags: intermittent,
		help: "Time from when a query was meant to start to its result, as a client sees it"},
	{name: "bullet_query_result_completeness_ratio", kind: gauge, scope: ofTask, labels: "class", flags: intermittent,
		help: "Records in a query's result over those that were generated to match"},
	{name: "bullet_query_outcomes_total", kind: counter, scope: ofTask, labels: "class outcome", flags: intermittent,
		help: "Queries of a client of ours that ended; outcome is returned, failed, timed_out, or missed (due while as many were under way as may be)"},
	{name: "bullet_source_records_total", kind: counter, scope: ofTask, help: "Records read from the data source"},
	{name: "bullet_source_bytes_total", kind: counter, scope: ofTask, help: "Bytes read from the data source"},
	{name: "bullet_source_lag_records", kind: gauge, scope: ofTask,
		help: "Records that the data source holds and that were not read yet"},
	{name: "bullet_source_partition_lag_records", kind: gauge, scope: ofTask, labels: "topic partition",
		flags: intermittent | signed,
		help:  "Records of a Kafka partition that Storm's KafkaSpout has not committed; the task is the one that reads it. Below zero where the partition ends before what was committed, as after it was made again"},
	{name: "bullet_source_left_out_records_total", kind: counter, scope: ofTask, labels: "reason", flags: intermittent,
		help: "Records read, or due, that did not enter the topology; reason is sampling, conversion, empty or late"},
	{name: "bullet_source_repeated_records_total", kind: counter, scope: ofTask,
		help: "Records read that the same task had read before"},

	// Storm: tuples.
	{name: "storm_emitted_total", kind: counter, scope: ofTask, labels: "stream", flags: sampled,
		help: "Tuples emitted"},
	{name: "storm_transferred_total", kind: counter, scope: ofTask, labels: "stream", flags: sampled,
		help: "Tuples sent to other tasks"},
	{name: "storm_acked_total", kind: counter, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Tuples acknowledged; a spout has no source"},
	{name: "storm_failed_total", kind: counter, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Tuples failed; a spout has no source"},
	{name: "storm_executed_total", kind: counter, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Tuples executed"},
	{name: "storm_execute_latency_seconds", kind: gauge, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Storm's mean time in execute()"},
	{name: "storm_process_latency_seconds", kind: gauge, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Storm's mean time from a tuple's arrival to its acknowledgement"},
	{name: "storm_complete_latency_seconds", kind: gauge, scope: ofTask, labels: "stream", flags: sampled,
		help: "Storm's mean time from a tuple's emission to the acknowledgement of its whole tree"},
	{name: "storm_capacity_ratio", kind: gauge, scope: ofTask, flags: sampled,
		help: "Share of its time that a bolt spends executing; 1 is saturated"},
	{name: "storm_skipped_seconds_total", kind: counter, scope: ofTask, labels: "reason",
		help: "Time for which a spout was not asked for tuples; reason is max_spout_pending, inactive or backpressure"},
	{name: "storm_skipped_calls_total", kind: counter, scope: ofTask, labels: "reason",
		help: "Times that a spout was not asked for tuples (Storm 1.x counts calls, not time)"},
	{name: "storm_reported_errors_total", kind: counter, scope: ofTask, help: "Errors that the component reported"},
	{name: "storm_backpressure_last_overflow_count", kind: gauge, scope: ofTask, flags: intermittent,
		help: "Overflow of the receive queue when back-pressure was last noticed"},

	// Storm: queues.
	{name: "storm_receive_queue_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting in the executor's receive queue"},
	{name: "storm_receive_queue_capacity", kind: gauge, scope: ofTask, help: "Tuples that the receive queue holds"},
	{name: "storm_receive_queue_full_ratio", kind: gauge, scope: ofTask,
		help: "Population of the receive queue over its capacity"},
	{name: "storm_receive_queue_overflow_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting behind a full receive queue"},
	{name: "storm_receive_queue_sojourn_seconds", kind: gauge, scope: ofTask,
		help: "Time that a tuple spends in the receive queue, from population and arrival rate"},
	{name: "storm_receive_queue_arrivals_per_second", kind: gauge, scope: ofTask,
		help: "Tuples arriving at the receive queue"},
	{name: "storm_receive_queue_insert_failures_per_second", kind: gauge, scope: ofTask,
		help: "Failed attempts to insert into the receive queue"},
	{name: "storm_receive_queue_dropped_messages_total", kind: counter, scope: ofTask,
		help: "Messages dropped since the overflow was full"},
	{name: "storm_send_queue_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting in the executor's send queue (Storm 1.x)"},
	{name: "storm_send_queue_capacity", kind: gauge, scope: ofTask, help: "Tuples that the send queue holds"},
	{name: "storm_send_queue_overflow_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting behind a full send queue"},
	{name: "storm_send_queue_sojourn_seconds", kind: gauge, scope: ofTask,
		help: "Time that a tuple spends in the send queue"},
	{name: "storm_send_queue_arrivals_per_second", kind: gauge, scope: ofTask,
		help: "Tuples arriving at the send queue"},
	{name: "storm_transfer_queue_population", kind: gauge, scope: ofWorker,
		help: "Messages waiting to be sent to other workers"},
	{name: "storm_transfer_queue_capacity", kind: gauge, scope: ofWorker,
		help: "Messages that the transfer queue holds"},
	{name: "storm_transfer_queue_full_ratio", kind: gauge, scope: ofWorker,
		help: "Population of the transfer queue over its capacity"},
	{name: "storm_transfer_queue_overflow_population", kind: gauge, scope: ofWorker,
		help: "Messages waiting behind a full transfer queue"},
	{name: "storm_transfer_queue_sojourn_seconds", kind: gauge, scope: ofWorker,
		help: "Time that a message spends in the transfer queue"},
	{name: "storm_transfer_queue_arrivals_per_second", kind: gauge, scope: ofWorker,
		help: "Messages arriving at the transfer queue"},
	{name: "storm_transfer_queue_insert_failures_per_second", kind: gauge, scope: ofWorker,
		help: "Failed attempts to insert into the transfer queue"},
	{name: "storm_transfer_queue_dropped_messages_total", kind: counter, scope: ofWorker,
		help: "Messages dropped since the overflow was full"},

	// Storm: connections between workers.
	{name: "storm_connection_enqueued_messages_total", kind: counter, scope: ofWorker, labels: "peer",
		flags: intermittent, help: "Messages received from another worker"},
	{name: "storm_connection_dequeued_messages_total", kind: counter, scope: ofWorker, flags: intermittent,
		help: "A relic of older Storm: 0"},
	{name: "storm_connection_sent_messages_total", kind: counter, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Messages sent to another worker"},
	{name: "storm_connection_lost_messages_total", kind: counter, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Messages lost while being sent to another worker"},
	{name: "storm_connection_reconnects_total", kind: counter, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Attempts to connect to another worker"},
	{name: "storm_connection_pending_messages", kind: gauge, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Messages not yet sent to another worker"},

	// Storm: the worker.
	{name: "storm_worker_uptime_seconds", kind: gauge, scope: ofWorker, help: "Time since the worker started"},
	{name: "storm_new_worker_event", kind: gauge, scope: ofWorker, flags: intermittent,
		help: "1 in a worker's first report"},
	{name: "storm_worker_cpu_usage_cores", kind: gauge, scope: ofWorker,
		help: "CPU of the worker's live Java threads, so without its garbage collector; bullet_worker_cpu_seconds_total has all"},
	{name: "storm_heartbeat_calls_total", kind: counter, scope: ofWorker, help: "Heartbeats that the worker sent"},
	{name: "storm_memory_used_bytes", kind: gauge, scope: ofWorker, labels: "area",
		help: "Memory in use; area is non-heap or total"},
	{name: "storm_memory_committed_bytes", kind: gauge, scope: ofWorker, labels: "area", help: "Memory committed"},
	{name: "storm_memory_limit_bytes", kind: gauge, scope: ofWorker, labels: "area", flags: limit,
		help: "Most memory that may be used"},
	{name: "storm_memory_init_bytes", kind: gauge, scope: ofWorker, labels: "area",
		help: "Memory at start; area is heap, non-heap or total"},
	{name: "storm_memory_usage_ratio", kind: gauge, scope: ofWorker, labels: "area", flags: limit,
		help: "Memory in use over the most that may be used, as Storm computes it"},
	{name: "storm_memory_unused_bytes", kind: gauge, scope: ofWorker, labels: "area",
		help: "Memory committed and not in use (Storm 1.x)"},
	{name: "storm_memory_free_bytes", kind: gauge, scope: ofWorker, labels: "area", flags: limit,
		help: "Limit less what is in use (Storm 1.x)"},
	{name: "storm_memory_pool_used_bytes", kind: gauge, scope: ofWorker, labels: "pool",
		help: "Memory in use in one of the JVM's pools"},
	{name: "storm_memory_pool_used_after_gc_bytes", kind: gauge, scope: ofWorker, labels: "pool", flags: intermittent,
		help: "Memory in use in the pool after its last collection"},
	{name: "storm_memory_pool_committed_bytes", kind: gauge, scope: ofWorker, labels: "pool",
		help: "Memory committed to the pool"},
	{name: "storm_memory_pool_limit_bytes", kind: gauge, scope: ofWorker, labels: "pool", flags: limit,
		help: "Most memory that the pool may use"},
	{name: "storm_memory_pool_init_bytes", kind: gauge, scope: ofWorker, labels: "pool",
		help: "Memory of the pool at start"},
	{name: "storm_memory_pool_usage_ratio", kind: gauge, scope: ofWorker, labels: "pool", flags: limit,
		help: "Memory in use over the most that the pool may use"},
	{name: "storm_worker_threads", kind: gauge, scope: ofWorker, help: "Live threads"},
	{name: "storm_worker_daemon_threads", kind: gauge, scope: ofWorker, help: "Live daemon threads"},
	{name: "storm_worker_peak_threads", kind: gauge, scope: ofWorker, help: "Most threads that were alive at once"},
	{name: "storm_worker_deadlocked_threads", kind: gauge, scope: ofWorker, help: "Threads in a deadlock"},
	{name: "storm_worker_threads_in_state", kind: gauge, scope: ofWorker, labels: "state",
		help: "Live threads by state"},
	{name: "storm_worker_started_threads_total", kind: counter, scope: ofWorker, help: "Threads started"},

	{name: "storm_kerberos_ticket_remaining_seconds", kind: gauge, scope: ofTask, flags: intermittent | signed,
		help: "Time until the worker's Kerberos ticket expires; below zero once it has"},

	// The cgroup that Storm sees. It is often the host's, so it is never used as the worker's.
	{name: "storm_cgroup_cpu_seconds_total", kind: counter, scope: ofWorker, labels: "mode",
		help: "CPU time of the cgroup that Storm sees, which is the host's unless the worker has one of its own"},
	{name: "storm_cgroup_cpu_guarantee", kind: gauge, scope: ofWorker,
		help: "CPU guaranteed to the cgroup, as Storm reports it"},
	{name: "storm_cgroup_cpu_quota_percent", kind: gauge, scope: ofWorker, flags: limit,
		help: "CPU quota of the cgroup, in percent of a core; not there without a quota"},
	{name: "storm_cgroup_cpu_periods", kind: gauge, scope: ofWorker,
		help: "Enforcement periods, as Storm reports them"},
	{name: "storm_cgroup_cpu_throttled_periods", kind: gauge, scope: ofWorker,
		help: "Throttled periods, as Storm reports them"},
	{name: "storm_cgroup_cpu_throttled_percent", kind: gauge, scope: ofWorker,
		help: "Share of periods that were throttled"},
	{name: "storm_cgroup_cpu_throttled_seconds", kind: gauge, scope: ofWorker,
		help: "Time throttled, as Storm reports it"},
	{name: "storm_cgroup_memory_used_bytes", kind: gauge, scope: ofWorker,
		help: "Memory of the cgroup that Storm sees"},
	{name: "storm_cgroup_memory_limit_bytes", kind: gauge, scope: ofWorker, flags: limit,
		help: "Memory limit of the cgroup that Storm sees"},

	// How samples arrive (written by the slicer): for a worker every 30 s of its event time, and for its metrics while
	// something is wrong.
	{name: CollectionInterval, kind: gauge, scope: ofTopology, labels: "metric", flags: ofCollection,
		help: "How often the sources say that they report the metric; where it changes, and each hour"},
	{name: CollectionSeen, kind: gauge, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Longest time between two samples of one of the metric's series that came in 30 s, or in the last that had any, and the time since the newest one where the metric is silent; there as missing samples are"},
	{name: CollectionSamples, kind: counter, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Samples of the metric that are in slices; there as missing samples are, and not while the metric is silent"},
	{name: CollectionMissing, kind: counter, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Samples that should be in slices by the interval and are not, whatever became of them, late and dropped ones too; there while something is wrong with the metric (samples missing, late, refused, off their interval by more than half of it, or silent) and 5 minutes longer"},
	{name: CollectionLate, kind: counter, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Samples that came when their slice was closed; there as missing samples are"},
	{name: CollectionRefused, kind: counter, scope: ofWorker, labels: "metric reason", flags: ofCollection,
		help: "Samples that the slicer could not use; reason is nonsense (a value that makes no sense, as a usage below 0), shape, collision, series_limit, open_limit, repeated_time (the worker's clock was set back, and had shown that time before) or duplicate (another producer, or another metric of that name, brought the same sample); there as missing samples are"},
	{name: CollectionWorkerSamples, kind: counter, scope: ofWorker, flags: ofCollection,
		help: "Samples of all metrics of the worker that are in slices"},
	{name: CollectionWorkerMissing, kind: counter, scope: ofWorker, flags: ofCollection,
		help: "Samples of all metrics of the worker that should be in slices and are not"},
	{name: CollectionWorkerLate, kind: counter, scope: ofWorker, flags: ofCollection,
		help: "Samples of all metrics of the worker that came when their slice was closed"},
	{name: CollectionWorkerRefused, kind: counter, scope: ofWorker, labels: "reason", flags: ofCollection,
		help: "Samples of all metrics of the worker that the slicer could not use; there from the first one on"},
	{name: CollectionWorkerRatio, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "The longest time between two samples of a series over its interval, of the worker's metric that was worst in the last 30 s: 1 where samples come as they should"},
	{name: CollectionDropped, kind: counter, scope: ofWorker, labels: "reason", flags: intermittent | byPlugin,
		help: "Samples, of any worker, that the plugin in this worker says it dropped before they reached the collector; reason is queue_full, expired, unsupported_value, series_limit, internal or closed"},
	{name: CollectionSkew, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "How far the worker's clock is ahead of the collector's beyond doubt, by all that was sent and answered in the last minute or two: 0 where it may be right, below 0 where it is behind; for 7 minutes after it was set back, by how much, below 0"},
	{name: CollectionSkewLeast, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "How far the worker's clock is ahead of the collector's at least: nothing arrives before it was sent. Below 0 it includes the way of the freshest of what came"},
	{name: CollectionSkewMost, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "How far the worker's clock is ahead of the collector's at most, where a sender on its host has had answers: none comes before it was sent. Not there for hosts without a sender"},
}
