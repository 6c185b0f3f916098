package catalog

// gaugeUpdate describes how one of Storm's gauges gets its value, according to the source of the releases 1.0.0 to
// 2.8.8. A user needs it to know what a sample means, and proto/METRICS.md prints it. A held gauge keeps its last
// value: an idle bolt continues to report the capacity that it had when it was busy.
type gaugeUpdate struct {
	// Set is when and from what its value is computed.
	Set string
	// Over is the time that its value covers; "" for a moment.
	Over string
	// Held reports that the value stays until it is set again, however long that takes. Otherwise it is computed for
	// each report.
	Held bool
	// Sampled reports that only sampled tuples set it (topology.stats.sample.rate, one in twenty by default).
	Sampled bool
}

const (
	onReport  = "read for each report"
	lastThree = "mean of the last 3 sampled tuples, in whole milliseconds; a missing tuple counts as 0. Until 2.2: mean of the sampled tuples since the last report, 0 without any"
	overLast3 = "last 3 sampled tuples; until 2.2: reporting interval"
	arrivals  = "events in 10 buckets of 1 s, divided by their time; it falls to 0 within 10 s"
	sojourn   = "population divided by arrivals per second, which are at least 0.00001. Without arrivals, it is 100,000 s per waiting tuple"
	transfer  = "read for each report; in 2.2 every 15 s"
)

// updates are the gauges of org.apache.storm.metrics2.TaskMetrics and RollingAverageGauge, stats.BoltExecutorStats,
// utils.JCQueueMetrics and DisruptorQueue, metric.internal.RateTracker, metric.SystemBolt, metrics2.cgroup,
// messaging.netty.Client and daemon.worker.BackPressureTracker.
var updates = map[string]gaugeUpdate{
	"storm_capacity_ratio": {Set: "mean of the last 3 values; a missing value counts as 0. A value is computed when a sampled tuple was executed: mean execute latency times executed tuples, divided by the time. It describes an executor and is reported by its first task",
		Over: "last 10 minutes before the tuple, or the worker's uptime if that is shorter", Held: true, Sampled: true},
	"storm_execute_latency_seconds":          {Set: lastThree, Over: overLast3, Held: true, Sampled: true},
	"storm_process_latency_seconds":          {Set: lastThree, Over: overLast3, Held: true, Sampled: true},
	"storm_complete_latency_seconds":         {Set: lastThree, Over: overLast3, Held: true, Sampled: true},
	"storm_backpressure_last_overflow_count": {Set: "set when back-pressure is sent; 0 when back-pressure has ended", Held: true},

	"storm_receive_queue_population":                 {Set: onReport},
	"storm_receive_queue_capacity":                   {Set: onReport},
	"storm_receive_queue_full_ratio":                 {Set: onReport},
	"storm_receive_queue_overflow_population":        {Set: onReport},
	"storm_receive_queue_sojourn_seconds":            {Set: sojourn, Over: "last 10 s"},
	"storm_receive_queue_arrivals_per_second":        {Set: arrivals, Over: "last 10 s"},
	"storm_receive_queue_insert_failures_per_second": {Set: arrivals, Over: "last 10 s"},
	"storm_send_queue_population":                    {Set: onReport},
	"storm_send_queue_capacity":                      {Set: onReport},
	"storm_send_queue_overflow_population":           {Set: onReport},
	"storm_send_queue_sojourn_seconds":               {Set: sojourn, Over: "last 10 s"},
	"storm_send_queue_arrivals_per_second":           {Set: arrivals, Over: "last 10 s"},

	"storm_transfer_queue_population":                 {Set: transfer},
	"storm_transfer_queue_capacity":                   {Set: transfer},
	"storm_transfer_queue_full_ratio":                 {Set: onReport},
	"storm_transfer_queue_overflow_population":        {Set: onReport},
	"storm_transfer_queue_sojourn_seconds":            {Set: sojourn, Over: "last 10 s"},
	"storm_transfer_queue_arrivals_per_second":        {Set: arrivals, Over: "last 10 s"},
	"storm_transfer_queue_insert_failures_per_second": {Set: arrivals, Over: "last 10 s"},
	"storm_connection_pending_messages":               {Set: onReport},

	"storm_worker_uptime_seconds": {Set: "read for each report, in whole seconds"},
	"storm_new_worker_event":      {Set: "1 at the first reading, then 0"},
	"storm_worker_cpu_usage_cores": {Set: "CPU time of the threads alive now minus that of the threads alive at the previous reading, divided by the time between. It is computed after at least 1 s. A thread that ended in between lowers the result by its CPU time",
		Over: "since the previous reading"},

	"storm_memory_used_bytes":      {Set: onReport},
	"storm_memory_committed_bytes": {Set: onReport},
	"storm_memory_limit_bytes":     {Set: onReport},
	"storm_memory_init_bytes":      {Set: "read at the start of the JVM", Held: true},
	"storm_memory_usage_ratio":     {Set: onReport},
	"storm_memory_unused_bytes":    {Set: onReport},
	"storm_memory_free_bytes":      {Set: onReport},

	"storm_memory_pool_used_bytes":          {Set: onReport},
	"storm_memory_pool_used_after_gc_bytes": {Set: "set by the pool's last garbage collection", Held: true},
	"storm_memory_pool_committed_bytes":     {Set: onReport},
	"storm_memory_pool_limit_bytes":         {Set: onReport},
	"storm_memory_pool_init_bytes":          {Set: "read at the start of the JVM", Held: true},
	"storm_memory_pool_usage_ratio":         {Set: onReport},

	"storm_worker_threads":            {Set: onReport},
	"storm_worker_daemon_threads":     {Set: onReport},
	"storm_worker_peak_threads":       {Set: onReport, Over: "since the start of the JVM"},
	"storm_worker_deadlocked_threads": {Set: onReport},
	"storm_worker_threads_in_state":   {Set: onReport},

	"storm_kerberos_ticket_remaining_seconds": {Set: onReport},

	"storm_cgroup_cpu_guarantee":          {Set: "read once, from cpu.shares", Held: true},
	"storm_cgroup_cpu_quota_percent":      {Set: "read once, from cpu.cfs_quota_us and cpu.cfs_period_us; read again until there is a quota", Held: true},
	"storm_cgroup_cpu_periods":            {Set: "read from cpu.stat for each report", Over: "since the cgroup was created"},
	"storm_cgroup_cpu_throttled_periods":  {Set: "read from cpu.stat for each report", Over: "since the cgroup was created"},
	"storm_cgroup_cpu_throttled_percent":  {Set: "read from cpu.stat for each report, in whole percent", Over: "since the cgroup was created"},
	"storm_cgroup_cpu_throttled_seconds":  {Set: "read from cpu.stat for each report", Over: "since the cgroup was created"},
	"storm_cgroup_memory_used_bytes":      {Set: onReport},
	"storm_cgroup_memory_limit_bytes":     {Set: onReport},
	"bullet_source_partition_lag_records": {Set: "read from Kafka for each report"},
}
