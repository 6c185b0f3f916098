// Package doctor checks whether the metrics of a topology reach the collector, and names the first cause if they do
// not. Its input is facts, and its output is findings with advice. The checks follow the path of a sample, so that the
// first failure usually causes the later ones.
//
// The package must not open a jar, a file or a connection; package examine does that. A fact that was not collected is
// nil, and the finding says "not checked" instead of guessing. Start with Facts, then read checks.go.
package doctor

import (
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Facts are the observations that the checks use. A part that is nil was not examined, and its check reports
// "unknown".
type Facts struct {
	Jar       *Jar
	Settings  *Settings
	Collector *Collector
	// Bullet is the version of Bullet, such as "1.3", or "" if it was not given.
	Bullet string
	// Ports are the servers at the addresses in the settings, as seen from this machine, in the same order.
	Ports []Port
	// Unreadable has the files that the settings name and that this machine cannot read. The key is the name of the
	// setting, and the value is the reason.
	Unreadable map[string]string
	Cluster    *Cluster
	Logs       []Log
}

// Protocol is the protocol of a port.
type Protocol string

// The protocols.
const (
	Unreachable Protocol = "nobody"     // no connection was possible
	PlainHTTP   Protocol = "plain HTTP" // HTTP/1
	PlainGRPC   Protocol = "plain gRPC" // the server sends HTTP/2 frames first, as a gRPC server does
	TLSHTTP     Protocol = "HTTPS"
	TLSGRPC     Protocol = "gRPC over TLS"
	Other       Protocol = "neither gRPC nor HTTP"
)

// Port is the server at one of the plugin's addresses.
type Port struct {
	// Address is the address as written. WithPort is the address that the plugin uses, with a port.
	Address, WithPort string
	// Invalid is the reason why the plugin rejects the address. The other results are empty then.
	Invalid  string
	Protocol Protocol
	// Problem is why there is no connection, or what the server sent instead of a handshake.
	Problem string
	// Untrusted is why the server's certificate cannot be verified with the configured authority; "" if it can.
	Untrusted string
	// WantsCertificate means that the server requires a client certificate.
	WantsCertificate bool
	// Refused is why the collector lets nobody with the plugin's token or certificate write, or "".
	Refused string
}

// Cluster is what Nimbus knows about one topology.
type Cluster struct {
	Address  string
	Topology string
	Err      error    // why Nimbus could not be queried
	Known    []string // names of its topologies
	// ID is Storm's topology id, or "" if there is no such topology.
	ID     string
	Uptime time.Duration
	// Consumers are the classes of the registered metrics consumers.
	Consumers []string
	// Errors are the newest errors of the topology's components, one line each.
	Errors []string
}

// Log is what was found in the log of a worker or of a submission.
type Log struct {
	Path string
	Err  error // why the log could not be read
	// Messages is the number of the plugin's messages in the log.
	Messages int
	// Problems has the newest message for each problem that needs action and is not over, newest last.
	Problems []Problem
	// MissingClass is the newest line about a missing class of the plugin, or "".
	MissingClass string
}

// Problem is a message of the plugin about a problem.
type Problem struct {
	// Message is nil if this release of the plugin does not have this warning or error.
	Message *plugininfo.Message
	Line    string
}

// Jar is what was found in the plugin's jar.
type Jar struct {
	Path    string
	Err     error    // why the jar could not be read; the rest is empty then
	Classes int      // number of all classes
	Missing []string // classes of the plugin that are missing
	Visible []string // packages of gRPC, Netty, protobuf and Guava that are not relocated
}

// Settings is a settings file of Bullet or Storm.
type Settings struct {
	Path   string
	Err    error
	Line   int // line of a YAML error; 0 if the error has no line
	Values map[string]any
}

// Collector is what a running collector knows about one topology.
type Collector struct {
	Address  string
	Topology string
	Err      error    // why the collector could not be queried
	Assumed  bool     // no address was given and the default was used: no answer is not a failure
	Known    []string // topologies that have reported
	// Found is the topology, or nil if it has not reported.
	Found *Topology
	// Width and Lateness are the collector's slice settings, or 0 if it does not report them.
	Width, Lateness time.Duration
	// Refused counts the handshakes and streams that the gRPC port refused within Lookback, by reason.
	Refused map[string]int
	// Unreached is the plugin's newest report about an interval in which it reached no collector, or "" if there was
	// none within a day.
	Unreached string
	// Skews has the clock error of each worker.
	Skews map[string]Skew
	// SetBack counts the samples of each worker that were refused within Lookback because their time had already been
	// reported. Duplicates counts those that came from two senders, or twice under one name. Samples counts all.
	SetBack, Duplicates, Samples map[string]int
	// SetBackBy is the minimum by which the clock of each worker was set back within Lookback. It is known before the
	// slices that count refused samples are complete.
	SetBackBy map[string]time.Duration
	// Restarts counts the restarts of each worker within Lookback; workers without a restart are absent. RestartedAt
	// is the time of the newest restart, or zero if it is unknown.
	Restarts    map[string]int
	RestartedAt time.Time
	// NotStored lists metrics of the topology that are not stored. NotStoredMore is how many more there are.
	NotStored     []catalog.NotStored
	NotStoredMore int
	// Seen has the newest slice of each kind that has one.
	Slices map[Kind]NewestSlice
	Now    time.Time
}

// clockOff reports whether the topology's clock is so wrong that its slices have to be searched at another time than
// the collector's.
func (c *Collector) clockOff() bool {
	return c.Found != nil && (c.Found.ClockAhead < -farOff || c.Found.ClockAhead > farOff)
}

// eventNow returns the current time of the topology's own clock, which determines the times of its slices.
func (c *Collector) eventNow() time.Time { return c.Now.Add(c.Ahead()) }

// Ahead returns by how much the time of the slices differs from the collector's time. It is 0 unless clockOff.
func (c *Collector) Ahead() time.Duration {
	if !c.clockOff() {
		return 0
	}
	return c.Found.ClockAhead
}

// Skew is the error of a clock relative to the collector's, in seconds; positive means ahead. Sure is the certain
// error, and 0 if the clock may be right. The error lies between Least and Most; Most is +Inf if there is no upper
// bound.
type Skew struct{ Sure, Least, Most float64 }

// Topology is a topology in the collector's registry.
type Topology struct {
	ID        string
	Submitted time.Time // zero if Storm's topology id does not contain it
	FirstSeen time.Time
	LastSeen  time.Time
	Alive     bool
	// Ended is "killed" or "stopped", or "" if the topology runs or is silent for an unknown reason. EndedBy is who
	// reported it.
	Ended, EndedBy string
	EndedAt        time.Time
	// ClockAhead is the largest clock error of a worker; it is negative if the clock is behind.
	ClockAhead time.Duration
	Storm      string
	Workers    int
	Executors  int
	Settings   map[string]string // those in the plugin's allow-list
}

// Kind is a kind of metric that every report needs.
type Kind string

// The kinds, in the order of the checks.
const (
	CPU     Kind = "cpu"
	Heap    Kind = "heap"
	GC      Kind = "gc"
	Latency Kind = "latency"
)

// Kinds lists all kinds with their metrics (proto/METRICS.md). One metric of a kind is sufficient.
var Kinds = []struct {
	Kind    Kind
	Metrics []string
}{
	{CPU, []string{"bullet_worker_cpu_seconds_total"}},
	{Heap, []string{"bullet_worker_heap_used_bytes"}},
	{GC, []string{"bullet_worker_gc_seconds_total"}},
	{Latency, []string{"bullet_filter_latency_seconds", "bullet_filter_latency_mean_seconds",
		"storm_complete_latency_seconds", "storm_execute_latency_seconds"}},
}

// NewestSlice is what was found for a kind.
type NewestSlice struct {
	Newest  time.Time // end of the newest slice
	Workers int       // number of workers that have a slice
}

// Lookback is how far back slices are searched.
const Lookback = 10 * time.Minute
