package plugininfo

import "strings"

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
	notExported   = "No metrics are exported: {}. The topology runs on without them."
	notRegistered = "Not registered, the topology will run without it: {}"
	registered    = "{} already registers {}: it is left as it is."
	tooLong       = "{} is {} s: Storm 2.3 and later schedule what is above {} s twice, so that its metrics come doubled and at other times. It is left as it is; set {} s or less."
	unreached     = "Metrics do not reach the collector at {}: {}. {} Trying on; {} samples wait. Not reached for {} s; failures since the last such line: {}."
)

const (
	oneRelease  = "put the same bullet-metrics-storm.jar into Storm's extlib on every machine, and submit again"
	sendTheLog  = "send the exception below the line to whoever maintains the plugin; submitting again starts it afresh"
	checkClocks = "set the clocks of the topology's hosts, or the collector's, by NTP; what was refused is lost"
	nobodyThere = "start bullet-metrics serve there, or set " + Collector +
		"address to its grpc.listen and submit again; then look at what lies between, such as a firewall"
)

// Messages are all messages that the plugin logs, in a worker or during a submission.
var Messages = []Message{
	// During the submission of a topology.
	{Text: notRegistered, Means: "a setting is wrong, and Bullet goes on without the consumer",
		Fix: "mend the setting that the line names, and submit again"},
	{Text: registered, Means: "the consumer runs with the settings of that entry, and Bullet's file is not asked",
		Fix: "take the entry out of " + Register + ", or the class out of " + Classes + ", and submit again"},
	{Text: "Added to {}: {} (max.retain.metric.tuples: Storm keeps 100 reports by default, less than one tick of a large topology; a tick of the {} executors of this one can have {}).",
		Means: "the consumer is registered", ends: []string{notRegistered, registered, tooLong}},
	{Text: "Added to {}: {} (each worker's CPU, heap and GC once a second).", Means: "the sampler is registered"},
	{Text: "Added to {}: {} (latencies of records and queries as distributions; {}: false leaves it out).",
		Means: "the latency hook is registered"},
	{Text: "Added to {}: {} (without it workers of Storm 2.8 crash on each other's metrics).",
		Means: "a class is registered with Kryo"},
	{Text: "Set {} to {}{}: {}.", Means: "a setting of Storm was set"},
	{Text: "Set {} to {}: what the resource-aware scheduler is to reserve for a metrics consumer of {} executors.",
		Means: "the consumer's resources were set"},
	{Text: "Left {} at {}.", Means: "a setting of Storm stays as it was set"},
	{Text: tooLong,
		Means: "rates and counts of this topology are wrong", Fix: "set it to 10, or to at most 127, and submit again"},

	// In a worker, by the consumer.
	{Text: "Metrics go to {}{}; at most {} samples are queued.", Means: "the consumer has begun",
		ends: []string{notExported, unreached}},
	{Text: notExported, Means: "the consumer could not begin, and does not try again",
		Fix: "mend the setting or the file that the line names, on the worker's machine, and submit again"},
	{Text: "There is no setting {}. There are: {}", Means: "a setting of the plugin is misspelt, and its default holds",
		Fix: "write the name as the line lists it, and submit again"},
	{Text: "Of this consumer's registration {}.",
		Means: "something in the registration's argument has no effect, and the topology's settings or the defaults hold",
		Fix:   "give the registration an argument that is a map of " + Collector + "* settings, and submit again"},
	{Text: "{} is set without {}: the token travels in the clear.",
		Means: "whoever listens on the way can send in the topology's name",
		Fix: "give the collector a certificate (grpc.tls.cert_file), set " + Collector +
			"tls.enabled: true, and submit again; then change the token"},
	{Text: "A data point, or an entry of its map, could not be read and is left out. Further ones are counted (drop reason INTERNAL), not logged.",
		Means:  "a metric was not what its name promises, or changed while it was read",
		Fix:    "mend the metric that the exception below the line comes from; bullet_metrics_producer_dropped_samples_total{reason=\"internal\"} has how many",
		Causes: []Cause{{"sent a pack of version", oneRelease}}},
	{Text: "The collector refuses samples as {}, such as: {}. Further ones are counted, not logged.",
		Means: "samples were lost for this reason, and may be still: bullet_metrics_ingest_topology_rejected_samples_total",
		Fix:   "take plugin and collector of one release",
		Causes: []Cause{
			{"REJECTION_REASON_FUTURE", checkClocks}, {"REJECTION_REASON_TOO_OLD", checkClocks},
			{"REJECTION_REASON_SERIES_LIMIT",
				"raise limits.series_per_topology of the collector, or report fewer metrics of your own"},
			{"REJECTION_REASON_NOT_A_NUMBER", "mend the metric that reports NaN or an infinite value"},
		}},
	{Text: unreached, Means: "samples wait in the worker, the oldest are dropped once its queue is full, and it tries again by itself",
		Fix: nobodyThere,
		Causes: []Cause{
			{"Mend the file that it names, on this worker's machine.",
				"put the file there and make it readable to the worker's user; the plugin reads its files again at each attempt"},
			{"What listens there speaks plain text, and " + Collector +
				"tls.enabled is true: give the collector TLS, or set false.",
				"give the collector a certificate (grpc.tls.cert_file), or set " + Collector +
					"tls.enabled: false and submit again"},
			{"What listens there speaks TLS: set " + Collector + "tls.enabled to true, and tls.ca.file.",
				"set " + Collector + "tls.enabled: true, and tls.ca.file to its authority, and submit again"},
			{"What listens there speaks HTTP and not gRPC: take the port of the collector's grpc.listen, 4320 by default.",
				"set the port of " + Collector +
					"address to the collector's grpc.listen, 4320 by default, and submit again"},
			{"It closed the connection: it has ended, or speaks TLS and " + Collector + "tls.enabled is not true.",
				"see whether the collector runs (its log has reason=tls_plain_text where TLS is what is missing: set " +
					Collector + "tls.enabled: true and submit again); doctor --bullet-conf shakes hands with it"},
			{"Check " + Collector + "token.file and tls.* against the collector's settings.", "have the file of " +
				Collector + "token.file (or tls.cert.file and tls.key.file) hold what grpc.token_file grants this topology; the plugin reads its files again at each attempt"},
			{"Plugin and collector may be of different releases.",
				"take plugin and collector of one release, the collector first"},
			{"It takes no further stream for now.",
				"raise limits.streams of the collector where this lasts, or lower " + Collector + "parallelism"},
			{"Is it running, and is " + Collector + "address right?", nobodyThere},
		}},
	{Text: "Metrics reach the collector at {} again, after {} s and {} failed attempts.",
		Means: "the collector is reached again", ends: []string{unreached}},
	{Text: "Metrics return from the collector at {} to the one at {}, which is back.",
		Means: "the first of the topology's collectors takes its metrics again"},
	{Text: "What a collector handed over of this topology is not understood by the next, twice, and is abandoned: counters begin again there.",
		Means: "the topology's totals begin again from zero, as after any reset, and slices that were open are incomplete",
		Fix:   "take collectors of one release"},
	{Text: "Metrics sender closed; samples not delivered: {} at closing, {} in all. Refused by the collector: {}.",
		Means: "the worker ends, or its consumer does"},
	{Text: "Sending metrics failed in an unforeseen way; trying on. Further failures of this kind are not logged.",
		Means: "a fault of the plugin: the batch that was being sent is dropped and counted (INTERNAL)",
		Fix:   sendTheLog},

	// In a worker, by the sampler and the hook.
	{Text: "This worker's CPU, heap and GC are not sampled any more.",
		Means: "the sampler switched itself off in this worker, and CPU by mode is not known of it", Fix: sendTheLog},
	{Text: "The latencies of this task are not measured any more; the task runs on.",
		Means: "the latency hook switched itself off in this task: bullet_latency_hook_left_out_total{reason=\"failed\"}",
		Fix:   sendTheLog},
}

// Read returns the message that matches the text after LogMark, or nil if this release of the plugin has no such
// message. If several match, it returns the one with the longest fixed text.
func Read(text string) *Message {
	var best *Message
	most := -1
	for i := range Messages {
		if n := Messages[i].matches(text); n > most {
			best, most = &Messages[i], n
		}
	}
	return best
}

// matches returns the length of the message's fixed text if the message matches, and otherwise -1.
func (m *Message) matches(text string) int {
	parts := strings.Split(m.Text, "{}")
	if len(parts) == 1 && text != m.Text || !strings.HasSuffix(text, parts[len(parts)-1]) {
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
	for _, text := range m.ends {
		if other != nil && other.Text == text {
			return true
		}
	}
	return false
}

// HasBegun reports whether this message proves that the plugin's consumer could be loaded. This is true for messages
// that it is registered, has started, or sends.
func (m *Message) HasBegun() bool { return len(m.ends) > 0 }

// Advice returns what to do about a line with this message.
func (m *Message) Advice(line string) string {
	for _, cause := range m.Causes {
		if strings.Contains(line, cause.Part) {
			return cause.Fix
		}
	}
	return m.Fix
}
