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
	help   string // sentences, without a full stop after the last one
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

// whileWrong says when the series about the collection of one metric exist.
const whileWrong = "It is exported only while something is wrong with the metric, and for 5 minutes after that"

// ofCollection are the flags of the metrics about the collection itself, such as the number of missing samples.
const ofCollection = intermittent | single | bySlicer

const (
	gauge        = metric.KindGauge
	counter      = metric.KindCounter
	distribution = metric.KindDistribution
)

// metrics is the table of all metrics that have a name of ours, in the order of proto/METRICS.md, which is generated
// from it. sources.go maps each sender's names to them. docs/checklists.md has an example of a new row.
var metrics = []canonical{
	// Topology and workers.
	{name: "bullet_topology_info", kind: gauge, scope: ofTopology,
		labels: "topology_id storm_version bullet_version java_version plugin_version", flags: single | byPlugin,
		help: "Always 1. The labels identify the topology's run and the versions of its software"},
	{name: "bullet_worker_info", kind: gauge, scope: ofWorker, labels: "host pid", flags: single | byPlugin,
		help: "Always 1. The labels identify the worker's process"},
	{name: "bullet_worker_start_time_seconds", kind: gauge, scope: ofWorker, flags: single | start,
		help: "Start time of the worker's process, in seconds since the Unix epoch. A slice stores its last value"},
	{name: "bullet_worker_restarts_total", kind: counter, scope: ofWorker, flags: bySlicer,
		help: "Restarts of the worker's process that the collector observed, beginning at 0"},

	// The worker's process.
	{name: "bullet_worker_cpu_seconds_total", kind: counter, scope: ofWorker, labels: "mode",
		help: "CPU time of the worker's process, including all its threads. The label mode is user or system, or total if the two are not known separately"},
	{name: "bullet_worker_heap_used_bytes", kind: gauge, scope: ofWorker, help: "Heap in use"},
	{name: "bullet_worker_heap_committed_bytes", kind: gauge, scope: ofWorker,
		help: "Heap memory that the JVM obtained from the operating system"},
	{name: "bullet_worker_heap_limit_bytes", kind: gauge, scope: ofWorker, flags: limit,
		help: "Maximum heap size of the JVM"},
	{name: "bullet_worker_gc_seconds_total", kind: counter, scope: ofWorker, labels: "collector", flags: limit,
		help: "Time for which garbage collection paused the worker, as the JVM's collector reports it. Concurrent cycles are in bullet_worker_gc_concurrent_seconds_total. Collectors with unknown names count here"},
	{name: "bullet_worker_gc_collections_total", kind: counter, scope: ofWorker, labels: "collector", flags: limit,
		help: "Garbage collections that paused the worker. If the collector's name ends in Pauses, each pause counts as one"},
	{name: "bullet_worker_gc_concurrent_seconds_total", kind: counter, scope: ofWorker, labels: "collector",
		flags: limit,
		help:  "Duration of the concurrent cycles of the collector, during which the worker continues. It covers collectors whose names end in Cycles (ZGC, Shenandoah), and GPGC without Pauses (Zing)"},
	{name: "bullet_worker_gc_concurrent_cycles_total", kind: counter, scope: ofWorker, labels: "collector",
		flags: limit, help: "Concurrent cycles of the garbage collector"},
	{name: "bullet_host_cpu_seconds_total", kind: counter, scope: ofHost, labels: "mode",
		help: "CPU time of the worker's machine, including all other processes, measured every ten seconds. The label mode is user (with niced), system (with interrupts), iowait, steal (taken by the hypervisor) or idle. Every worker of a host reports it: max by (host, mode) counts a host once"},
	{name: "bullet_host_cpu_cores", kind: gauge, scope: ofHost,
		help: "CPUs of the worker's machine. Every worker of a host reports it"},

	// Bullet.
	{name: "bullet_active_queries", kind: gauge, scope: ofTask,
		help: "Queries running in the task. The total of a topology is the sum over the tasks of JoinBolt"},
	{name: "bullet_created_queries_total", kind: counter, scope: ofTask, help: "Queries created"},
	{name: "bullet_improper_queries_total", kind: counter, scope: ofTask, help: "Queries that could not be started"},
	{name: "bullet_rate_exceeded_queries_total", kind: counter, scope: ofTask,
		help: "Queries killed because they exceeded their rate limit"},
	{name: "bullet_duplicated_queries_total", kind: counter, scope: ofTask,
		help: "Duplicate queries: a query with the same ID was already running"},
	{name: "bullet_batched_queries", kind: gauge, scope: ofTask, help: "Queries kept for replay"},
	{name: "bullet_active_replays", kind: gauge, scope: ofTask, labels: "target", flags: intermittent,
		help: "Replays in progress. In reports of ReplayBolt, the label target is the task that receives the replay, as \"component-task\""},
	{name: "bullet_created_replays_total", kind: counter, scope: ofTask, labels: "target", flags: intermittent,
		help: "Replays started"},
	{name: "bullet_filter_latency_mean_seconds", kind: gauge, scope: ofTask, flags: intermittent | signed,
		help: "Mean time from a record's timestamp until the record is filtered, as Bullet computes it over its reporting interval"},
	{name: "bullet_filter_latency_seconds", kind: distribution, scope: ofTask, flags: intermittent,
		help: "Time from a record's timestamp until the record is filtered"},
	{name: "bullet_query_engine_latency_seconds", kind: distribution, scope: ofTask, labels: "outcome",
		flags: intermittent, help: "Time from a query's arrival in the task until its result is sent"},
	{name: "bullet_query_created_latency_seconds", kind: distribution, scope: ofTask, labels: "outcome",
		help: "Time from a query's creation until its result is sent. The creation time is from the clock of the web service or of Storm's DRPC"},
	{name: "bullet_query_first_result_latency_seconds", kind: distribution, scope: ofTask, flags: intermittent,
		help: "Time from a query's arrival in the task until its first window or its result is sent"},
	{name: "bullet_latency_hook_left_out_total", kind: counter, scope: ofTask, labels: "reason", flags: intermittent,
		help: "Queries that the latency hook could not measure, by reason. With unseen, a query ended whose arrival the hook did not see, for example after a restart. With evicted, more queries were running than the hook tracks. With failed, the value is 1 after the hook disabled itself in the task"},
	{name: "bullet_execute_seconds_total", kind: counter, scope: ofTask, flags: sampled,
		help: "Time that a bolt's task spent executing tuples, estimated by the latency hook. Each tuple that Storm timed, in whole milliseconds, represents all tuples executed since the previous timed one"},
	{name: "bullet_execute_samples_total", kind: counter, scope: ofTask,
		help: "Executed tuples that Storm timed. bullet_execute_seconds_total is estimated from them"},
	{name: "bullet_query_latency_seconds", kind: distribution, scope: ofTask, labels: "class", flags: intermittent,
		help: "Time from the planned start of a query to its result, as a client measures it"},
	{name: "bullet_query_result_completeness_ratio", kind: gauge, scope: ofTask, labels: "class", flags: intermittent,
		help: "Records in a query's result divided by the records that were generated to match the query"},
	{name: "bullet_query_outcomes_total", kind: counter, scope: ofTask, labels: "class outcome", flags: intermittent,
		help: "Finished queries of the canary. The label outcome is returned, failed, timed_out or missed (not started because too many queries were in flight)"},
	{name: "bullet_source_records_total", kind: counter, scope: ofTask, help: "Records read from the data source"},
	{name: "bullet_source_bytes_total", kind: counter, scope: ofTask, help: "Bytes read from the data source"},
	{name: "bullet_source_lag_records", kind: gauge, scope: ofTask,
		help: "Lag: records in the data source that were not read yet"},
	{name: "bullet_source_partition_lag_records", kind: gauge, scope: ofTask, labels: "topic partition",
		flags: intermittent | signed,
		help:  "Lag of a Kafka partition: records that Storm's KafkaSpout has not committed. The label task is the task that reads the partition. It is below 0 if the partition ends before the committed offset, for example after it was recreated"},
	{name: "bullet_source_left_out_records_total", kind: counter, scope: ofTask, labels: "reason", flags: intermittent,
		help: "Records that were read or due but did not enter the topology. The label reason is sampling, conversion, empty or late"},
	{name: "bullet_source_repeated_records_total", kind: counter, scope: ofTask,
		help: "Duplicate records: the same task had read them before"},

	// Storm: tuples.
	{name: "storm_emitted_total", kind: counter, scope: ofTask, labels: "stream", flags: sampled,
		help: "Tuples emitted"},
	{name: "storm_transferred_total", kind: counter, scope: ofTask, labels: "stream", flags: sampled,
		help: "Tuples sent to other tasks"},
	{name: "storm_acked_total", kind: counter, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Tuples acknowledged. Spouts have no label source"},
	{name: "storm_failed_total", kind: counter, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Tuples failed. Spouts have no label source"},
	{name: "storm_executed_total", kind: counter, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Tuples executed"},
	{name: "storm_execute_latency_seconds", kind: gauge, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Mean time in execute(), as Storm reports it"},
	{name: "storm_process_latency_seconds", kind: gauge, scope: ofTask, labels: "source stream", flags: sampled,
		help: "Mean time from a tuple's arrival to its acknowledgement, as Storm reports it"},
	{name: "storm_complete_latency_seconds", kind: gauge, scope: ofTask, labels: "stream", flags: sampled,
		help: "Mean time from a tuple's emission until its whole tuple tree is acknowledged, as Storm reports it"},
	{name: "storm_capacity_ratio", kind: gauge, scope: ofTask, flags: sampled,
		help: "Share of its time that a bolt spends executing tuples. 1 means saturated"},
	{name: "storm_skipped_seconds_total", kind: counter, scope: ofTask, labels: "reason",
		help: "Time during which Storm did not ask a spout for tuples. The label reason is max_spout_pending, inactive or backpressure"},
	{name: "storm_skipped_calls_total", kind: counter, scope: ofTask, labels: "reason",
		help: "How often Storm did not ask a spout for tuples. Storm 1.x counts calls instead of time"},
	{name: "storm_reported_errors_total", kind: counter, scope: ofTask, help: "Errors that the component reported"},
	{name: "storm_backpressure_last_overflow_count", kind: gauge, scope: ofTask, flags: intermittent,
		help: "Overflow of the receive queue when back-pressure was last detected, in tuples"},

	// Storm: queues.
	{name: "storm_receive_queue_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting in the executor's receive queue"},
	{name: "storm_receive_queue_capacity", kind: gauge, scope: ofTask, help: "Capacity of the receive queue, in tuples"},
	{name: "storm_receive_queue_full_ratio", kind: gauge, scope: ofTask,
		help: "Population of the receive queue divided by its capacity"},
	{name: "storm_receive_queue_overflow_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting in the overflow because the receive queue is full"},
	{name: "storm_receive_queue_sojourn_seconds", kind: gauge, scope: ofTask,
		help: "Time that a tuple spends in the receive queue, computed from population and arrival rate"},
	{name: "storm_receive_queue_arrivals_per_second", kind: gauge, scope: ofTask,
		help: "Tuples arriving at the receive queue per second"},
	{name: "storm_receive_queue_insert_failures_per_second", kind: gauge, scope: ofTask,
		help: "Failed attempts per second to insert into the receive queue"},
	{name: "storm_receive_queue_dropped_messages_total", kind: counter, scope: ofTask,
		help: "Messages dropped because the overflow was full"},
	{name: "storm_send_queue_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting in the executor's send queue (Storm 1.x)"},
	{name: "storm_send_queue_capacity", kind: gauge, scope: ofTask, help: "Capacity of the send queue, in tuples"},
	{name: "storm_send_queue_overflow_population", kind: gauge, scope: ofTask,
		help: "Tuples waiting in the overflow because the send queue is full"},
	{name: "storm_send_queue_sojourn_seconds", kind: gauge, scope: ofTask,
		help: "Time that a tuple spends in the send queue"},
	{name: "storm_send_queue_arrivals_per_second", kind: gauge, scope: ofTask,
		help: "Tuples arriving at the send queue per second"},
	{name: "storm_transfer_queue_population", kind: gauge, scope: ofWorker,
		help: "Messages waiting to be sent to other workers"},
	{name: "storm_transfer_queue_capacity", kind: gauge, scope: ofWorker,
		help: "Capacity of the transfer queue, in messages"},
	{name: "storm_transfer_queue_full_ratio", kind: gauge, scope: ofWorker,
		help: "Population of the transfer queue divided by its capacity"},
	{name: "storm_transfer_queue_overflow_population", kind: gauge, scope: ofWorker,
		help: "Messages waiting in the overflow because the transfer queue is full"},
	{name: "storm_transfer_queue_sojourn_seconds", kind: gauge, scope: ofWorker,
		help: "Time that a message spends in the transfer queue"},
	{name: "storm_transfer_queue_arrivals_per_second", kind: gauge, scope: ofWorker,
		help: "Messages arriving at the transfer queue per second"},
	{name: "storm_transfer_queue_insert_failures_per_second", kind: gauge, scope: ofWorker,
		help: "Failed attempts per second to insert into the transfer queue"},
	{name: "storm_transfer_queue_dropped_messages_total", kind: counter, scope: ofWorker,
		help: "Messages dropped because the overflow was full"},

	// Storm: connections between workers.
	{name: "storm_connection_enqueued_messages_total", kind: counter, scope: ofWorker, labels: "peer",
		flags: intermittent, help: "Messages received from another worker"},
	{name: "storm_connection_dequeued_messages_total", kind: counter, scope: ofWorker, flags: intermittent,
		help: "Always 0. It remains from older versions of Storm"},
	{name: "storm_connection_sent_messages_total", kind: counter, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Messages sent to another worker"},
	{name: "storm_connection_lost_messages_total", kind: counter, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Messages lost while being sent to another worker"},
	{name: "storm_connection_reconnects_total", kind: counter, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Attempts to connect to another worker"},
	{name: "storm_connection_pending_messages", kind: gauge, scope: ofWorker, labels: "peer", flags: intermittent,
		help: "Messages waiting to be sent to another worker"},

	// Storm: the worker.
	{name: "storm_worker_uptime_seconds", kind: gauge, scope: ofWorker, help: "Time since the worker started"},
	{name: "storm_new_worker_event", kind: gauge, scope: ofWorker, flags: intermittent,
		help: "1 in the first report of a worker"},
	{name: "storm_worker_cpu_usage_cores", kind: gauge, scope: ofWorker,
		help: "CPU cores used by the worker's live Java threads, without garbage collection. bullet_worker_cpu_seconds_total includes everything"},
	{name: "storm_heartbeat_calls_total", kind: counter, scope: ofWorker, help: "Heartbeats that the worker sent"},
	{name: "storm_memory_used_bytes", kind: gauge, scope: ofWorker, labels: "area",
		help: "Memory in use. The label area is non-heap or total"},
	{name: "storm_memory_committed_bytes", kind: gauge, scope: ofWorker, labels: "area", help: "Committed memory"},
	{name: "storm_memory_limit_bytes", kind: gauge, scope: ofWorker, labels: "area", flags: limit,
		help: "Maximum memory"},
	{name: "storm_memory_init_bytes", kind: gauge, scope: ofWorker, labels: "area",
		help: "Memory at the start of the JVM. The label area is heap, non-heap or total"},
	{name: "storm_memory_usage_ratio", kind: gauge, scope: ofWorker, labels: "area", flags: limit,
		help: "Memory in use divided by the maximum, as Storm computes it"},
	{name: "storm_memory_unused_bytes", kind: gauge, scope: ofWorker, labels: "area",
		help: "Committed memory that is not in use (Storm 1.0 to 2.1)"},
	{name: "storm_memory_free_bytes", kind: gauge, scope: ofWorker, labels: "area", flags: limit,
		help: "Maximum memory minus memory in use (Storm 1.0 to 2.1)"},
	{name: "storm_memory_pool_used_bytes", kind: gauge, scope: ofWorker, labels: "pool",
		help: "Memory in use in a memory pool of the JVM"},
	{name: "storm_memory_pool_used_after_gc_bytes", kind: gauge, scope: ofWorker, labels: "pool", flags: intermittent,
		help: "Memory in use in the pool after its last garbage collection"},
	{name: "storm_memory_pool_committed_bytes", kind: gauge, scope: ofWorker, labels: "pool",
		help: "Committed memory of the pool"},
	{name: "storm_memory_pool_limit_bytes", kind: gauge, scope: ofWorker, labels: "pool", flags: limit,
		help: "Maximum memory of the pool"},
	{name: "storm_memory_pool_init_bytes", kind: gauge, scope: ofWorker, labels: "pool",
		help: "Memory of the pool at the start of the JVM"},
	{name: "storm_memory_pool_usage_ratio", kind: gauge, scope: ofWorker, labels: "pool", flags: limit,
		help: "Memory in use divided by the pool's maximum"},
	{name: "storm_worker_threads", kind: gauge, scope: ofWorker, help: "Live threads of the worker"},
	{name: "storm_worker_daemon_threads", kind: gauge, scope: ofWorker, help: "Live daemon threads of the worker"},
	{name: "storm_worker_peak_threads", kind: gauge, scope: ofWorker, help: "Largest number of threads that were alive at the same time"},
	{name: "storm_worker_deadlocked_threads", kind: gauge, scope: ofWorker, help: "Threads in a deadlock"},
	{name: "storm_worker_threads_in_state", kind: gauge, scope: ofWorker, labels: "state",
		help: "Live threads of the worker by state"},
	{name: "storm_worker_started_threads_total", kind: counter, scope: ofWorker, help: "Threads started by the worker"},

	{name: "storm_kerberos_ticket_remaining_seconds", kind: gauge, scope: ofTask, flags: intermittent | signed,
		help: "Time until the worker's Kerberos ticket expires. It is below 0 after that"},

	// The cgroup that Storm sees. It is often the host's, so it is never used as the worker's.
	{name: "storm_cgroup_cpu_seconds_total", kind: counter, scope: ofWorker, labels: "mode",
		help: "CPU time of the cgroup that Storm sees. This is the host's cgroup unless the worker has its own"},
	{name: "storm_cgroup_cpu_guarantee", kind: gauge, scope: ofWorker,
		help: "CPU guarantee of the cgroup, as Storm reports it"},
	{name: "storm_cgroup_cpu_quota_percent", kind: gauge, scope: ofWorker, flags: limit,
		help: "CPU quota of the cgroup, in percent of a core. It is absent if there is no quota"},
	{name: "storm_cgroup_cpu_periods", kind: gauge, scope: ofWorker,
		help: "Enforcement periods of the cgroup's CPU quota, as Storm reports them"},
	{name: "storm_cgroup_cpu_throttled_periods", kind: gauge, scope: ofWorker,
		help: "Throttled periods of the cgroup, as Storm reports them"},
	{name: "storm_cgroup_cpu_throttled_percent", kind: gauge, scope: ofWorker,
		help: "Throttled share of the cgroup's periods, in percent"},
	{name: "storm_cgroup_cpu_throttled_seconds", kind: gauge, scope: ofWorker,
		help: "Time for which the cgroup was throttled, as Storm reports it"},
	{name: "storm_cgroup_memory_used_bytes", kind: gauge, scope: ofWorker,
		help: "Memory in use by the cgroup that Storm sees"},
	{name: "storm_cgroup_memory_limit_bytes", kind: gauge, scope: ofWorker, flags: limit,
		help: "Memory limit of the cgroup that Storm sees"},

	// How samples arrive (written by the slicer): for a worker every 30 s of its event time, and for its metrics while
	// something is wrong.
	{name: CollectionInterval, kind: gauge, scope: ofTopology, labels: "metric", flags: ofCollection,
		help: "Reporting interval of the metric, as its sources state it. It is written when it changes, and every hour"},
	{name: CollectionSeen, kind: gauge, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Longest time between two samples of a series of the metric, in the last period of 30 s with samples. While the metric is silent, it is the time since its newest sample. " + whileWrong},
	{name: CollectionSamples, kind: counter, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Samples of the metric that are in slices. It is absent while the metric is silent. " + whileWrong},
	{name: CollectionMissing, kind: counter, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Samples that were expected by the interval and are in no slice, for any reason, including late and dropped samples. " + whileWrong + ". Wrong means that samples are missing, late or refused, that their interval is off by more than half, or that the metric is silent"},
	{name: CollectionLate, kind: counter, scope: ofWorker, labels: "metric", flags: ofCollection,
		help: "Samples that arrived after their slice was closed. " + whileWrong},
	{name: CollectionRefused, kind: counter, scope: ofWorker, labels: "metric reason", flags: ofCollection,
		help: "Samples that the slicer refused, by reason: nonsense, shape, collision, series_limit, open_limit, repeated_time or duplicate. With nonsense, the value is impossible, such as a usage below 0. With repeated_time, the worker's clock was set back and repeats a time. With duplicate, another producer or another metric of that name sent the same sample. " + whileWrong},
	{name: CollectionWorkerSamples, kind: counter, scope: ofWorker, flags: ofCollection,
		help: "Samples of all metrics of the worker that are in slices"},
	{name: CollectionWorkerMissing, kind: counter, scope: ofWorker, flags: ofCollection,
		help: "Samples of all metrics of the worker that were expected and are in no slice"},
	{name: CollectionWorkerLate, kind: counter, scope: ofWorker, flags: ofCollection,
		help: "Samples of all metrics of the worker that arrived after their slice was closed"},
	{name: CollectionWorkerRefused, kind: counter, scope: ofWorker, labels: "reason", flags: ofCollection,
		help: "Samples of all metrics of the worker that the slicer refused, by reason. It is exported after the first one"},
	{name: CollectionWorkerRatio, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "Longest time between two samples of a series divided by its interval, for the worker's worst metric in the last 30 s. 1 means that samples arrive as expected"},
	{name: CollectionDropped, kind: counter, scope: ofWorker, labels: "reason", flags: intermittent | byPlugin,
		help: "Samples of any worker that the plugin in this worker dropped before they reached the collector. The label reason is queue_full, expired, unsupported_value, series_limit, internal or closed"},
	{name: CollectionSkew, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "Certain clock skew of the worker, from messages of the last one to two minutes. It is positive if the worker's clock is ahead of the collector's, negative if it is behind, and 0 if it may be right. For 7 minutes after the clock was set back, it is the size of that step, as a negative value"},
	{name: CollectionSkewLeast, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "Lower bound of how far the worker's clock is ahead of the collector's, because nothing arrives before it was sent. Below 0, it includes the transit time of the fastest message"},
	{name: CollectionSkewMost, kind: gauge, scope: ofWorker, flags: ofCollection,
		help: "Upper bound of how far the worker's clock is ahead of the collector's, from answers to a sender on its host. It is absent for hosts without a sender"},
}
