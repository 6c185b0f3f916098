// Package httpapi serves people and Grafana over HTTP: Prometheus' query API under /api/v1, the collector's own figures, and
// its health. It owns requests and answers, and knows nothing of how samples come in or are stored.
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

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
)

// Metadata is what a metric is, as /api/v1/metadata gives it. Type is Prometheus' word: gauge, counter, histogram, ...
type Metadata struct{ Type, Help, Unit string }

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
	// Ready says why the collector is not ready, in words for an operator; "" when it is. nil: always ready.
	Ready func() string
	// Hosts are the names (without port) by which the server may be called, beside those of this host's loopback.
	Hosts []string
	// MaxBodyBytes bounds a request's body. 10 MiB by default, what net/http allows a form.
	MaxBodyBytes int64
	// RequestTimeout bounds a request, reading and writing included. 5 min by default.
	RequestTimeout time.Duration
	// ShutdownTimeout is how long Run waits for running requests when told to end. 5 s by default.
	ShutdownTimeout time.Duration
	Version         BuildInfo
	Logger          *slog.Logger // nil: silent
}

// BuildInfo is what /api/v1/status/buildinfo says.
type BuildInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Branch    string `json:"branch"`
	BuildUser string `json:"buildUser"`
	BuildDate string `json:"buildDate"`
	GoVersion string `json:"goVersion"`
}

// DefaultOptions returns the limits described at Options; the required parts are the caller's.
func DefaultOptions() Options {
	return Options{MaxBodyBytes: 10 << 20, RequestTimeout: 5 * time.Minute, ShutdownTimeout: 5 * time.Second}
}

// Server answers requests on one listener.
type Server struct {
	http     *http.Server
	shutdown time.Duration
}

// NewServer returns a server that answers by handler New(options) once Run is called.
func NewServer(options Options) (*Server, error) {
	handler, err := New(options)
	if err != nil {
		return nil, err
	}
	return &Server{shutdown: options.ShutdownTimeout, http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       options.RequestTimeout,
		WriteTimeout:      options.RequestTimeout,
		IdleTimeout:       options.RequestTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(options.Logger.Handler(), slog.LevelDebug),
	}}, nil
}

// A client that says nothing is cut after headerTimeout; headers above maxHeaderBytes are refused.
const (
	headerTimeout  = 10 * time.Second
	maxHeaderBytes = 64 << 10
)

// Run serves on listener until ctx is done, then lets running requests end within ShutdownTimeout. It closes listener.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.shutdown)
	defer cancel()
	err := s.http.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close() // what still runs is cut
	}
	<-served
	return err
}
