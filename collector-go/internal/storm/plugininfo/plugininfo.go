// Package plugininfo has the facts about the Java plugin that the Go program needs. These are class names, the
// settings of Storm, Bullet and the plugin, and the defaults of register(). They also include the plugin's log
// messages, with advice for each.
//
// It repeats constants of plugin-java's Settings and Registration, because the program must be able to explain an
// installation without the jar. It must not read files or decide whether an installation is correct; package doctor
// does that.
package plugininfo

// The classes in the plugin's jar.
const (
	BulletClass = "io.github.bulletmetrics.storm.BulletMetricsConsumer" // from Bullet 0.5.0 on
	// up to Bullet 0.4.3, whose register() has a parameter of another type
	EarlyClass   = "io.github.bulletmetrics.storm.EarlyBulletMetricsConsumer"
	StormClass   = "io.github.bulletmetrics.storm.StormMetricsConsumer"
	SamplerClass = "io.github.bulletmetrics.storm.WorkerSampler"
	HookClass    = "io.github.bulletmetrics.storm.LatencyHook"
)

// The settings of Bullet.
const (
	Enable  = "bullet.topology.metrics.enable"
	Classes = "bullet.topology.metrics.classes"
	BuiltIn = "bullet.topology.metrics.built.in.enable"
	// BuiltInIntervals maps each of Bullet's own metrics to its reporting interval in seconds.
	BuiltInIntervals = "bullet.topology.metrics.built.in.emit.interval.mapping"
	// Collector is the prefix of the plugin's own settings. Custom is the prefix of settings that Bullet passes to
	// Storm unchanged.
	Collector = "bullet.topology.metrics.collector."
	Custom    = "bullet.topology.custom."
)

// CollectorSettings returns the names of the plugin's own settings, without the prefix Collector.
func CollectorSettings() []string {
	return []string{"address", "policy", "tls.enabled", "tls.ca.file", "tls.cert.file", "tls.key.file", "token.file",
		"queue.capacity", "series.limit", "parallelism", Retain, "sampler.enabled", "latency.enabled"}
}

// Bounds returns the bounds of an integer setting; name is without the prefix Collector. For other settings most is 0.
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

// Port is the default port of a collector's address.
const Port = "4320"

// LogMark is the beginning of each of the plugin's log messages.
const LogMark = "bullet-metrics: "

// UnreachedTag is the tag of an annotation in which the plugin reports that it could not reach a collector, and why.
// The plugin sends it when it reaches a collector again.
const UnreachedTag = "unreached"

// Settings of Storm, and of a consumer's registration.
const (
	Register   = "topology.metrics.consumer.register"
	Interval   = "topology.builtin.metrics.bucket.size.secs"
	V2Tick     = "topology.enable.v2.metrics.tick"           // from Storm 2.2 on
	V2Interval = "topology.v2.metrics.tick.interval.seconds" // from Storm 2.3 on
	Retain     = "max.retain.metric.tuples"                  // in a registration, from Storm 1.1 on
)

// Defaults that register() sets.
const (
	IntervalSeconds = 10
	LeastRetained   = 10_000
	ReportsPerTick  = 2 // per executor: one with Storm's metrics and one with Bullet's
	TicksRetained   = 4 // for how many ticks the consumer may be blocked
)

// MostIntervalSeconds is the longest safe reporting interval. From Storm 2.3 on, a longer interval is scheduled twice.
const MostIntervalSeconds = 127
