package alertrules

import (
	"fmt"
	"time"
)

// The delays that rules have to wait for. A complete slice is in the store one tick, one slice width and the lateness
// after its end. The lateness is that of a topology with a sole sender.
const (
	tick       = time.Second
	sliceWidth = 10 * time.Second
	lateness   = 3 * time.Second

	// QueryOffset is how far in the past rules are evaluated, so that all slices they read are complete.
	QueryOffset = tick + sliceWidth + lateness
	// Interval is the time between two evaluations.
	Interval = 10 * time.Second
)

const day = 24 * time.Hour

// clocksOff returns a template for Prometheus. It lists the five workers of a topology with the largest clock error
// according to the metric by.
func clocksOff(by string, limit float64) string {
	return fmt.Sprintf(`{{ range $i, $w := query (printf "sort_desc(max by (worker) (abs(%s{ topology=%%q})) > %g)" $labels.topology) }}{{ if lt $i 5 }}{{ if $i }},{{ end }} {{ $w.Labels.worker }} ({{ %s }}){{ end }}{{ end }}`,
		by, limit, formatted("$w.Value", Seconds))
}

// clockDirection is a template for the direction of the clock error in BulletClockSkew.
const clockDirection = "{{ if lt {raw} 0.0 }}behind{{ else }}ahead of{{ end }}"

// times is a template for a number of restarts.
const times = "{{ if eq {raw} 1.0 }}once{{ else }}{value} times{{ end }}"

var (
	ofWorker = []string{"topology", "worker"}
	// ofClient are the labels of clients that send queries. A client has one series for each class of queries. Its
	// worker label ("HOST:0") identifies the client, although it is not a worker.
	ofClient = []string{"topology", "class", "worker"}
)

// latencyBursts joins bursts of slow records to one alert. With the 3 minutes over which a percentile is taken, bursts
// that are up to 5 minutes apart are one alert.
const latencyBursts = 2 * time.Minute

// overLimit is a template for a filter latency that is above its limit, or was within Alert.Bursts.
func overLimit(statistic string) string {
	return fmt.Sprintf("{{ if gt {raw} %g }}is {value} (%s), above the 200 ms limit{{ else }}was above the 200 ms limit within the last %[3]g minutes; it is {value} (%[2]s) now{{ end }}",
		latencyLimit, statistic, latencyBursts.Minutes())
}

var alerts = []Alert{
	{Name: "BulletFilterLatencyMeanHigh", Severity: Critical,
		Value: meanOf, Raised: meanRaised, Limit: latencyLimit, Unit: Seconds,
		For: time.Minute, Bursts: latencyBursts, Keep: 30 * time.Second, Hold: day, HoldBy: ofWorker,
		Summary:     "Filter latency of {topology} " + overLimit("mean"),
		Description: "The slowest FilterBolt task of {topology} filters records {value} after their timestamp on average; the limit is 200 ms. The value is the mean that Bullet reports (bullet_filter_latency_mean_seconds)."},
	{Name: "BulletFilterLatencyP99High", Severity: Warning,
		Value: p99Of, Raised: p99Raised, Limit: latencyLimit, Unit: Seconds,
		For: 0, Bursts: latencyBursts, Keep: 30 * time.Second, Hold: day, HoldBy: ofWorker,
		Summary:     "Filter latency of {topology} " + overLimit("p99"),
		Description: "1% of the records of {topology} are filtered more than {value} after their timestamp; the limit is 200 ms. The value is the 99th percentile over all tasks and the last 3 minutes (bullet_filter_latency_seconds)."},
	{Name: "BulletQueryLatencyP99High", Severity: Warning,
		Value: queryLatency, Raised: queryRaised, Limit: queryLimit, Unit: Seconds,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofClient,
		Summary:     "{class} queries to {topology} take {value} (p99), above the 10 s limit",
		Description: "1% of the {class} queries to {topology} take longer than {value} from their planned start to the result; the limit is 10 s. The value is the 99th percentile of the last 5 minutes, measured by the canary or a load client (bullet_query_latency_seconds)."},
	{Name: "BulletGCShareHigh", Severity: Warning,
		Value: gcShare, Limit: 0.1, Unit: Ratio,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: ofWorker,
		Summary:     "Worker {worker} of {topology} spends {value} of its time in garbage collection pauses, above the 10% limit",
		Description: "Garbage collection paused worker {worker} of {topology} for {value} of the last 5 minutes; the limit is 10%. The value is the sum over all its garbage collectors."},
	{Name: "BulletHeapNearLimit", Severity: Warning,
		Value: heapRatio, Limit: 0.9, Unit: Ratio,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: ofWorker,
		Summary:     "The heap of worker {worker} of {topology} is {value} full, even after garbage collection",
		Description: "The lowest heap usage of worker {worker} of {topology} in the last 5 minutes was {value} of the JVM's maximum; the limit is 90%. Garbage collection no longer frees enough memory."},
	{Name: "BulletWorkerRestarted", Severity: Warning,
		Value: restarts, Limit: 0, Unit: Number,
		For: 0, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: ofWorker, Together: allRestarted,
		Summary: "{{ if $labels.worker }}Worker {worker} of {topology} restarted " + times + "{{ else }}All workers of {topology} restarted, each at most " + times + ",{{ end }} in the last 15 minutes",
		Description: "{{ if $labels.worker }}The process of worker {worker} of {topology} restarted " + times + " in the last 15 minutes. Its state is lost, including its queries unless Bullet replays them." +
			"{{ else }}All workers of {topology} restarted in the last 15 minutes, each at most " + times + ". Either the topology was restarted or rebalanced, or the workers failed for the same reason. Their state is lost, including their queries unless Bullet replays them.{{ end }}"},
	{Name: "BulletSourceFallingBehind", Severity: Critical,
		Value: lagOf, Raised: lagRaised, Limit: lagLimit, Unit: Seconds,
		For: 2 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofWorker,
		Summary:     "{topology} {{ if gt {raw} 1e300 }}does not read from its source{{ else }}is {value} behind its source, above the 30 s limit{{ end }}",
		Description: "{{ if gt {raw} 1e300 }}Records wait at the source of {topology}, but it read none in the last 5 minutes.{{ else }}At its rate of the last 5 minutes, {topology} needs {value} to read the records that wait at its source; the limit is 30 s.{{ end }}"},
	{Name: "BulletQueriesIncomplete", Severity: Critical,
		Value: completeness, Raised: incompleteRaised, Below: true, Limit: completeLimit, Unit: Ratio,
		For: 2 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofClient,
		Summary:     "Results of {class} queries to {topology} contain only {value} of the expected records",
		Description: "In the last 5 minutes, results of {class} queries to {topology} contained {value} of the expected records on average; the limit is 95%. The other records were lost, or arrived too late for their query."},
	{Name: "BulletMetricsCollectorBlind", Severity: Critical,
		Value: blind, Bare: true, Unit: Number,
		For: time.Minute, Keep: 2 * time.Minute,
		Summary: "No {{ if $labels.metric }}{{ $labels.metric }}{{ else }}samples{{ end }} from {{ if $labels.worker }}{{ if $labels.class }}client{{ else }}worker{{ end }} {worker} of {{ end }}{topology}: its state is unknown",
		Description: "{{ if $labels.class }}Client {worker} measures {class} queries to {topology}. It stopped reporting without announcing its end; its last {{ $labels.metric }}, {value}, raised an alert." +
			"{{ else if $labels.metric }}Worker {worker} of {topology} still reports, but not {{ $labels.metric }}.{{ if gt {raw} 0.0 }} Its last value, {value} s, raised an alert.{{ end }}" +
			"{{ else if $labels.worker }}Worker {worker} of {topology} did not report its heap in the last 2 minutes. No other worker reports its tasks." +
			"{{ else }}No worker of {topology} reported its heap in the last 2 minutes; {value} did before.{{ end }} Other alerts about {topology} keep their last state.",
		More:    `{{ range query (printf "bullet_metrics_topology_ended_timestamp_seconds{ topology=%q, how=\"stopped\"}" $labels.topology) }} Storm stopped the metrics consumer of {{ $labels.topology }}, so it was killed or is being rebalanced. If it is not known which, this alert ends after an hour.{{ end }}`,
		Grafana: blindInGrafana},
	{Name: "BulletMetricsPluginDropping", Severity: Warning,
		Value: droppedSamples, Limit: 0, Unit: Number,
		For: 0, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary:     "The plugin in {topology} dropped {value} samples in the last 10 minutes ({reason})",
		Description: "The plugin in {topology} dropped {value} samples in the last 10 minutes, before they reached the collector (reason: {reason}). Metrics of {topology} have gaps."},
	// The value is not held if the metric is missing. It is the collector's own metric, and a collector that restarts
	// refuses nothing.
	{Name: "BulletMetricsRefusing", Severity: Warning,
		Value: rejectedSamples + " > 0", Bare: true, Unit: Number,
		For: time.Minute, Keep: 5 * time.Minute,
		Summary:     "The collector refuses {value} samples per second from {topology} ({reason})",
		Description: "The collector refused {value} samples per second from {topology} in the last 5 minutes (reason: {reason}). It does not store them, and the plugin does not send them again, so metrics of {topology} have gaps. The runbook lists what to do for each reason.",
		Grafana:     refused},
	// The value is not held if the metric is missing. It is the collector's own metric, and a collector does not start
	// with a broken file.
	{Name: "BulletMetricsSecurityFilesBroken", Severity: Critical,
		Value: brokenFiles + " > 0", Bare: true, Unit: Number, Grafana: brokenFiles,
		For: time.Minute, Keep: 2 * time.Minute,
		Summary:     "A file that controls access to the collector's {port} port cannot be used",
		Description: "A file of the {port} port is missing, invalid or empty: the token file, the web configuration, the client CA, or the port's certificate. This affects {value} of the collectors. Without a valid access file, the port refuses all clients. The collector's log and /-/ready name the file."},
	// For is 5 min because repairing a file may take several attempts.
	{Name: "BulletMetricsReloadFailed", Severity: Warning,
		Value: reloadFailed + " > 0", Bare: true, Unit: Seconds, Grafana: reloadFailed,
		For: 5 * time.Minute, Keep: 2 * time.Minute,
		Summary:     "Collector {instance} could not reload its rules and access files",
		Description: "The last reload of collector {instance} failed. It still uses the rules and settings of {value} ago, and may not start with the current files. The collector's log names the file and the line."},
	{Name: "BulletMetricsHistoryDeleted", Severity: Critical,
		Value: deletedForSpace + " > 0", Bare: true, Unit: Number, Grafana: deletedForSpace,
		For: 0, Keep: 5 * time.Minute,
		Summary:     "The disk of collector {instance} is full: about {value} slices of history were deleted in the last hour",
		Description: "The disk of collector {instance} was full for so long that the embedded store deleted its oldest slices, about {value} in the last hour. They cannot be recovered. The collector's log names their time range."},
	// There is one alert per topology, although each worker has a clock. Mostly there is one cause, and all data of
	// the topology are affected.
	{Name: "BulletClockSkew", Severity: Warning, CriticalBeyond: blindFrom,
		Value: clockSkew, Also: setBack, BothSides: true, Limit: skewLimit, Unit: Seconds,
		For: 15 * time.Second, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary: "A worker's clock in {topology} {{ if $labels.cause }}was set back by at least {size}{{ else }}is at least {size} " + clockDirection + " the collector's{{ end }}{{ if or (lt {raw} -60.0) (and $labels.cause (gt {raw} 60.0)) }}: other alerts about {topology} may not fire{{ end }}",
		Description: "{{ if $labels.cause }}A worker's clock in {topology} was set back by at least {size}. The collector refuses the worker's samples (repeated_time) until the clock has passed its newest earlier time, so metrics have gaps. Totals such as CPU seconds then catch up in one slice; counts that Storm reports per interval are lost." +
			"{{ if gt {raw} 60.0 }} Until then, other alerts about {topology} may not fire.{{ end }}" +
			"{{ else }}A worker's clock in {topology} is at least {size} " + clockDirection + " the collector's; the limit is 500 ms. Latencies between hosts are wrong by this amount." +
			"{{ if lt {raw} -60.0 }} Alert rules do not see samples that old, so other alerts about {topology} may not fire.{{ end }}" +
			"{{ if gt {raw} 60.0 }} Alert rules see the worker's samples only when the collector's clock reaches their time, so other alerts about {topology} are late by {size}. Samples more than 10 minutes ahead are refused.{{ end }}{{ end }}",
		More: ` {{ if $labels.cause }}Let the time service slew (not step) the clock of:` + clocksOff(clockBack, 0) + `{{ else }}Correct the clock of:` + clocksOff(clockAhead, skewLimit) + `{{ end }}.`},
	{Name: "BulletMetricsWatchdog", Severity: None,
		Value: "vector(1)", Bare: true, Unit: Number,
		Summary:     "Alert rules are being evaluated and notifications delivered",
		Description: "This alert always fires. Route it to a service that notifies you when it stops: then the collector, Prometheus, Alertmanager or the path between them is down."},
}

// Alerts returns all alerts, in the order of the rule file.
func Alerts() []Alert { return alerts }
