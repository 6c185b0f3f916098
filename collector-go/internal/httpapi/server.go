// Package httpapi serves people and Grafana over HTTP: Prometheus' query API under /api/v1, what topologies are and their
// annotations, the collector's own figures, and its health. It owns requests and answers, and knows nothing of how samples come in or are stored.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/util/netconnlimit"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/shelf"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/why"
)

// Metadata is what a metric is, as /api/v1/metadata gives it. Type is Prometheus' word: gauge, counter, histogram, ...
type Metadata struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
	Help string `json:"help"`
}

// MetadataSource names what every metric is. The catalogue is one.
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
	Rules    Rules               // nil: no rules, no alerts
	// Why tells what changed before an alert; nil: nobody does.
	Why func(context.Context, why.Question) (*why.Answer, error)
	// Page is what a person sees at /, with what it needs below /page/; nil: nothing is there.
	Page http.Handler
	// Runs are the runs that /api/v1/runs lists, with their reports below /runs/; nil: a list that says how to have one.
	Runs *shelf.Shelf
	// Authorize says why a request may not set an annotation of a topology; nil: all may.
	Authorize func(r *http.Request, topology string) error
	// Ready says why the collector is not ready, in words for an operator; "" when it is. nil: always ready.
	Ready func() string
	// Hosts are the names (without port) by which the server may be called, beside those of this host's loopback.
	Hosts []string
	// MaxBodyBytes bounds a request's body. 10 MiB by default, what net/http allows a form.
	MaxBodyBytes int64
	// MaxConnections bounds the connections at a time; more wait to be accepted. 512 by default, as Prometheus has it.
	MaxConnections int
	// RequestTimeout bounds a request, reading and writing included. 5 min by default, as Prometheus has it.
	RequestTimeout time.Duration
	// ShutdownTimeout is how long Run waits for running requests when told to end. 5 s by default.
	ShutdownTimeout time.Duration
	// Version is what /api/v1/status/buildinfo says. Its Version is read by Grafana, which takes it for Prometheus' and decides
	// by it what to ask for; where empty, it is the version of the library that answers.
	Version BuildInfo
	// StorageRetention is what /api/v1/status/runtimeinfo says of it, such as "15d or 8GiB".
	StorageRetention string
	Registerer       prometheus.Registerer // nil: no figures
	Logger           *slog.Logger          // nil: silent
}

// DefaultOptions returns the limits described at Options; the required parts are the caller's.
func DefaultOptions() Options {
	return Options{MaxBodyBytes: 10 << 20, MaxConnections: 512, RequestTimeout: 5 * time.Minute, ShutdownTimeout: 5 * time.Second}
}

// Validate says which option cannot be.
func (o Options) Validate() error {
	switch {
	case o.Engine == nil || o.Gatherer == nil:
		return errors.New("http: an engine and a gatherer are required")
	case o.MaxBodyBytes < 1 || o.MaxConnections < 1:
		return errors.New("http: the bounds on body and connections must be positive")
	case o.RequestTimeout <= 0 || o.ShutdownTimeout <= 0:
		return errors.New("http: timeouts must be positive")
	}
	return nil
}

// Server answers requests on one listener.
type Server struct {
	options Options
	http    *http.Server
}

const (
	headerTimeout = 10 * time.Second // to read a request's header; it is short, and slow senders are not waited for
	idleTimeout   = 2 * time.Minute  // a connection without a request
	// A GET's query is in its header: Grafana's long expressions need room.
	maxHeaderBytes = 256 << 10
)

// NewServer returns a server that answers by the handler New(options) once Run is called.
func NewServer(options Options) (*Server, error) {
	handler, err := New(options)
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       options.RequestTimeout,
		WriteTimeout:      options.RequestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}}
	if options.Logger != nil {
		s.http.ErrorLog = slog.NewLogLogger(options.Logger.Handler(), slog.LevelDebug)
	}
	return s, nil
}

// Run serves on listener until ctx is done, then lets running requests end within ShutdownTimeout and cuts off the rest. It
// closes listener, and runs once.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	limited := netconnlimit.SharedLimitListener(listener, netconnlimit.NewSharedSemaphore(s.options.MaxConnections))
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(limited) }()
	select {
	case err := <-served:
		return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	err := s.shutDown()
	<-served
	return err
}

func (s *Server) shutDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.ShutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close()
	}
	return err
}
