package ingest

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// Options are the limits of ingest. Start from DefaultOptions. Every limit protects the collector from one sender or
// client. Where possible, a sender gets a share instead of a fixed number (package quota).
type Options struct {
	// Window is the number of batches of one stream that may be unacknowledged.
	Window int
	// MaxBatchBytes is the largest encoded batch that is accepted.
	MaxBatchBytes int
	// MaxStreams bounds the streams of all producers together. A topology, a caller or an address gets a share of them
	// (package quota).
	MaxStreams int
	// MaxStreamSeries bounds the ids that one stream may define. 0 means MaxTopologySeries.
	MaxStreamSeries int
	// MaxTopologySeries bounds the series of one topology.
	MaxTopologySeries int
	// MaxTopologySamplesPerSecond bounds the samples per second of one topology, averaged over a minute. Batches beyond
	// it are answered with Full, and the sender resends them. 0 means unlimited.
	MaxTopologySamplesPerSecond int
	// MaxAhead is how far the time of a sample may be ahead of the collector's clock.
	MaxAhead time.Duration
	// MaxAge is the maximum age of a sample; 0 means unlimited.
	MaxAge time.Duration
	// OpenTimeout is how long a new stream may take to send its Open.
	OpenTimeout time.Duration
	// DrainTimeout bounds how long Serve takes to end.
	DrainTimeout time.Duration

	// MaxConnections bounds the connections. An address gets a share of them. Further connections are closed at once.
	MaxConnections int
	// MaxStreamsPerConnection bounds the streams of one connection. gRPC clients wait for a free one.
	MaxStreamsPerConnection uint32
	// HandshakeTimeout bounds the time for the TLS handshake and the first HTTP/2 frames.
	HandshakeTimeout time.Duration
	// MessageGrace is how long a message may take to arrive completely. A larger one may take longer at 16 KiB/s.
	MessageGrace time.Duration
	// PingAfter is how long a connection may be silent before it receives a ping. PingTimeout is how long it may take
	// to answer the ping.
	PingAfter, PingTimeout time.Duration

	// MaxIdle is how long a connection may be without a stream.
	MaxIdle time.Duration
	// MaxWatches bounds the streams that watch the collector's health, which need no credentials. Each lasts at most
	// WatchTime.
	MaxWatches int
	WatchTime  time.Duration

	// StateTransfer lets senders move the state of their topologies to other collectors. nil disables it.
	StateTransfer *StateTransfer

	// Guard decides who may send, and provides the TLS configuration of the port. nil allows everybody, without TLS.
	Guard *access.Guard

	// Now is the collector's clock. nil means time.Now.
	Now func() time.Time
	// Logger receives what an operator should know. nil discards it.
	Logger *slog.Logger
	// Registerer receives the metrics of ingest. It may be nil.
	Registerer prometheus.Registerer
}

// DefaultOptions returns the options of a collector for one cluster.
func DefaultOptions() Options {
	return Options{
		Window:                  64,
		MaxBatchBytes:           4 << 20,          // a tick of 1,162 executors in one batch
		MaxStreams:              384,              // consumer tasks of all topologies; one alone may have 256
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
		MaxIdle:                 15 * time.Second, // a sender opens its stream at once, and reconnects by itself
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
			return fmt.Errorf("ingest: %s is %d; it must be positive", bound.name, bound.value)
		}
	}
	if o.MaxTopologySamplesPerSecond < 0 {
		return fmt.Errorf("ingest: MaxTopologySamplesPerSecond is %d; it must not be negative",
			o.MaxTopologySamplesPerSecond)
	}
	if o.MaxAge < 0 {
		return fmt.Errorf("ingest: MaxAge is %v; it must not be negative", o.MaxAge)
	}
	return nil
}
