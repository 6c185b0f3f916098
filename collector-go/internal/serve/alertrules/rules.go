package alertrules

import (
	"fmt"
	"time"
)

// The delays that rules have to wait for. A complete slice is in the store one tick, one slice width and the lateness
// after its end.
const (
	tick       = time.Second
	sliceWidth = 10 * time.Second
	lateness   = 30 * time.Second

	// QueryOffset is how far in the past rules are evaluated, so that all slices they read are complete.
	QueryOffset = tick + sliceWidth + lateness
	// Interval is the time between two evaluations.
	Interval = 15 * time.Second
)

const day = 24 * time.Hour

// clocksOff returns a template for Prometheus. It lists the five workers of a topology with the largest clock error
// according to the metric by.
func clocksOff(by string, limit float64) string {
	return fmt.Sprintf(`{{ range $i, $w := query (printf "sort_desc(max by (worker) (abs(%s{ topology=%%q})) > %g)" $labels.topology) }}{{ if lt $i 5 }} {{ $w.Labels.worker }} ({{ humanizeDuration $w.Value }}){{ end }}{{ end }}`,
		by, limit)
}

// clockDirection is a template for the direction of the clock error in BulletClockSkew.
const clockDirection = "{{ if lt {raw} 0.0 }}behind{{ else }}ahead of{{ end }}"

var (
	ofWorker = []string{"topology", "worker"}
	// ofClient are the labels of clients that send queries. A client has one series for each class of queries. Its
	// worker label ("HOST:0") identifies the client, although it is not a worker.
	ofClient = []string{"topology", "class", "worker"}
)

var alerts = []Alert{
	{Name: "BulletFilterLatencyMeanHigh", Severity: Critical,
		Value: meanOf, Raised: meanRaised, Limit: latencyLimit, Unit: Seconds,
		For: time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofWorker,
		Summary:     "Filter latency of {topology} is {value} in Bullet's mean, above 200 ms",
		Description: "The largest mean that a task of FilterBolt in {topology} reports, from a record's timestamp to its being filtered, is {value}; the limit is 200 ms. The statistic is the mean over Bullet's own interval (bullet_filter_latency_mean_seconds)."},
	{Name: "BulletFilterLatencyP99High", Severity: Warning,
		Value: p99Of, Raised: p99Raised, Limit: latencyLimit, Unit: Seconds,
		For: time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofWorker,
		Summary:     "Filter latency of {topology} is {value} at the 99th percentile, above 200 ms",
		Description: "One record in a hundred of {topology} is filtered later than {value} after its timestamp; the limit is 200 ms. The statistic is the p99 of the last 2 minutes of the latency hook's histogram over all tasks (bullet_filter_latency_seconds)."},
	{Name: "BulletQueryLatencyP99High", Severity: Warning,
		Value: queryLatency, Raised: queryRaised, Limit: queryLimit, Unit: Seconds,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofClient,
		Summary:     "{class} queries to {topology} take {value} at the 99th percentile",
		Description: "One in a hundred {class} queries to {topology} takes longer than {value} from when it was meant to start to its result; the limit is 10 s. The statistic is the p99 of the last 5 minutes as clients, the canary or a load program, see it (bullet_query_latency_seconds)."},
	{Name: "BulletGCShareHigh", Severity: Warning,
		Value: gcShare, Limit: 0.1, Unit: Ratio,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: ofWorker,
		Summary:     "Worker {worker} of {topology} spends {value} of its time in garbage collection pauses",
		Description: "Worker {worker} of {topology} spent {value} of the last 5 minutes in garbage collection pauses, all its collectors together; the limit is 10%."},
	{Name: "BulletHeapNearLimit", Severity: Warning,
		Value: heapRatio, Limit: 0.9, Unit: Ratio,
		For: 5 * time.Minute, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: ofWorker,
		Summary:     "The heap of worker {worker} of {topology} does not come below {value} of its limit",
		Description: "The least heap in use of worker {worker} of {topology} in the last 5 minutes, collections included, was {value} of the most that its JVM may use; the limit is 90%."},
	{Name: "BulletWorkerRestarted", Severity: Warning,
		Value: restarts, Limit: 0, Unit: Number,
		For: 0, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: ofWorker, Together: allRestarted,
		Summary: "{{ if $labels.worker }}Worker {worker}{{ else }}Each worker{{ end }} of {topology} restarted{{ if not $labels.worker }}, up to{{ end }} {value} times in 15 minutes",
		Description: "{{ if $labels.worker }}The process of worker {worker} of {topology} restarted {value} times in the last 15 minutes. What it held is lost, its queries too unless Bullet replays them." +
			"{{ else }}The processes of all workers of {topology} restarted in the last 15 minutes, up to {value} times each: somebody restarted or rebalanced it, or they have one cause. What they held is lost, queries too unless Bullet replays them.{{ end }}"},
	{Name: "BulletSourceFallingBehind", Severity: Critical,
		Value: lagOf, Raised: lagRaised, Limit: lagLimit, Unit: Seconds,
		For: 2 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofWorker,
		Summary:     "{topology} is {value} behind its source",
		Description: "The records that wait to be read for {topology} are {value} of reading at the rate of the last 5 minutes; the limit is 30 s. Infinite means that nothing is read at all."},
	{Name: "BulletQueriesIncomplete", Severity: Critical,
		Value: completeness, Raised: incompleteRaised, Below: true, Limit: completeLimit, Unit: Ratio,
		For: 2 * time.Minute, Keep: 5 * time.Minute, Hold: day, HoldBy: ofClient,
		Summary:     "{class} queries to {topology} get {value} of the records that they should",
		Description: "Results of {class} queries to {topology} had {value} of the records that were generated to match in the mean of the last 5 minutes; the limit is 95%. What is missing was lost in the topology."},
	{Name: "BulletMetricsCollectorBlind", Severity: Critical,
		Value: blind, Bare: true, Unit: Number,
		For: time.Minute, Keep: 2 * time.Minute,
		Summary: "No {{ if $labels.metric }}{{ $labels.metric }}{{ else }}samples{{ end }} of {{ if $labels.worker }}worker {worker} of {{ end }}{topology}: nothing is known of it",
		Description: "{{ if $labels.class }}{worker} measures {class} queries to {topology} and reports nothing any more, nor did it say that it ends; its last {{ $labels.metric }} was {value}, in an alert." +
			"{{ else if $labels.metric }}Worker {worker} of {topology} reports, but no {{ $labels.metric }}: the last was {value} s in an alert (0: in none)." +
			"{{ else if $labels.worker }}Worker {worker} of {topology} did not report its heap in the last 2 minutes, and none of its tasks is reported from elsewhere ({value} series before)." +
			"{{ else }}No worker of {topology} reported its heap in the last 2 minutes; {value} did before.{{ end }} Other alerts about it stand as they were when the samples stopped.",
		More:    `{{ range query (printf "bullet_metrics_topology_ended_timestamp_seconds{ topology=%q, how=\"stopped\"}" $labels.topology) }} Its metrics consumer was stopped in order: it was killed, or is being rebalanced. Where nothing shows which, this ends after an hour.{{ end }}`,
		Grafana: blindInGrafana},
	{Name: "BulletMetricsPluginDropping", Severity: Warning,
		Value: droppedSamples, Limit: 0, Unit: Number,
		For: 0, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary:     "The plugin in {topology} dropped {value} samples in 10 minutes ({reason})",
		Description: "The plugin in {topology} dropped {value} samples in the last 10 minutes before they reached the collector, for the reason {reason}. They are gaps in every figure."},
	// The value is not held if the metric is missing. It is the collector's own metric, and a collector that restarts
	// refuses nothing.
	{Name: "BulletMetricsRefusing", Severity: Warning,
		Value: rejectedSamples + " > 0", Bare: true, Unit: Number,
		For: time.Minute, Keep: 5 * time.Minute,
		Summary:     "The collector refuses {value} samples a second of {topology} ({reason})",
		Description: "The collector refused {value} samples a second of {topology} in the last 5 minutes, for the reason {reason}. They are not acknowledged, not stored and not sent again: gaps in every figure. The runbook lists what to do for each reason.",
		Grafana:     refused},
	// The value is not held if the metric is missing. It is the collector's own metric, and a collector does not start
	// with a broken file.
	{Name: "BulletMetricsSecurityFilesBroken", Severity: Critical,
		Value: brokenFiles + " > 0", Bare: true, Unit: Number, Grafana: brokenFiles,
		For: time.Minute, Keep: 2 * time.Minute,
		Summary:     "A file that guards the collector's {port} port cannot be used",
		Description: "An access file of the {port} port (tokens, web configuration, clients' authority), or the port's own certificate, is missing, wrong or empty, for {value} collectors. Without a usable access file nobody is let in any more; the collector's log and /-/ready name the file."},
	// For is 5 min because repairing a file may take several attempts.
	{Name: "BulletMetricsReloadFailed", Severity: Warning,
		Value: reloadFailed + " > 0", Bare: true, Unit: Seconds, Grafana: reloadFailed,
		For: 5 * time.Minute, Keep: 2 * time.Minute,
		Summary:     "Collector {instance} could not reload its rules and access files",
		Description: "The last reload of collector {instance} failed, and it goes by the rules and settings of {value} ago. It may not start with the files as they are now. The collector's log names the file and the line."},
	{Name: "BulletMetricsHistoryDeleted", Severity: Critical,
		Value: deletedForSpace + " > 0", Bare: true, Unit: Number, Grafana: deletedForSpace,
		For: 0, Keep: 5 * time.Minute,
		Summary:     "The disk of collector {instance} is full: about {value} slices of history were deleted in an hour",
		Description: "The disk of collector {instance} was short of room for so long that the embedded store deleted its oldest slices to go on, about {value} in the last hour. The collector's log has their times; they cannot be brought back."},
	// There is one alert per topology, although each worker has a clock. Mostly there is one cause, and all data of
	// the topology are affected.
	{Name: "BulletClockSkew", Severity: Warning, CriticalBeyond: blindFrom,
		Value: clockSkew, Also: setBack, BothSides: true, Limit: skewLimit, Unit: Seconds,
		For: 15 * time.Second, Keep: 5 * time.Minute, Hold: time.Hour, HoldBy: []string{"topology"},
		Summary: "A clock of {topology} {{ if $labels.cause }}was set back by at least {size}{{ else }}is at least {size} " + clockDirection + " the collector's{{ end }}{{ if or (lt {raw} -60.0) (and $labels.cause (gt {raw} 60.0)) }}: alerts about {topology} are blind{{ end }}",
		Description: "{{ if $labels.cause }}A worker's clock in {topology} was set back by at least {size}. What the worker reports is refused (repeated_time) until its clock has passed the newest time that it had shown, and is missing in every figure. What totals such as CPU seconds count meanwhile is found in the first slice after that; what Storm counts for each interval is lost." +
			"{{ if gt {raw} 60.0 }} Meanwhile no other alert about {topology} can be trusted to fire.{{ end }}" +
			"{{ else }}A worker's clock in {topology} is at least {size} " + clockDirection + " the collector's, whatever time samples and answers took on their way; the limit is 500 ms. Latencies between hosts are wrong by as much." +
			"{{ if lt {raw} -60.0 }} Rules are evaluated at the collector's time, and what such a worker reports lies before the minutes that they look at: meanwhile no other alert about {topology} can be trusted to fire, and its figures are found at its own time.{{ end }}" +
			"{{ if gt {raw} 60.0 }} What such a worker reports reaches the rules only when the collector's clock comes to it: other alerts about {topology} come later by as much. Samples that are more than 10 minutes ahead are refused.{{ end }}{{ end }}",
		More: ` {{ if $labels.cause }}Let the time service slew the clock of:` + clocksOff(clockBack, 0) + `{{ else }}Set the clock of:` + clocksOff(clockAhead, skewLimit) + `{{ end }}.`},
	{Name: "BulletMetricsWatchdog", Severity: None,
		Value: "vector(1)", Bare: true, Unit: Number,
		Summary:     "Alerts about Bullet are evaluated and delivered",
		Description: "It fires always. Whoever receives alerts must be notified when it stops: then the collector, Prometheus, Alertmanager or the path between them is down."},
}

// Alerts returns all alerts, in the order of the rule file.
func Alerts() []Alert { return alerts }
