package alertrules

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// Metrics of the collector itself (/metrics) about workers and topologies that do not report at present: which worker
// has which tasks, and whether a topology was killed.
const (
	workerTasks = "bullet_metrics_worker_tasks"
	ended       = "bullet_metrics_topology_ended_timestamp_seconds"
	killed      = ended + `{how="killed"}`
	clockAhead  = "bullet_metrics_worker_clock_ahead_seconds"
	clockBack   = "bullet_metrics_worker_clock_set_back_seconds"

	// clientStopped is set when a client, such as the canary, reports its end. Since then its data are not expected.
	clientStopped = "bullet_metrics_client_stopped_timestamp_seconds"
)

// Selectors for Bullet's components.
const (
	filterBolt = `component="FilterBolt"`
	// fromRecords selects the tuples with records. FilterBolt also receives queries and ticks.
	fromRecords = filterBolt + `,source!~"QuerySpout|TickSpout|ReplayBolt|__.*"`
)

// The names of the recorded series that other Go code refers to.
const (
	workersPresent = "topology_worker:bullet_worker_heap_used_bytes:present2m"
	workersCount   = "topology:bullet_workers:count"

	gone       = "topology_worker:bullet_metrics_worker_tasks:gone"
	filterGone = "topology_worker:bullet_metrics_worker_filter_tasks:gone"
	sourceGone = "topology_worker:bullet_metrics_worker_source_tasks:gone"

	filterExecuted = "topology_worker:storm_executed:deriv5m"

	meanOfWorker, meanOf, meanRaised = "topology_worker:bullet_filter_latency_mean_seconds:max",
		"topology:bullet_filter_latency_mean_seconds:max", "topology_worker:bullet_filter_latency_mean_seconds:raised"
	p99OfWorker, p99Of, p99Raised = "topology_worker:bullet_filter_latency_seconds:p99_rate3m",
		"topology:bullet_filter_latency_seconds:p99_rate3m", "topology_worker:bullet_filter_latency_seconds:raised"
	lagOfWorker, lagOf, lagRaised = "topology_worker:bullet_source_lag_seconds:deriv5m",
		"topology:bullet_source_lag_seconds:deriv5m", "topology_worker:bullet_source_lag_seconds:raised"

	clientGone = "topology_class_worker:bullet_query_outcomes:gone"

	queryOfClient, queryLatency, queryRaised = "topology_class_worker:bullet_query_latency_seconds:p99_rate5m",
		"topology_class:bullet_query_latency_seconds:p99_rate5m",
		"topology_class_worker:bullet_query_latency_seconds:raised"
	completeOfClient, completeness,
	incompleteRaised = "topology_class_worker:bullet_query_result_completeness_ratio:avg5m",
		"topology_class:bullet_query_result_completeness_ratio:avg5m",
		"topology_class_worker:bullet_query_result_completeness_ratio:raised"

	gcShare         = "topology_worker:bullet_worker_gc_seconds:deriv5m"
	heapRatio       = "topology_worker:bullet_worker_heap_used_ratio:min5m"
	restarts        = "topology_worker:bullet_worker_restarts:increase15m"
	allRestarted    = "topology:bullet_worker_restarts:all_increase15m"
	droppedSamples  = "topology_reason:bullet_metrics_collection_dropped_samples:increase10m"
	rejectedSamples = "topology_reason:bullet_metrics_ingest_topology_rejected_samples:rate5m"
	clockSkew       = "topology:bullet_metrics_worker_clock_ahead_seconds:worst"

	stolen = "topology:bullet_host_cpu_stolen_cores:max_rate2m"
)

// skewLimit is the largest tolerated clock skew, in seconds.
var skewLimit = catalog.CollectionSkewLimit.Seconds()

// The limits that rules compare values with.
const (
	latencyLimit  = 0.2  // seconds
	queryLimit    = 10   // seconds
	completeLimit = 0.95 // ratio
	lagLimit      = 30   // seconds
	stealLimit    = 0.05 // of a host's CPU time
	// blindFrom is the clock lag from which rules miss a topology's data, in seconds. Rules read at least the last 2
	// minutes, and data are 14 s old in the normal case.
	blindFrom = 60 // seconds
	// enoughRecords is the number of records per second above which each report of FilterBolt has a latency.
	enoughRecords = 1
	// stoppedLasts is how long missing samples of a stopped topology are an alert if it is unknown why it stopped, in
	// seconds.
	stoppedLasts = 3600
)

// ofGone returns an expression that is 0 for each worker that has left. A worker has left if all tasks that it had,
// among those that tasks selects, are now reported by other workers, or if its topology was killed.
func ofGone(tasks string) string {
	return fmt.Sprintf("sum by (topology, worker) (%s) == 0\nor\n0 * sum by (topology, worker) (%s) and on (topology) %s",
		tasks, workerTasks, killed)
}

// ofRaised returns the expression of a series for Alert.Raised.
func ofRaised(ofWorker, of string, limit float64, gone string) string {
	return fmt.Sprintf("%s and on (topology) %s > %g\nor\n0 * %[1]s\nor\n%[4]s", ofWorker, of, limit, gone)
}

// ofClientGone is 0 per class for each client that reported its end, and for each client whose topology was killed.
// The last value of the client's counter is used for 5 minutes, so that every rule sees the result.
const ofClientGone = `0 * count by (topology, class, worker) (last_over_time(bullet_query_outcomes_total[5m])) and on (topology, worker) ` + clientStopped + `
or
0 * count by (topology, class, worker) (last_over_time(bullet_query_outcomes_total[5m])) and on (topology) ` + killed

// refused is the rate at which the collector refuses samples of a topology, per second. The counter is created with
// the first refused sample. If it did not exist 5 minutes ago, its total is used instead of rate(), because rate()
// does not see the first value of a counter.
const refused = `sum by (topology, reason) (
  bullet_metrics_ingest_topology_rejected_samples_total / 300 unless bullet_metrics_ingest_topology_rejected_samples_total offset 5m
  or
  rate(bullet_metrics_ingest_topology_rejected_samples_total[5m])
)`

// reloadFailed is the age of the loaded configuration, in seconds, for a collector whose last reload failed; 0 for
// others.
const reloadFailed = `max by (instance) (
  (time() - bullet_metrics_config_last_reload_success_timestamp_seconds)
  * (1 - bullet_metrics_config_last_reload_successful)
)`

// deletedForSpace is the number of slices of history that were deleted within an hour because the disk was full.
const deletedForSpace = `sum by (instance) (increase(bullet_metrics_embedded_slices_expired_total{bound="free"}[1h]))`

// recordings are the recorded series. "> -Inf" removes NaN, so that NaN counts as missing. Some series use deriv() of
// a total that never falls: rate() would fall while samples stop, and the alert would end. A worker that has left gets
// the value 0 in each held series, so that its last value is forgotten.
var recordings = []Recording{
	{workersPresent, `count by (topology, worker) (present_over_time(bullet_worker_heap_used_bytes[2m]))`},
	{workersCount, `count by (topology) (` + workersPresent + `)`},
	{gone, ofGone(workerTasks)},
	{filterGone, ofGone(workerTasks + "{" + filterBolt + "}")},
	{sourceGone, ofGone(workerTasks + " and on (topology, component) bullet_source_lag_records")},
	{filterExecuted, `sum by (topology, worker) (deriv(storm_executed_total{` + fromRecords + `}[5m]))`},
	{meanOfWorker, `max by (topology, worker) (bullet_filter_latency_mean_seconds) > -Inf`},
	{meanOf, `max by (topology) (` + meanOfWorker + `)`},
	{meanRaised, ofRaised(meanOfWorker, meanOf, latencyLimit, filterGone)},
	// When samples stop, the rate falls for three more minutes. These values mean nothing and are excluded.
	{p99OfWorker, `histogram_quantile(0.99, sum by (topology, worker) (rate(bullet_filter_latency_seconds[3m]))) > -Inf and on (topology, worker) bullet_filter_latency_seconds`},
	{p99Of, `histogram_quantile(0.99, sum by (topology) (rate(bullet_filter_latency_seconds[3m]))) > -Inf`},
	{p99Raised, ofRaised(p99OfWorker, p99Of, latencyLimit, filterGone)},
	{clientGone, ofClientGone},
	{queryOfClient, `histogram_quantile(0.99, sum by (topology, class, worker) (rate(bullet_query_latency_seconds[5m]))) > -Inf and on (topology, class, worker) bullet_query_latency_seconds`},
	{queryLatency, `histogram_quantile(0.99, sum by (topology, class) (rate(bullet_query_latency_seconds[5m]))) > -Inf`},
	// A client that reported its end comes first, because its last values remain visible for a while.
	{queryRaised, fmt.Sprintf("%s\nor\n%s and on (topology, class) %s > %d\nor\n0 * %[2]s", clientGone, queryOfClient,
		queryLatency, queryLimit)},
	{completeOfClient, `avg by (topology, class, worker) (avg_over_time(bullet_query_result_completeness_ratio[5m])) > -Inf and on (topology, class, worker) bullet_query_result_completeness_ratio`},
	{completeness, `avg by (topology, class) (avg_over_time(bullet_query_result_completeness_ratio[5m])) > -Inf`},
	{incompleteRaised, fmt.Sprintf("%s + 1\nor\n%s and on (topology, class) %s < %g\nor\n0 * %[2]s + 1", clientGone,
		completeOfClient, completeness, completeLimit)},
	{gcShare, `sum by (topology, worker) (deriv(bullet_worker_gc_seconds_total[5m])) > -Inf` + orGone},
	{heapRatio, `min by (topology, worker) (min_over_time(bullet_worker_heap_used_bytes[5m])) / max by (topology, worker) (bullet_worker_heap_limit_bytes) > -Inf` + orGone},
	{restarts, `max by (topology, worker) (bullet_worker_restarts_total) - min by (topology, worker) (min_over_time(bullet_worker_restarts_total[15m])) > -Inf` + orGone},
	{allRestarted, fmt.Sprintf("max by (topology) (%s) and on (topology) count by (topology) (%[1]s > 0) > 1 and on (topology) count by (topology) (%[1]s > 0) >= on (topology) %s",
		restarts, workersCount)},
	{lagOfWorker, `sum by (topology, worker) (bullet_source_lag_records) / sum by (topology, worker) (deriv(bullet_source_records_total[5m])) > -Inf`},
	{lagOf, `sum by (topology) (bullet_source_lag_records) / sum by (topology) (deriv(bullet_source_records_total[5m])) > -Inf`},
	{lagRaised, ofRaised(lagOfWorker, lagOf, lagLimit, sourceGone)},
	{droppedSamples, `sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total) - sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total offset 10m) > -Inf
or
sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total) > -Inf unless sum by (topology, reason) (bullet_metrics_collection_dropped_samples_total offset 10m)`},
	{rejectedSamples, refused + ` > -Inf`},
	// The skew is measured with the collector's clock. Slices of a worker whose clock is behind are outside the range
	// that rules read.
	{clockSkew, fmt.Sprintf("min by (topology) (%s) < -%g\nor\nmax by (topology) (%[1]s) > -Inf", clockAhead,
		skewLimit)},
	// No alert uses this series. The page's CPU figure uses it over long time ranges; over short ones it queries each
	// host.
	{stolen, fmt.Sprintf(
		`max by (topology) (rate(bullet_host_cpu_seconds_total{mode="steal"}[2m]) >= ignoring (mode) %g * bullet_host_cpu_cores)`,
		stealLimit)},
}

const orGone = "\nor\n" + gone

// Recordings returns the recorded series that the alerts need, and one that the page draws.
func Recordings() []Recording { return recordings }

// Whole returns the expression with all other recorded series expanded.
func (r Recording) Whole() string { return spelledOut(r.Expr) }

// spelledOut returns an expression in which each recorded series is replaced by its own expression, in parentheses.
func spelledOut(expression string) string {
	for i := len(recordings) - 1; i >= 0; i-- { // a recording refers only to earlier ones
		expression = strings.ReplaceAll(expression, recordings[i].Name, "("+recordings[i].Expr+")")
	}
	return expression
}

// setBack finds topologies with a worker whose clock was set back, with the largest step in seconds. Such a clock may
// be right again. Its samples are nevertheless refused until it has passed the newest time that the worker had
// reported.
var setBack = fmt.Sprintf(`label_replace(max by (topology) (%s), "cause", "set_back", "", "")`, clockBack)

// brokenFiles finds ports with an unusable security file. The value is the number of collectors that have the problem.
const brokenFiles = `sum by (port) (bullet_metrics_security_files_broken)`

// blind finds everything that reported before and does not report now:
//   - topologies;
//   - single workers of topologies that report;
//   - the filter latency of workers that report, and that either filter records or whose last latency was above the
//     limit;
//   - query metrics of silent clients whose last value raised an alert.
//
// A killed topology does not count, nor one that stopped more than an hour ago for an unknown reason. A worker whose
// tasks run elsewhere does not count either. Topologies and workers whose clock is behind or was set back are
// excluded, because BulletClockSkew reports them.
var blind = fmt.Sprintf(`(
  last_over_time(%s[1d]) unless %[1]s
)
unless on (topology) %[2]s
unless on (topology) (time() - %[3]s{how="stopped"} > %[4]d)
unless on (topology) %[11]s < -%[13]d
unless on (topology) %[14]s > %[13]d
or
(
  last_over_time(%[5]s[1d]) unless %[5]s
  and on (topology) %[1]s
  unless on (topology, worker) %[6]s
  unless on (topology, worker) %[12]s < -%[13]d
  unless on (topology, worker) %[14]s > %[13]d
)
or
%[7]s
or
%[8]s
or
%[9]s
or
%[10]s`, workersCount, killed, ended, stoppedLasts, workersPresent, gone, blindOf("bullet_filter_latency_mean_seconds", meanRaised), blindOf("bullet_filter_latency_seconds", p99Raised),
	blindOfClient("bullet_query_latency_seconds", queryRaised, ">", queryLimit),
	blindOfClient("bullet_query_result_completeness_ratio", incompleteRaised, "<", completeLimit),
	clockSkew, clockAhead, blindFrom, clockBack)

// blindOf finds workers that report now, but not this metric. Workers that report nothing are found by the absence of
// their heap metric instead. All of them are silent while the worker of the metrics consumer restarts, and their
// slices may then end without a gap marker, two minutes later.
func blindOf(metric, raised string) string {
	return fmt.Sprintf(`label_replace(
  last_over_time(%s[1d]) unless %[1]s
  and on (topology, worker) %[2]s and on (topology, worker) bullet_worker_heap_used_bytes
  and on (topology, worker) (%[3]s > %[4]d or last_over_time(%[1]s[1d]) > %[6]g),
  "metric", "%[5]s", "", ""
)`, raised, workersPresent, filterExecuted, enoughRecords, metric, latencyLimit)
}

// blindOfClient finds clients that no longer report and whose last value of this metric was bad.
func blindOfClient(metric, raised, bad string, limit float64) string {
	return fmt.Sprintf(`label_replace(
  last_over_time(%s[1d]) %s %g
  unless on (topology, class, worker) bullet_query_outcomes_total
  unless on (topology, class, worker) %[1]s,
  "metric", "%[4]s", "", ""
)`, raised, bad, limit, metric)
}

// blindInGrafana is blind without recorded series and for the last hour only. It does not check filter latencies.
var blindInGrafana = spelledOut(fmt.Sprintf(`count by (topology) (present_over_time(bullet_worker_heap_used_bytes[1h])) unless on (topology) %s unless on (topology) %s
or
count by (topology, worker) (present_over_time(bullet_worker_heap_used_bytes[1h])) unless %s and on (topology) %[1]s unless on (topology, worker) (%[4]s)`,
	workersCount, killed, workersPresent, gone))
