package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// ServeProfiles serves Go's profiles of this process under /debug/pprof/ until ctx is done. Profiles show code and
// memory, so the settings allow loopback addresses only. Requests from web pages are refused, also those that use a
// host name which resolves to a loopback address.
func ServeProfiles(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	noLink := func(*http.Request) bool { return false }
	unreported := func(access.Reason, *http.Request, string) {}
	server := &http.Server{Handler: byAddress(Local(nil, noLink, unreported, mux)),
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		_ = server.Close() // interrupts a profile in progress
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("pprof: %w", err)
	}
	<-ended
	return nil
}

// byAddress refuses requests with a host name other than localhost.
func byAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "Call this server by its IP address or as localhost.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
