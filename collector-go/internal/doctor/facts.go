// Package doctor judges whether a topology's metrics get out, in the order in which they can fail: facts come in as values, findings
// go out. It knows no jar, no file and no collector: whoever asks has looked.
package doctor

import "time"

// Facts are what was seen. A part that is nil was not looked at.
type Facts struct {
	Jar       *Jar
	Settings  *Settings
	Collector *Collector
}

// Jar is the plugin's jar.
type Jar struct {
	Path    string
	Err     error    // why it could not be read; all else is empty then
	Classes int      // in all
	Missing []string // classes of the plugin that are not there
	Visible []string // packages of gRPC, Netty, protobuf and Guava under their own names
}

// Settings is a file of settings, Bullet's or Storm's.
type Settings struct {
	Path   string
	Err    error
	Values map[string]any
}

// Collector is what a running collector tells of one topology.
type Collector struct {
	Address  string
	Topology string
	Err      error    // why it could not be asked
	Known    []string // topologies that have reported
	// Found is the topology; nil where it has not reported.
	Found *Topology
	// Skews are of each worker's clock.
	Skews map[string]Skew
	// Seen is when the newest slice of each kind ended, and from how many workers; for those that have one.
	Seen map[Kind]Sight
	Now  time.Time
}

// Skew is how far a clock is ahead of the collector's, in seconds: Sure beyond doubt, 0 where it may be right; at least Least, at most Most, +Inf
// where nothing bounds it.
type Skew struct{ Sure, Least, Most float64 }

// Topology is what the collector's registry has of it.
type Topology struct {
	ID        string
	Submitted time.Time // zero where Storm's id does not say
	FirstSeen time.Time
	LastSeen  time.Time
	Alive     bool
	Storm     string
	Workers   int
	Executors int
	Settings  map[string]string // of the plugin's allow-list
}

// Kind is one of the things that a report cannot do without.
type Kind string

// The kinds, in the order in which they are looked for.
const (
	CPU     Kind = "cpu"
	Heap    Kind = "heap"
	GC      Kind = "gc"
	Latency Kind = "latency"
)

// Kinds are all, with the metrics any of which will do (proto/METRICS.md).
var Kinds = []struct {
	Kind    Kind
	Metrics []string
}{
	{CPU, []string{"bullet_worker_cpu_seconds_total"}},
	{Heap, []string{"bullet_worker_heap_used_bytes"}},
	{GC, []string{"bullet_worker_gc_seconds_total"}},
	{Latency, []string{"bullet_filter_latency_seconds", "bullet_filter_latency_mean_seconds", "storm_complete_latency_seconds",
		"storm_execute_latency_seconds"}},
}

// Sight is what was seen of a kind.
type Sight struct {
	Newest  time.Time // end of the newest slice
	Workers int       // that have one
}

// Lookback is how far back a slice is looked for.
const Lookback = 10 * time.Minute
