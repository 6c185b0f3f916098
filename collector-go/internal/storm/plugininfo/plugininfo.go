// Package plugininfo holds the facts about the Java plugin that the Go program needs: class names, names and bounds of
// settings of Storm, Bullet and the plugin, what register() sets, and the messages that the plugin logs with advice for
// each.
//
// It repeats what plugin-java says in Settings and Registration, because the program must be able to explain an
// installation without the jar. It must not read files or decide whether an installation is correct; package doctor
// does that.
package plugininfo

// Classes of the plugin's jar.
const (
	BulletClass = "io.github.bulletmetrics.storm.BulletMetricsConsumer" // from Bullet 0.5.0 on
	// up to Bullet 0.4.3, whose register() takes another type
	EarlyClass   = "io.github.bulletmetrics.storm.EarlyBulletMetricsConsumer"
	StormClass   = "io.github.bulletmetrics.storm.StormMetricsConsumer"
	SamplerClass = "io.github.bulletmetrics.storm.WorkerSampler"
	HookClass    = "io.github.bulletmetrics.storm.LatencyHook"
)

// Settings of Bullet.
const (
	Enable  = "bullet.topology.metrics.enable"
	Classes = "bullet.topology.metrics.classes"
	BuiltIn = "bullet.topology.metrics.built.in.enable"
	// BuiltInIntervals is a map from Bullet's own metrics to how often each is reported, s.
	BuiltInIntervals = "bullet.topology.metrics.built.in.emit.interval.mapping"
	// Collector begins the settings of the plugin itself, Custom those that Bullet hands to Storm as they are.
	Collector = "bullet.topology.metrics.collector."
	Custom    = "bullet.topology.custom."
)

// CollectorSettings are the plugin's own, after Collector.
func CollectorSettings() []string {
	return []string{"address", "policy", "tls.enabled", "tls.ca.file", "tls.cert.file", "tls.key.file",
		"token.file", "queue.capacity", "series.limit", "parallelism",
		Retain, "sampler.enabled", "latency.enabled"}
}

// Bounds are those of a setting that is a whole number, by its name after Collector; most is 0 where it is none.
func Bounds(name string) (least, most int64) {
	switch name {
	case "queue.capacity", "series.limit":
		return 1_000, 100_000_000
	case "parallelism":
		return 1, 1_000
	case Retain:
		return 1, 10_000_000
	}
	return 0, 0
}

// Port is that of an address without one.
const Port = "4320"

// LogMark begins each of the plugin's messages in a log.
const LogMark = "bullet-metrics: "

// UnreachedTag is that of the annotation by which the plugin reports, once it reaches a collector again, what had kept
// it from it.
const UnreachedTag = "unreached"

// Settings of Storm, and of a consumer's registration.
const (
	Register   = "topology.metrics.consumer.register"
	Interval   = "topology.builtin.metrics.bucket.size.secs"
	V2Tick     = "topology.enable.v2.metrics.tick"           // from Storm 2.2 on
	V2Interval = "topology.v2.metrics.tick.interval.seconds" // from Storm 2.3 on
	Retain     = "max.retain.metric.tuples"                  // of a registration, from Storm 1.1 on
)

// What register() sets where nothing is said.
const (
	IntervalSeconds = 10
	LeastRetained   = 10_000
	ReportsAtATick  = 2 // of an executor: its own metrics, and Bullet's
	TicksRetained   = 4 // how long the consumer may be held up
)

// MostIntervalSeconds: from Storm 2.3 on a longer interval is scheduled twice.
const MostIntervalSeconds = 127
