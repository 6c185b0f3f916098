package alertrules

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// What the collector knows of those that it does not hear (its own figures, on /metrics): where tasks are reported
// from, and that a topology was killed.
const (
	workerTasks = "bullet_metrics_worker_tasks"
	ended       = "bullet_metrics_topology_ended_timestamp_seconds"
	killed      = ended + `{how="killed"}`
	clockAhead  = "bullet_metrics_worker_clock_ahead_seconds"
	clockBack   = "bullet_metrics_worker_clock_set_back_seconds"

	// A client that measures from outside, such as the canary, said that it ends: since then it is not missed.
	clientStopped = "bullet_metrics_client_stopped_timestamp_seconds"
)

// What rules name of Bullet.
const (
	filterBolt = `component="FilterBolt"`
	// fromRecords are the tuples that FilterBolt filters: it executes queries and ticks too.
	fromRecords = filterBolt + `,source!~"QuerySpout|TickSpout|ReplayBolt|__.*"`
)

// The series that alerts go by, each a noun of its own in Go where another rule names it.
const (
	workersPresent = "topology_worker:bullet_worker_heap_used_bytes:present2m"
	workersCount   = "topology:bullet_workers:count"

	gone       = "topology_worker:bullet_metrics_worker_tasks:gone"
	filterGone = "topology_worker:bullet_metrics_worker_filter_tasks:gone"
	sourceGone = "topology_worker:bullet_metrics_worker_source_tasks:gone"

	filterExecuted = "topology_worker:storm_executed:deriv5m"

	meanOfWorker, meanOf, meanRaised = "topology_worker:bullet_filter_latency_mean_seconds:max",
		"topology:bullet_filter_latency_mean_seconds:max", "topology_worker:bullet_filter_latency_mean_seconds:raised"
	p99OfWorker, p99Of, p99Raised = "topology_worker:bullet_filter_latency_seconds:p99_rate2m",
		"topology:bullet_filter_latency_seconds:p99_rate2m", "topology_worker:bullet_filter_latency_seconds:raised"
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

// skewLimit is how far a clock may be off, seconds.
var skewLimit = catalog.CollectionSkewLimit.Seconds()

// What the rules hold values to.
const (
	latencyLimit  = 0.2  // seconds
	queryLimit    = 10   // seconds
	completeLimit = 0.95 // ratio
	lagLimit      = 30   // seconds
	stealLimit    = 0.05 // of a host's CPU time
	// blindFrom is from how far behind on rules miss a topology: they look at the last minutes, 2 at the least, and
	// what they find is 41 s old where all is well.
	blindFrom = 60 // seconds
	// enoughRecords is how many records a second FilterBolt filters when each of its reports has a latency.
	enoughRecords = 1
	// stoppedLasts is how long samples are missed of a topology of which only its stopping is known, seconds.
	stoppedLasts = 3600
)

// ofGone is 0 for each worker that has left: the tasks that a selector chooses, of those that it had, are all reported
// from elsewhere, or its topology was killed.
func ofGone(tasks string) string {
	return fmt.Sprintf("sum by (topology, worker) (%s) == 0\nor\n0 * sum by (topology, worker) (%s) and on (topology) %s",
		tasks, workerTasks, killed)
}

// ofRaised is what each worker has to do with a value of its topology (see Alert.Raised).
func ofRaised(ofWorker, of string, limit float64, gone string) string {
	return fmt.Sprintf("%s and on (topology) %s > %g\nor\n0 * %[1]s\nor\n%[4]s", ofWorker, of, limit, gone)
}

// ofClientGone is 0 for each client that said that it ends, and where the topology was killed, by class. What it counts
// last stands for the 5 minutes after it, in which every rule sees it.
const ofClientGone = `0 * count by (topology, class, worker) (last_over_time(bullet_query_outcomes_total[5m])) and on (topology, worker) ` + clientStopped + `
or
0 * count by (topology, class, worker) (last_over_time(bullet_query_outcomes_total[5m])) and on (topology) ` + killed

// refused is how many samples of a topology the collector refuses a second. The counter is there from the first of them
// on: where there was none 5 minutes ago, all that it has counts, since rate() sees nothing of what a counter begins
// with.
const refused = `sum by (topology, reason) (
  bullet_metrics_ingest_topology_rejected_samples_total / 300 unless bullet_metrics_ingest_topology_rejected_samples_total offset 5m
  or
  rate(bullet_metrics_ingest_topology_rejected_samples_total[5m])
)`

// reloadFailed is for how long a collector goes by what it read last, where its last reload failed; 0 elsewhere.
const reloadFailed = `max by (instance) (
  (time() - bullet_metrics_config_last_reload_success_timestamp_seconds)
  * (1 - bullet_metrics_config_last_reload_successful)
)`

// deletedForSpace is how many slices of history went in an hour since the disk was full.
const deletedForSpace = `sum by (instance) (increase(bullet_metrics_embedded_slices_expired_total{bound="free"}[1h]))`

// The series that alerts go by. "> -Inf" leaves out what is no number, so that NaN counts as missing. Where a number
// stands alone it is deriv() of the total, which never falls here: rate() would sink while samples stop, and with it
// the alert. A worker that has left is 0 in what is held of each: what it said last is forgotten for good.
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
	// Of a stream that stopped the rate sinks for two minutes more: nothing is to be learnt from that.
	{p99OfWorker, `histogram_quantile(0.99, sum by (topology, worker) (rate(bullet_filter_latency_seconds[2m]))) > -Inf and on (topology, worker) bullet_filter_latency_seconds`},
	{p99Of, `histogram_quantile(0.99, sum by (topology) (rate(bullet_filter_latency_seconds[2m]))) > -Inf`},
	{p99Raised, ofRaised(p99OfWorker, p99Of, latencyLimit, filterGone)},
	{clientGone, ofClientGone},
	{queryOfClient, `histogram_quantile(0.99, sum by (topology, class, worker) (rate(bullet_query_latency_seconds[5m]))) > -Inf and on (topology, class, worker) bullet_query_latency_seconds`},
	{queryLatency, `histogram_quantile(0.99, sum by (topology, class) (rate(bullet_query_latency_seconds[5m]))) > -Inf`},
	// A client that said that it ends comes first: its last values can still be seen for a while.
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
	// By the collector's own time: what the slicer writes of a clock that is behind lies where no rule looks.
	{clockSkew, fmt.Sprintf("min by (topology) (%s) < -%g\nor\nmax by (topology) (%[1]s) > -Inf", clockAhead,
		skewLimit)},
	// No alert goes by it: the page's figure of CPU does, over long times, and asks each host itself over short ones.
	{stolen, fmt.Sprintf(
		`max by (topology) (rate(bullet_host_cpu_seconds_total{mode="steal"}[2m]) >= ignoring (mode) %g * bullet_host_cpu_cores)`,
		stealLimit)},
}

const orGone = "\nor\n" + gone

// Recordings are the series that the alerts go by, and one that the page draws.
func Recordings() []Recording { return recordings }

// Whole is the expression without other recorded series.
func (r Recording) Whole() string { return spelledOut(r.Expr) }

// spelledOut is an expression without recorded series: each is written out where it is named, in brackets.
func spelledOut(expression string) string {
	for i := len(recordings) - 1; i >= 0; i-- { // none names one that comes after it
		expression = strings.ReplaceAll(expression, recordings[i].Name, "("+recordings[i].Expr+")")
	}
	return expression
}

// setBack finds topologies of which a worker's clock was set back, with the most by which one was. A clock that is
// right since is no longer off, but what it reports is refused until it has passed the newest time that it had shown.
var setBack = fmt.Sprintf(`label_replace(max by (topology) (%s), "cause", "set_back", "", "")`, clockBack)

// brokenFiles finds the ports of which a file cannot be used, with the number of collectors that cannot.
const brokenFiles = `sum by (port) (bullet_metrics_security_files_broken)`

// blind finds what reported and does not any more: topologies, single workers of topologies that do report, and the
// filter latency of workers that report and either filter records or stand above the limit with what they said last,
// and the queries of clients that raised an alert and are silent. A topology that was killed is no loss, nor one of
// which only its stopping is known, once that is an hour ago; nor is a worker whose tasks are elsewhere, nor what
// reports by a clock that is behind or was set back, of which BulletClockSkew warns.
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

// blindOf finds workers that report now, but not this metric. Those that report nothing, as all do while the metrics
// consumer's worker starts again, are missed by their heap and in its time: where its slices end without a gap's
// marker, two minutes later.
func blindOf(metric, raised string) string {
	return fmt.Sprintf(`label_replace(
  last_over_time(%s[1d]) unless %[1]s
  and on (topology, worker) %[2]s and on (topology, worker) bullet_worker_heap_used_bytes
  and on (topology, worker) (%[3]s > %[4]d or last_over_time(%[1]s[1d]) > %[6]g),
  "metric", "%[5]s", "", ""
)`, raised, workersPresent, filterExecuted, enoughRecords, metric, latencyLimit)
}

// blindOfClient finds clients that report nothing any more and what they said last of this metric was bad.
func blindOfClient(metric, raised, bad string, limit float64) string {
	return fmt.Sprintf(`label_replace(
  last_over_time(%s[1d]) %s %g
  unless on (topology, class, worker) bullet_query_outcomes_total
  unless on (topology, class, worker) %[1]s,
  "metric", "%[4]s", "", ""
)`, raised, bad, limit, metric)
}

// blindInGrafana is blind without recorded series, over an hour; what a worker's filter latency was is not looked at.
var blindInGrafana = spelledOut(fmt.Sprintf(`count by (topology) (present_over_time(bullet_worker_heap_used_bytes[1h])) unless on (topology) %s unless on (topology) %s
or
count by (topology, worker) (present_over_time(bullet_worker_heap_used_bytes[1h])) unless %s and on (topology) %[1]s unless on (topology, worker) (%[4]s)`,
	workersCount, killed, workersPresent, gone))
