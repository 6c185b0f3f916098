package ingest

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// Options are the limits of ingest. Start from DefaultOptions. Every limit protects the collector from one sender or
// client; where possible a sender gets a share instead of a fixed number (package quota).
type Options struct {
	// Window is how many batches of one stream may be under way unacknowledged.
	Window int
	// MaxBatchBytes is the largest batch that is taken, encoded.
	MaxBatchBytes int
	// MaxStreams bounds the streams of all producers together; a topology, a caller or an address has its share of them
	// (package quota).
	MaxStreams int
	// MaxStreamSeries bounds the ids that one stream may define; 0 is MaxTopologySeries.
	MaxStreamSeries int
	// MaxTopologySeries bounds the series of one topology.
	MaxTopologySeries int
	// MaxTopologySamplesPerSecond bounds the samples a second of one topology, over a minute; what is beyond is
	// answered with Full, and comes again. 0 is no bound.
	MaxTopologySamplesPerSecond int
	// MaxAhead is how far a sample may be ahead of the collector's clock.
	MaxAhead time.Duration
	// MaxAge is how old a sample may be; 0 is any age.
	MaxAge time.Duration
	// OpenTimeout is how long a new stream may take to say who it is.
	OpenTimeout time.Duration
	// DrainTimeout bounds the end of Serve.
	DrainTimeout time.Duration

	// MaxConnections bounds the connections, and an address has its share of them; one more is closed at once.
	MaxConnections int
	// MaxStreamsPerConnection bounds the streams of one connection; gRPC clients wait for a free one.
	MaxStreamsPerConnection uint32
	// HandshakeTimeout is how long a connection may take over TLS and HTTP/2's first frames.
	HandshakeTimeout time.Duration
	// MessageGrace is how long a message that was begun may take to be whole; a larger one may take longer at 16 KiB/s.
	MessageGrace time.Duration
	// PingAfter is how long a connection may be silent before it is asked for a sign of life, which it has PingTimeout
	// for.
	PingAfter, PingTimeout time.Duration

	// MaxIdle is how long a connection may have no stream.
	MaxIdle time.Duration
	// MaxWatches bounds the streams that watch the collector's health, which anybody may; each lasts WatchTime at most.
	MaxWatches int
	WatchTime  time.Duration

	// StateTransfer lets senders carry what is known of their topologies to other collectors; nil where they may not.
	StateTransfer *StateTransfer

	// Guard decides who may send, and has the port's TLS; nil lets everybody, in plain text.
	Guard *access.Guard

	// Now is the collector's clock; nil is time.Now.
	Now func() time.Time
	// Logger takes what an operator should know; nil discards it.
	Logger *slog.Logger
	// Registerer takes the door's own figures; may be nil.
	Registerer prometheus.Registerer
}

// DefaultOptions are those of a collector for a cluster.
func DefaultOptions() Options {
	return Options{
		Window:                  64,
		MaxBatchBytes:           4 << 20,          // a tick of 1,162 executors in one batch
		MaxStreams:              384,              // consumer tasks of all topologies; one alone may have 256 of them
		MaxTopologySeries:       250_000,          // twice the series of 1,162 executors
		MaxAhead:                10 * time.Minute, // a clock further ahead is refused
		MaxAge:                  24 * time.Hour,   // a sender keeps a batch for 1 h; clocks may be 12 h off
		OpenTimeout:             10 * time.Second,
		DrainTimeout:            5 * time.Second,
		MaxConnections:          512,
		MaxStreamsPerConnection: 16,
		HandshakeTimeout:        10 * time.Second,
		MessageGrace:            20 * time.Second,
		PingAfter:               15 * time.Second,
		PingTimeout:             10 * time.Second,
		MaxIdle:                 15 * time.Second, // a sender opens its stream at once, and connects again by itself
		MaxWatches:              32,
		WatchTime:               time.Minute,
	}
}

// Validate returns an error that names the setting that is out of range.
func (o Options) Validate() error {
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"Window", int64(o.Window)}, {"MaxBatchBytes", int64(o.MaxBatchBytes)}, {"MaxStreams", int64(o.MaxStreams)},
		{"MaxTopologySeries", int64(o.MaxTopologySeries)},
		{"MaxAhead", int64(o.MaxAhead)}, {"OpenTimeout", int64(o.OpenTimeout)}, {"DrainTimeout", int64(o.DrainTimeout)},
		{"MaxConnections", int64(o.MaxConnections)}, {"MaxStreamsPerConnection", int64(o.MaxStreamsPerConnection)},
		{"HandshakeTimeout", int64(o.HandshakeTimeout)}, {"MessageGrace", int64(o.MessageGrace)},
		{"PingAfter", int64(o.PingAfter)}, {"PingTimeout", int64(o.PingTimeout)},
		{"MaxIdle", int64(o.MaxIdle)}, {"MaxWatches", int64(o.MaxWatches)}, {"WatchTime", int64(o.WatchTime)},
	} {
		if bound.value <= 0 {
			return fmt.Errorf("ingest: %s is %d, must be positive", bound.name, bound.value)
		}
	}
	if o.MaxTopologySamplesPerSecond < 0 {
		return fmt.Errorf("ingest: MaxTopologySamplesPerSecond is %d, must not be negative",
			o.MaxTopologySamplesPerSecond)
	}
	if o.MaxAge < 0 {
		return fmt.Errorf("ingest: MaxAge is %v, must not be negative", o.MaxAge)
	}
	return nil
}
