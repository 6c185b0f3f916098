package alert

import "time"

// What rules wait for: a slice that is complete is in the store a tick, a slice's width and the lateness after its end.
const (
	tick       = time.Second
	sliceWidth = 10 * time.Second
	lateness   = 30 * time.Second

	// QueryOffset is how far rules look back.
	QueryOffset = tick + sliceWidth + lateness
	// Interval is how often they are evaluated.
	Interval = 15 * time.Second
)

// The series that alerts go by. "> -Inf" leaves out what is no number, so that NaN counts as missing. Where a
// number stands alone it is deriv() of the total, which never falls here: rate() would sink while samples stop, and with it the alert.
var recordings = []Recording{
	{"topology:bullet_workers:count", `count by (topology) (count by (topology, worker) (present_over_time(bullet_worker_heap_used_bytes[2m])))`},
	{"topology:bullet_filter_latency_mean_seconds:max", `max by (topology) (bullet_filter_latency_mean_seconds) > -Inf`},
	{"topology:bullet_filter_latency_seconds:p99_rate2m", `histogram_quantile(0.99, sum by (topology) (rate(bullet_filter_latency_seconds[2m]))) > -Inf`},
	{"topology_class:bullet_query_latency_seconds:p99_rate5m", `histogram_quantile(0.99, sum by (topology, class) (rate(bullet_query_latency_seconds[5m]))) > -Inf`},
	{"topology_class:bullet_query_result_completeness_ratio:avg5m", `avg by (topology, class) (avg_over_time(bullet_query_result_completeness_ratio[5m])) > -Inf`},
	{"topology_worker:bullet_worker_gc_seconds:deriv5m", `sum by (topology, worker) (deriv(bullet_worker_gc_seconds_total[5m])) > -Inf`},
	{"topology_worker:bullet_worker_heap_used_ratio:min5m", `min by (topology, worker) (min_over_time(bullet_worker_heap_used_bytes[5m])) / max by (topology, worker) (bullet_worker_heap_limit_bytes) > -Inf`},
	{"topology_worker:bullet_worker_restarts:increase15m", `max by (topology, worker) (bullet_worker_restarts_total) - min by (topology, worker) (min_over_time(bullet_worker_restarts_total[15m])) > -Inf`},
	{"topology:bullet_source_lag_seconds:deriv5m", `sum by (topology) (bullet_source_lag_records) / sum by (topology) (deriv(bullet_source_records_total[5m])) > -Inf`},
	{"topology_reason:bullet_metrics_collection_dropped_samples:increase10m", `sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total) - sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total offset 10m) > -Inf
or
sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total) > -Inf unless sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total offset 10m)`},
	{"topology_reason:bullet_metrics_ingest_topology_rejected_samples:rate5m", refused + ` > -Inf`},
	{"topology_worker:bullet_metrics_collection_skew_seconds:max_abs", `max by (topology, worker) (abs(bullet_metrics_collection_skew_seconds)) > -Inf`},
}

// refused is how many samples of a topology the collector refuses a second. The counter is there from the first of them on: where there was
// none 5 minutes ago, all that it has counts, since rate() sees nothing of what a counter begins with.
const refused = `sum by (topology, reason) (
  bullet_metrics_ingest_topology_rejected_samples_total / 300 unless bullet_metrics_ingest_topology_rejected_samples_total offset 5m
  or
  rate(bullet_metrics_ingest_topology_rejected_samples_total[5m])
)`

const day = 24 * time.Hour

var alerts = []Alert{
	{
		Name: "BulletFilterLatencyMeanHigh", Severity: Critical,
		Value: "topology:bullet_filter_latency_mean_seconds:max", Limit: 0.2, Unit: Seconds,
		For: time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: []string{"topology"},
		Summary:     "Filter latency of {topology} is {value} in Bullet's mean, above 200 ms",
		Description: "The largest mean that a task of FilterBolt in {topology} reports, from a record's timestamp to its being filtered, is {value}; the limit is 200 ms. The statistic is the mean over Bullet's own interval (bullet_filter_latency_mean_seconds).",
	},
	{
		Name: "BulletFilterLatencyP99High", Severity: Warning,
		Value: "topology:bullet_filter_latency_seconds:p99_rate2m", Limit: 0.2, Unit: Seconds,
		For: time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: []string{"topology"},
		Summary:     "Filter latency of {topology} is {value} at the 99th percentile, above 200 ms",
		Description: "One record in a hundred of {topology} is filtered later than {value} after its timestamp; the limit is 200 ms. The statistic is the p99 of the last 2 minutes of the latency hook's histogram over all tasks (bullet_filter_latency_seconds).",
	},
	{
		Name: "BulletQueryLatencyP99High", Severity: Warning,
		Value: "topology_class:bullet_query_latency_seconds:p99_rate5m", Limit: 10, Unit: Seconds,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: []string{"topology", "class"},
		Summary:     "{class} queries to {topology} take {value} at the 99th percentile",
		Description: "One in a hundred {class} queries to {topology} takes longer than {value} from when it was meant to start to its result; the limit is 10 s. The statistic is the p99 of the last 5 minutes as clients, the canary or a load program, see it (bullet_query_latency_seconds).",
	},
	{
		Name: "BulletGCShareHigh", Severity: Warning,
		Value: "topology_worker:bullet_worker_gc_seconds:deriv5m", Limit: 0.1, Unit: Ratio,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary:     "Worker {worker} of {topology} spends {value} of its time in garbage collection",
		Description: "Worker {worker} of {topology} spent {value} of the last 5 minutes in garbage collection, all its collectors together; the limit is 10%.",
	},
	{
		Name: "BulletHeapNearLimit", Severity: Warning,
		Value: "topology_worker:bullet_worker_heap_used_ratio:min5m", Limit: 0.9, Unit: Ratio,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary:     "The heap of worker {worker} of {topology} does not come below {value} of its limit",
		Description: "The least heap in use of worker {worker} of {topology} in the last 5 minutes, collections included, was {value} of the most that its JVM may use; the limit is 90%.",
	},
	{
		Name: "BulletWorkerRestarted", Severity: Warning,
		Value: "topology_worker:bullet_worker_restarts:increase15m", Limit: 0, Unit: Number,
		For: 0, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary:     "Worker {worker} of {topology} started anew, {value} times in 15 minutes",
		Description: "The process of worker {worker} of {topology} was seen started anew {value} times in the last 15 minutes. What it held is lost, its queries too unless Bullet replays them.",
	},
	{
		Name: "BulletSourceFallingBehind", Severity: Critical,
		Value: "topology:bullet_source_lag_seconds:deriv5m", Limit: 30, Unit: Seconds,
		For: 2 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: []string{"topology"},
		Summary:     "{topology} is {value} behind its source",
		Description: "The records that wait to be read for {topology} are {value} of reading at the rate of the last 5 minutes; the limit is 30 s. Infinite means that nothing is read at all.",
	},
	{
		Name: "BulletQueriesIncomplete", Severity: Critical,
		Value: "topology_class:bullet_query_result_completeness_ratio:avg5m", Below: true, Limit: 0.95, Unit: Ratio,
		For: 2 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: []string{"topology", "class"},
		Summary:     "{class} queries to {topology} get {value} of the records that they should",
		Description: "Results of {class} queries to {topology} had {value} of the records that were generated to match in the mean of the last 5 minutes; the limit is 95%. What is missing was lost in the topology.",
	},
	{
		Name: "BulletMetricsCollectorBlind", Severity: Critical,
		Value: "last_over_time(topology:bullet_workers:count[1d]) unless topology:bullet_workers:count", Bare: true, Unit: Number,
		For: time.Minute, Keep: 2 * time.Minute,
		Summary:     "No samples of {topology}: nothing is known of it",
		Description: "No worker of {topology} reported its heap in the last 2 minutes; {value} did before. Other alerts about {topology} stand as they were when the samples stopped.",
		Grafana:     `count by (topology) (count by (topology, worker) (present_over_time(bullet_worker_heap_used_bytes[1h]))) unless count by (topology) (count by (topology, worker) (present_over_time(bullet_worker_heap_used_bytes[2m])))`,
	},
	{
		Name: "BulletMetricsPluginDropping", Severity: Warning,
		Value: "topology_reason:bullet_metrics_collection_dropped_samples:increase10m", Limit: 0, Unit: Number,
		For: 0, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary:     "The plugin in {topology} dropped {value} samples in 10 minutes ({reason})",
		Description: "The plugin in {topology} dropped {value} samples in the last 10 minutes before they reached the collector, for the reason {reason}. They are gaps in every figure.",
	},
	{
		// Nothing is held where the figure is missing: it is the collector's own, and one that restarts refuses nothing.
		Name: "BulletMetricsRefusing", Severity: Warning,
		Value: "topology_reason:bullet_metrics_ingest_topology_rejected_samples:rate5m > 0", Bare: true, Unit: Number,
		For: time.Minute, Keep: 5 * time.Minute,
		Summary:     "The collector refuses {value} samples a second of {topology} ({reason})",
		Description: "The collector refused {value} samples a second of {topology} in the last 5 minutes, for the reason {reason}. They are not acknowledged, not stored and not sent again: gaps in every figure. The runbook lists what to do for each reason.",
		Grafana:     refused,
	},
	{
		Name: "BulletClockSkew", Severity: Warning,
		Value: "topology_worker:bullet_metrics_collection_skew_seconds:max_abs", Limit: 0.5, Unit: Seconds,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary:     "The clock of worker {worker} of {topology} is {value} off",
		Description: "The clock of worker {worker} of {topology} and the collector's are {value} apart, the transit of its freshest sample included; the limit is 500 ms. Latencies between hosts are wrong by as much.",
	},
	{
		Name: "BulletMetricsWatchdog", Severity: None,
		Value: "vector(1)", Bare: true, Unit: Number,
		Summary:     "Alerts about Bullet are evaluated and delivered",
		Description: "It fires always. Whoever receives alerts is to be told when it stops: then the collector, Prometheus, Alertmanager or the way between them is dead.",
	},
}

// Alerts are all of them, in the order of the rule file.
func Alerts() []Alert { return alerts }

// Recordings are the series that the alerts go by.
func Recordings() []Recording { return recordings }
