// Package doctor judges whether the metrics of a topology reach the collector, and names the first cause if they do
// not. Facts go in as values, and findings with advice come out. The checks follow the path of a sample, so the first
// failure is usually the cause of those after it.
//
// The package must not open a jar, a file or a connection; package examine does that. A fact that nobody collected is
// nil, and the finding says "not looked at" instead of guessing. Start with Facts, then checks.go.
package doctor

import (
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Facts are the observations that the checks judge. A part that is nil was not examined: its check reports "unknown".
type Facts struct {
	Jar       *Jar
	Settings  *Settings
	Collector *Collector
	// Bullet is its version, such as "1.3"; "" where nobody named it.
	Bullet string
	// Ports are what answers at the settings' addresses, as seen from this machine, in their order.
	Ports []Port
	// Unreadable are the files that the settings name and that cannot be read on this machine, by the setting's name,
	// with the reason.
	Unreadable map[string]string
	Cluster    *Cluster
	Logs       []Log
}

// Speech is what a port speaks.
type Speech string

// The ways of speech.
const (
	Nobody    Speech = "nobody"     // no connection came about
	PlainHTTP Speech = "plain HTTP" // HTTP/1
	PlainGRPC Speech = "plain gRPC" // HTTP/2 at once, as a gRPC server does
	TLSHTTP   Speech = "HTTPS"
	TLSGRPC   Speech = "gRPC over TLS"
	Other     Speech = "neither gRPC nor HTTP"
)

// Port is what answers at one of the plugin's addresses.
type Port struct {
	// Address is as it is written; WithPort is what the plugin makes of it, with a port.
	Address, WithPort string
	// Invalid is why the plugin takes it for no address; all else is empty then.
	Invalid string
	Speaks  Speech
	// Problem is why there is nobody, or what came instead.
	Problem string
	// Untrusted is why the certificate that was shown does not lead to the settings' authority; "" where it does.
	Untrusted string
	// WantsCertificate means that it takes none without a client's certificate of its authority.
	WantsCertificate bool
}

// Cluster is what Nimbus has of one topology.
type Cluster struct {
	Address  string
	Topology string
	Err      error    // why it could not be asked
	Known    []string // topologies that it has
	// ID is Storm's; "" where it has no such topology.
	ID     string
	Uptime time.Duration
	// Consumers are the classes of the metrics consumers that it runs with.
	Consumers []string
	// Errors are the newest that its components reported, a line each.
	Errors []string
}

// Log is of a worker, or of a submission.
type Log struct {
	Path string
	Err  error // why it could not be read
	// Ours is how many of the plugin's messages are in it.
	Ours int
	// Trouble is the newest of each of them that something must be done about and that is not over, the newest last.
	Trouble []Trouble
	// NoClass is the newest line that misses a class of the plugin; "" for none.
	NoClass string
}

// Trouble is a message of the plugin in a log.
type Trouble struct {
	// Message is nil for a warning or an error that this release of the plugin does not log.
	Message *plugininfo.Message
	Line    string
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
	Line   int // at which it is no YAML; 0 where that is not why it could not be read
	Values map[string]any
}

// Collector is what a running collector reports of one topology.
type Collector struct {
	Address  string
	Topology string
	Err      error    // why it could not be asked
	Assumed  bool     // nobody named it, and the usual address was asked: nobody there is no failure
	Known    []string // topologies that have reported
	// Found is the topology; nil where it has not reported.
	Found *Topology
	// Width and Lateness are of its slices; 0 where it does not report them.
	Width, Lateness time.Duration
	// Refused are handshakes and streams that its gRPC port turned away within Lookback, by reason.
	Refused map[string]int
	// Unreached is what the plugin reported last of a time in which it reached no collector; "" for nothing within a
	// day.
	Unreached string
	// Skews are of each worker's clock.
	Skews map[string]Skew
	// SetBack are samples that were refused within Lookback since their worker's clock had shown their time before, by
	// worker; Twice those that came from two senders, or under one name twice.
	SetBack, Twice map[string]int
	// SetBackBy is by how much the clock of a worker was set back within Lookback, at the least. It is known before the
	// slices that count what was refused are closed.
	SetBackBy map[string]time.Duration
	// Restarts are how often each worker was seen started again within Lookback; of those that were. RestartedAt is the
	// newest start; zero where that is not known.
	Restarts    map[string]int
	RestartedAt time.Time
	// NotStored are the topology's metrics that are not stored, by name, and NotStoredMore how many more there are.
	NotStored     []catalog.NotStored
	NotStoredMore int
	// Seen is when the newest slice of each kind ended, and from how many workers; for those that have one.
	Seen map[Kind]Sight
	Now  time.Time
}

// clockOff reports that the topology's clock is off by so much that its slices lie at another time than the
// collector's.
func (c *Collector) clockOff() bool {
	return c.Found != nil && (c.Found.ClockAhead < -offByMuch || c.Found.ClockAhead > offByMuch)
}

// eventNow is the time by the topology's own clock, at which its slices are stored.
func (c *Collector) eventNow() time.Time { return c.Now.Add(c.Ahead()) }

// Ahead is by how much slices are to be looked for at another time than the collector's.
func (c *Collector) Ahead() time.Duration {
	if !c.clockOff() {
		return 0
	}
	return c.Found.ClockAhead
}

// Skew is how far a clock is ahead of the collector's, in seconds: Sure beyond doubt, 0 where it may be right; at least
// Least, at most Most, +Inf where nothing bounds it.
type Skew struct{ Sure, Least, Most float64 }

// Topology is what the collector's registry has of it.
type Topology struct {
	ID        string
	Submitted time.Time // zero where Storm's id does not say
	FirstSeen time.Time
	LastSeen  time.Time
	Alive     bool
	// Ended is how it ended, as far as the collector knows: "killed" or "stopped"; "" while it runs or is silent for no
	// known reason. EndedBy is who said so.
	Ended, EndedBy string
	EndedAt        time.Time
	// ClockAhead is how far the clock of a worker is ahead of the collector's, the one that is off the most; below 0
	// where it is behind.
	ClockAhead time.Duration
	Storm      string
	Workers    int
	Executors  int
	Settings   map[string]string // of the plugin's allow-list
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
	{Latency, []string{"bullet_filter_latency_seconds", "bullet_filter_latency_mean_seconds",
		"storm_complete_latency_seconds",
		"storm_execute_latency_seconds"}},
}

// Sight is what was seen of a kind.
type Sight struct {
	Newest  time.Time // end of the newest slice
	Workers int       // that have one
}

// Lookback is how far back a slice is looked for.
const Lookback = 10 * time.Minute
