// Package httpapi is the HTTP server of the collector: Prometheus' query API under /api/v1, topologies and their
// annotations, alerts and their explanations, the collector's own metrics, and its health. Where an endpoint exists in
// Prometheus, requests and answers have the same form, so that Grafana and promtool work unchanged.
//
// It owns requests and answers. It must not know how samples arrive or how they are stored; everything that it serves
// comes through Options. Every request passes the guard, and a route states the scope that it needs. Start with
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
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runindex"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Metadata is what a metric is, as /api/v1/metadata gives it. Type is Prometheus' word: gauge, counter, histogram, ...
type Metadata struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
	Help string `json:"help"`
}

// MetadataSource describes metrics. The catalogue implements it; the interface keeps this package free of the
// catalogue's own forms.
type MetadataSource interface {
	// Metadata returns all metrics by name. The caller does not change the map.
	Metadata() map[string]Metadata
}

// Options are the server's parts and limits.
type Options struct {
	Engine   *query.Engine       // required
	Gatherer prometheus.Gatherer // for /metrics; required
	Metadata MetadataSource      // nil: no metadata
	Registry *registry.Registry  // nil: no topologies and no annotations
	// Federation adds the topologies and annotations of collectors that share the engine; nil: those of Registry only.
	Federation *federation.Reader
	Rules      Rules    // nil: no rules, no alerts
	Reloader   Reloader // nil: nothing is read again
	// NotStored are the metrics of a topology that are not stored, and how many more there are; nil: unknown.
	NotStored func(topology string) ([]collection.NotStored, int)
	// Diagnose returns what changed before an alert; nil: unavailable.
	Diagnose func(context.Context, diagnosis.Question) (*diagnosis.Answer, error)
	// Page is what a person sees at /, with what it needs below /page/; nil: nothing is there.
	Page http.Handler
	// Runbooks are the pages below /runbooks/, which alerts lead to; nil: nothing is there.
	Runbooks http.Handler
	// Runs are the runs that /api/v1/runs lists, with their reports below /runs/; nil: a list that explains how to
	// configure one.
	Runs *runindex.Reader
	// Guard decides who may read and who may set annotations, and has the port's TLS; nil: everybody, in plain text.
	Guard *access.Guard
	// Ready returns why the collector is not ready, in words for an operator; "" when it is. nil: always ready.
	Ready func() string
	// Loaded waits until what was acknowledged before the collector's start is in the answers, and the alerts of then
	// are known. Where ctx ends before, the error reports how far it is. nil: it always is.
	Loaded func(ctx context.Context) error
	// LoadTimeout is how long a request waits for that before it is refused as unavailable. 10 s by default: a restart
	// takes a second or two.
	LoadTimeout time.Duration
	// Hosts are the names (without port) by which the server may be called, beside those of this host's loopback.
	Hosts []string
	// MaxBodyBytes bounds a request's body. 1 MiB by default: the longest query is 64 KiB, and the longest annotation
	// 128.
	MaxBodyBytes int64
	// BodyTimeout bounds the time in which a body comes. 20 s by default.
	BodyTimeout time.Duration
	// MaxConnections bounds the connections at a time, and an address has its share of them; more are closed at once.
	// 512 by default, as Prometheus has it.
	MaxConnections int
	// MaxRequests bounds the requests at a time, and a caller has its share of them. 256 by default.
	MaxRequests int
	// RequestTimeout bounds a request, writing included. 5 min by default, as Prometheus has it.
	RequestTimeout time.Duration
	// ShutdownTimeout is how long Run waits for running requests when its context ends. 5 s by default.
	ShutdownTimeout time.Duration
	// Version is what /api/v1/status/buildinfo returns. Its Version is read by Grafana, which takes it for Prometheus'
	// and decides by it what to ask for; where empty, it is the version of the library that answers.
	Version BuildInfo
	// StorageRetention is what /api/v1/status/runtimeinfo returns as such, for example "15d or 8GiB".
	StorageRetention string
	// Flags are settings that /api/v1/status/flags lists, by their keys: none that is secret.
	Flags      map[string]string
	Registerer prometheus.Registerer // nil: no figures
	Logger     *slog.Logger          // nil: silent
}

// DefaultOptions returns the limits described at Options; the required parts are the caller's.
func DefaultOptions() Options {
	return Options{MaxBodyBytes: 1 << 20, BodyTimeout: 20 * time.Second, MaxConnections: 512, MaxRequests: 256,
		RequestTimeout: 5 * time.Minute, ShutdownTimeout: 5 * time.Second, LoadTimeout: 10 * time.Second}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	switch {
	case o.Engine == nil || o.Gatherer == nil:
		return errors.New("http: an engine and a gatherer are required")
	case o.MaxBodyBytes < 1 || o.MaxConnections < 1 || o.MaxRequests < 1:
		return errors.New("http: the bounds on body, connections and requests must be positive")
	case o.RequestTimeout <= 0 || o.ShutdownTimeout <= 0 || o.BodyTimeout <= 0 || o.LoadTimeout <= 0:
		return errors.New("http: timeouts must be positive")
	}
	return nil
}

// Server answers requests on one listener. It adds the limits of the transport to the handler: connections, times, and
// the sizes of headers. Methods are for one goroutine; the handler is not.
type Server struct {
	options     Options
	http        *http.Server
	connections *quota.Slots
	refused     prometheus.Counter // connections
}

const (
	headerTimeout = 10 * time.Second // to read a request's header; it is short, and slow senders are not waited for
	idleTimeout   = 2 * time.Minute  // a connection without a request
	// A GET's query is in its header: Grafana's long expressions need room.
	maxHeaderBytes = 256 << 10

	streamsAConnection = 64 // of HTTP/2
	pingAfter          = 15 * time.Second
	pingTimeout        = 10 * time.Second
)

// NewServer returns a server that answers by the handler New(options) once Run is called.
func NewServer(options Options) (*Server, error) {
	handler, err := New(options)
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, connections: quota.New(options.MaxConnections), http: &http.Server{
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

// Run serves on listener until ctx is done, then lets running requests end within ShutdownTimeout and cuts off the
// rest. It closes listener, and runs once.
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
	err := s.shutDown()
	<-served
	return err
}

// shutDown lets running requests end, and cuts off those that take longer than ShutdownTimeout.
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
	s.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "bullet_metrics_http_refused_connections_total",
		Help: "Connections closed at once because of the limit in total or per address, and failed attempts to accept one.",
	})
	if r := s.options.Registerer; r != nil {
		r.MustRegister(s.refused,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "bullet_metrics_http_connections",
				Help: "Open connections to the HTTP port."},
				func() float64 { return float64(s.connections.Taken()) }))
	}
}

// refuse is called with connections beyond the limit, or beyond an address' share.
func (s *Server) refuse(peer string, why error) {
	s.refused.Inc()
	if s.options.Guard != nil {
		s.options.Guard.Note(access.NoSlots, peer, "connection: "+why.Error())
	}
}

// serverLog takes the log of net/http, which reports failed handshakes only as text.
type serverLog struct{ options Options }

const handshakeFailed = "http: TLS handshake error from "

// Write implements io.Writer; each call is a line.
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
