// Package httpapi is the HTTP server of the collector. It serves Prometheus' query API under /api/v1, topologies and
// their annotations, alerts and their diagnoses, the collector's own metrics, and health checks. If an endpoint exists
// in Prometheus, requests and answers have the same form, so that Grafana and promtool work unchanged.
//
// The package owns requests and answers. It must not know how samples arrive or how they are stored: all data come
// through Options. Every request passes the guard, and each route states the scope that it needs. Start with
// routes.go.
package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/live"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runindex"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Metadata describes a metric for /api/v1/metadata. Type is one of Prometheus' types: gauge, counter, histogram, ...
type Metadata struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
	Help string `json:"help"`
}

// MetadataSource describes metrics. The catalog implements it. The interface keeps the types of the catalog out of
// this package.
type MetadataSource interface {
	// Metadata returns all metrics by name. The caller must not change the map.
	Metadata() map[string]Metadata
}

// Options are the parts that the server uses, and its limits.
type Options struct {
	Engine   *query.Engine       // required
	Gatherer prometheus.Gatherer // for /metrics; required
	Metadata MetadataSource      // nil: no metadata
	Registry *registry.Registry  // nil: no topologies and no annotations
	Live     *live.Live          // nil: no stream of live samples; needs Registry
	// Federation adds the topologies and annotations of collectors that share the engine; nil: only those of Registry.
	Federation *federation.Reader
	Rules      Rules    // nil: no rules, no alerts
	Reloader   Reloader // nil: reloading is not possible
	// NotStored returns metrics of a topology that are not stored, and how many more there are; nil: unknown.
	NotStored func(topology string) ([]collection.NotStored, int)
	// Diagnose returns what changed before an alert; nil: the route does not exist.
	Diagnose func(context.Context, diagnosis.Question) (*diagnosis.Answer, error)
	// Page serves the web page at / and its files below /page/; nil: the routes do not exist.
	Page http.Handler
	// Runbooks serves the pages below /runbooks/, to which alerts link; nil: the route does not exist.
	Runbooks http.Handler
	// Runs lists the experiment runs for /api/v1/runs and serves their reports below /runs/; nil: /api/v1/runs answers
	// with an explanation how to configure it.
	Runs *runindex.Reader
	// Guard decides who may read and who may set annotations, and has the TLS configuration of the port; nil:
	// everybody may do everything, without TLS.
	Guard *access.Guard
	// Ready returns why the collector is not ready, as a text for the operator, or "" if it is ready; nil: always
	// ready.
	Ready func() string
	// Loaded waits until queries see all data that were acknowledged before the collector's start, and the state of
	// alerts is restored. If ctx ends before that, the error says how far the replay is. nil: there is no replay.
	Loaded func(ctx context.Context) error
	// LoadTimeout is how long a request waits for Loaded before it is refused as unavailable. The default is 10 s,
	// because a restart takes a second or two.
	LoadTimeout time.Duration
	// Hosts are the names (without port) under which the server may be called, in addition to localhost.
	Hosts []string
	// MaxBodyBytes bounds the body of a request. The default is 1 MiB: the longest query has 64 KiB, and the longest
	// annotation 128 KiB.
	MaxBodyBytes int64
	// BodyTimeout bounds the time in which a body must arrive. The default is 20 s.
	BodyTimeout time.Duration
	// MaxConnections bounds the number of open connections. One address can use only a share of them. Connections
	// beyond these limits are closed at once. The default is 512, as in Prometheus.
	MaxConnections int
	// MaxRequests bounds the number of concurrent requests. One caller can use only a share of them. The default is
	// 256.
	MaxRequests int
	// RequestTimeout bounds the time of a request, including writing the answer. The default is 5 min, as in
	// Prometheus.
	RequestTimeout time.Duration
	// ShutdownTimeout is how long Run waits for running requests after its context ends. The default is 5 s.
	ShutdownTimeout time.Duration
	// Version is the answer of /api/v1/status/buildinfo. Grafana reads the field Version as that of a Prometheus
	// server, and enables features accordingly. If it is empty, the version of the Prometheus library is used.
	Version BuildInfo
	// StorageRetention is returned by /api/v1/status/runtimeinfo, for example "15d or 8GiB".
	StorageRetention string
	// Flags are the settings that /api/v1/status/flags lists, by key. They must not contain secrets.
	Flags      map[string]string
	Registerer prometheus.Registerer // nil: no metrics
	Logger     *slog.Logger          // nil: no log

	stopping <-chan struct{} // closed when the server stops, so that streams end; nil: never
}

// DefaultOptions returns the default limits of Options. The caller sets the required fields.
func DefaultOptions() Options {
	return Options{MaxBodyBytes: 1 << 20, BodyTimeout: 20 * time.Second, MaxConnections: 512, MaxRequests: 256,
		RequestTimeout: 5 * time.Minute, ShutdownTimeout: 5 * time.Second, LoadTimeout: 10 * time.Second}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	switch {
	case o.Engine == nil || o.Gatherer == nil:
		return errors.New("http: missing engine or gatherer")
	case o.MaxBodyBytes < 1 || o.MaxConnections < 1 || o.MaxRequests < 1:
		return errors.New("http: the limits of body, connections and requests must be positive")
	case o.RequestTimeout <= 0 || o.ShutdownTimeout <= 0 || o.BodyTimeout <= 0 || o.LoadTimeout <= 0:
		return errors.New("http: timeouts must be positive")
	}
	return nil
}

// Server serves the handler on one listener. It adds the limits of the transport: the number of connections, timeouts,
// and the size of headers. Its methods must be called from one goroutine; the handler is safe for concurrent use.
type Server struct {
	options     Options
	http        *http.Server
	stop        func() // ends streams
	connections *quota.Slots
	refused     prometheus.Counter // counts refused connections
}

const (
	headerTimeout = 10 * time.Second // to read a request's header
	idleTimeout   = 2 * time.Minute  // for a connection without a request
	// Grafana sends long expressions in the URL of a GET request, which counts as part of the header.
	maxHeaderBytes = 256 << 10

	streamsAConnection = 64 // for one HTTP/2 connection
	pingAfter          = 15 * time.Second
	pingTimeout        = 10 * time.Second
)

// NewServer returns a server for the handler New(options). It starts serving when Run is called.
func NewServer(options Options) (*Server, error) {
	stopping := make(chan struct{})
	options.stopping = stopping
	handler, err := New(options)
	if err != nil {
		return nil, err
	}
	stop := sync.OnceFunc(func() { close(stopping) })
	s := &Server{options: options, stop: stop, connections: quota.New(options.MaxConnections), http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      options.RequestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(serverLog{options}, "", 0),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsAConnection, SendPingTimeout: pingAfter,
			PingTimeout: pingTimeout},
	}}
	s.figures()
	return s, nil
}

// Run serves on listener until ctx is done. Then it waits up to ShutdownTimeout for running requests and closes the
// remaining connections. It closes listener, and can be called only once.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	var open net.Listener = quota.Listen(listener, s.connections, s.refuse)
	var looking sync.WaitGroup
	defer looking.Wait()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if guard := s.options.Guard; guard != nil {
		if config := guard.TLS(); config != nil {
			open = tls.NewListener(open, config)
		}
		looking.Go(func() { guard.Run(watching) })
	}
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(open) }()
	select {
	case err := <-served:
		return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.stop()
	err := s.shutDown()
	<-served
	return err
}

// shutDown waits for running requests, and closes connections whose requests take longer than ShutdownTimeout.
func (s *Server) shutDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.ShutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close()
	}
	return err
}

func (s *Server) figures() {
	make := instrument.New("bullet_metrics_http_", nil)
	s.refused = make.Counter("refused_connections_total",
		"Connections closed at once because of the limit in total or per address, and failed attempts to accept one.")
	make.Func("connections", "Open connections to the HTTP port.",
		func() float64 { return float64(s.connections.Taken()) })
	make.Register(s.options.Registerer)
}

// refuse counts and logs a connection that exceeds the total limit or the share of its address.
func (s *Server) refuse(peer string, why error) {
	s.refused.Inc()
	if s.options.Guard != nil {
		s.options.Guard.Note(access.NoSlots, peer, "connection: "+why.Error())
	}
}

// serverLog receives the log of net/http, because net/http reports failed TLS handshakes only as text.
type serverLog struct{ options Options }

const handshakeFailed = "http: TLS handshake error from "

// Write implements io.Writer; each call has one line.
func (l serverLog) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line), "\n")
	if rest, found := strings.CutPrefix(text, handshakeFailed); found && l.options.Guard != nil {
		peer, why, _ := strings.Cut(rest, ": ")
		l.options.Guard.HandshakeText(peer, why)
	} else if l.options.Logger != nil {
		l.options.Logger.Debug(text)
	}
	return len(line), nil
}
