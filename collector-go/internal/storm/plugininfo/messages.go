package plugininfo

import (
	"slices"
	"strings"
)

// Message is a log message of the plugin. Each logging statement in its source has one.
type Message struct {
	// Text is the message after LogMark as in the source. Each {} stands for a variable part.
	Text string
	// Means explains what has happened, if the line itself does not explain it completely.
	Means string
	// Fix is what to do, or "" if nothing is wrong.
	Fix string
	// Causes are recognized by the variable parts. Each has its own fix, and the first one that occurs in the line
	// applies.
	Causes []Cause
	// ends are the texts of the messages whose problem is over when this message is logged.
	ends []string
}

// Cause is a part of a message, and what to do if the message contains it.
type Cause struct{ Part, Fix string }

// Texts of problems whose end another message reports.
const (
	notExported   = "No metrics are exported: {}. The topology continues without them."
	notRegistered = "Failed to register the metrics consumer, so the topology will report no metrics: {}"
	registered    = "Skipped the registration: {} already contains {}."
	tooLong       = "Reporting interval too long: {} is {} s. Storm 2.3 and later schedule intervals above {} s twice, so metrics are reported twice and at wrong times. Set it to {} s or less."
	unreached     = "Metrics do not reach the collector at {}: {}. {} Retrying; {} samples are queued. Unreachable for {} s; failures since the last such message: {}."
)

const (
	oneRelease  = "install the same bullet-metrics-storm.jar in Storm's extlib on all hosts, and submit the topology again"
	sendTheLog  = "report the exception below the line to the maintainers of the plugin; submit the topology again to restart this part"
	checkClocks = "synchronize the clocks of the topology's hosts and of the collector (NTP); the rejected samples are lost"
	nobodyThere = "start bullet-metrics serve there, or set " + Collector +
		"address to its grpc.listen and submit again; if both are correct, check firewalls on the way"
)

// Messages are all messages that the plugin logs, in a worker or during a submission.
var Messages = []Message{
	// During the submission of a topology.
	{Text: notRegistered,
		Means: "a setting is invalid; Bullet submits the topology without the consumer",
		Fix:   "correct the setting that the line names, and submit again"},
	{Text: registered,
		Means: "the consumer runs with the settings of that entry, and the settings in Bullet's file are not used",
		Fix:   "remove the entry from " + Register + ", or the class from " + Classes + ", and submit again"},
	{Text: "Added to {}: {} (max.retain.metric.tuples: a metric tick of {} executors has up to {} reports, and Storm keeps only 100 by default).",
		Means: "the consumer is registered", ends: []string{notRegistered, registered, tooLong}},
	{Text: "Added to {}: {} (samples CPU, heap and GC of each worker every second).",
		Means: "the sampler is registered"},
	{Text: "Added to {}: {} (measures latency distributions; set {}: false to disable it).",
		Means: "the latency hook is registered"},
	{Text: "Added to {}: {} (without it, workers of Storm 2.8 fail on each other's metrics).",
		Means: "a class is registered with Kryo"},
	{Text: "Set {} to {}{}: {}.", Means: "a setting of Storm was set"},
	{Text: "Set {} to {}: resource request of a metrics consumer for {} executors.",
		Means: "the consumer's resource requests were set"},
	{Text: "Kept {} at {}.", Means: "a setting of Storm keeps its value"},
	{Text: tooLong,
		Means: "rates and counts of this topology are wrong", Fix: "set it to 10, or to at most 127, and submit again"},

	// In a worker, by the consumer.
	{Text: "Sending metrics to {}{}; the queue holds up to {} samples.",
		Means: "the consumer has started", ends: []string{notExported, unreached}},
	{Text: notExported,
		Means: "the consumer could not start, and does not try again",
		Fix:   "correct the setting or the file that the line names, on the worker's host, and submit again"},
	{Text: "Ignored the unknown setting {}. Known settings: {}",
		Means: "a setting of the plugin is misspelled, and its default applies",
		Fix:   "use a name from the list in the line, and submit again"},
	{Text: "Ignored a part of the registration's argument: {}.",
		Means: "a part of the argument has no effect; the topology's settings or the defaults apply",
		Fix:   "set the argument of the registration to a map of " + Collector + "* settings, and submit again"},
	{Text: "Sending the bearer token unencrypted: {} is set, but {} is not true.",
		Means: "everybody who can read the network traffic can send samples in the topology's name",
		Fix: "configure a certificate in the collector (grpc.tls.cert_file), set " + Collector +
			"tls.enabled: true, and submit again; then replace the token"},
	{Text: "Skipped a data point or map entry that could not be read. Further ones are only counted (drop reason INTERNAL).",
		Means:  "a metric has an unexpected type, or changed while it was read",
		Fix:    "fix the metric that the exception below the line names; bullet_metrics_producer_dropped_samples_total{reason=\"internal\"} counts these",
		Causes: []Cause{{"sent a pack of version", oneRelease}}},
	{Text: "Collector rejected samples with {}, for example: {}. Further samples with this reason are only counted.",
		Means: "the rejected samples are lost: bullet_metrics_ingest_topology_rejected_samples_total counts them",
		Fix:   "use the same release of plugin and collector",
		Causes: []Cause{
			{"REJECTION_REASON_FUTURE", checkClocks}, {"REJECTION_REASON_TOO_OLD", checkClocks},
			{"REJECTION_REASON_SERIES_LIMIT",
				"raise limits.series_per_topology of the collector, or report fewer metrics of your own"},
			{"REJECTION_REASON_NOT_A_NUMBER", "fix the metric that reports NaN or an infinite value"},
		}},
	{Text: unreached,
		Means: "the worker queues samples and retries; when its queue is full, it drops the oldest",
		Fix:   nobodyThere,
		Causes: []Cause{
			{"Fix the file that the message names, on this worker's host.",
				"install the file there, readable for the worker's user; the plugin reads its files again at each attempt"},
			{"The server does not use TLS, but " + Collector +
				"tls.enabled is true. Enable TLS in the collector, or set it to false.",
				"configure a certificate in the collector (grpc.tls.cert_file), or set " + Collector +
					"tls.enabled: false and submit again"},
			{"The server requires TLS. Set " + Collector + "tls.enabled to true, and tls.ca.file.",
				"set " + Collector + "tls.enabled: true and tls.ca.file (the CA of its certificate), and submit again"},
			{"The server speaks HTTP, not gRPC. Use the port of the collector's grpc.listen, 4320 by default.",
				"set the port of " + Collector +
					"address to the collector's grpc.listen, 4320 by default, and submit again"},
			{"The server closed the connection. It has ended, or it requires TLS and " + Collector + "tls.enabled is not true.",
				"check that the collector runs. If its log has reason=tls_plain_text, it requires TLS: set " +
					Collector + "tls.enabled: true and submit again. doctor --bullet-conf tests the TLS handshake"},
			{"Check " + Collector + "token.file and tls.* against the collector's settings.",
				"make the file of " + Collector + "token.file (or tls.cert.file and tls.key.file) match what grpc.token_file grants this topology; the plugin reads its files again at each attempt"},
			{"Plugin and collector may have incompatible versions.",
				"use the same release of plugin and collector; upgrade the collector first"},
			{"The collector accepts no more streams at the moment.",
				"if this lasts, raise limits.streams of the collector, or lower " + Collector + "parallelism"},
			{"Check that it is running and that " + Collector + "address is correct.", nobodyThere},
		}},
	{Text: "Metrics reach the collector at {} again, after {} s and {} failed attempts.",
		Means: "the collector is reached again", ends: []string{unreached}},
	{Text: "Moved from the collector at {} back to the one at {}, which is available again.",
		Means: "the topology uses its first collector again"},
	{Text: "Discarded the transferred state of this topology, because a collector rejected it twice. Its counters restart from zero.",
		Means: "the topology's counters restart from zero, as after any reset, and open slices are incomplete",
		Fix:   "use the same release for all collectors"},
	{Text: "Closed the metrics sender. Undelivered samples: {} when closing, {} in total. Rejected by the collector: {}.",
		Means: "the worker or its consumer has ended"},
	{Text: "Sending metrics failed unexpectedly; retrying. Further unexpected failures are not logged.",
		Means: "a bug in the plugin: the batch that was being sent is dropped and counted (INTERNAL)",
		Fix:   sendTheLog},

	// In a worker, by the sampler and the hook.
	{Text: "Sampling of CPU, heap and GC stopped in this worker.",
		Means: "the sampler disabled itself in this worker after an error", Fix: sendTheLog},
	{Text: "Live reports of CPU, heap and GC are not possible in this worker. The samples are reported once per topology.builtin.metrics.bucket.size.secs.",
		Means: "the collector receives this worker's samples later, but no sample is lost", Fix: sendTheLog},
	{Text: "Latency measurement stopped in this task. The task itself continues.",
		Means: "the latency hook disabled itself in this task after an error: bullet_latency_hook_left_out_total{reason=\"failed\"}",
		Fix:   sendTheLog},
}

// Read returns the message that matches the text after LogMark, or nil if this release of the plugin has no such
// message. If several match, it returns the one with the longest fixed text.
func Read(text string) *Message {
	var best *Message
	most := -1
	for i := range Messages {
		m := &Messages[i]
		if n := matched(m.Text, text); n > most {
			best, most = m, n
		}
	}
	return best
}

// matched returns the length of a template's fixed text if the text matches the template, and otherwise -1.
func matched(template, text string) int {
	parts := strings.Split(template, "{}")
	if len(parts) == 1 && text != template || !strings.HasSuffix(text, parts[len(parts)-1]) {
		return -1
	}
	text, is := strings.CutPrefix(text, parts[0])
	if !is {
		return -1
	}
	n := len(parts[0])
	for _, part := range parts[1:] {
		at := strings.Index(text, part)
		if at < 0 {
			return -1
		}
		text, n = text[at+len(part):], n+len(part)
	}
	return n
}

// Ends reports whether this message says that the problem of other is over.
func (m *Message) Ends(other *Message) bool {
	return other != nil && slices.Contains(m.ends, other.Text)
}

// ProvesLoaded reports whether this message proves that the plugin's consumer could be loaded. This is true for
// messages that it is registered, has started, or sends.
func (m *Message) ProvesLoaded() bool { return len(m.ends) > 0 }

// Advice returns what to do about a line with this message.
func (m *Message) Advice(line string) string {
	for _, cause := range m.Causes {
		if strings.Contains(line, cause.Part) {
			return cause.Fix
		}
	}
	return m.Fix
}
