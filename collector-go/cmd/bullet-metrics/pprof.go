package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
)

// profiles serves Go's profiles of this process under /debug/pprof/ until ctx is done. They show what runs and what is
// in memory, so the settings allow loopback addresses only, and a page elsewhere is refused, whose name resolves to one
// or who asks for ours.
func profiles(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	server := &http.Server{Handler: byAddress(httpapi.Local(nil, noLink, unsaid, mux)),
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		_ = server.Close() // a profile that is being taken is cut
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("pprof: %w", err)
	}
	<-ended
	return nil
}

// noLink: nobody comes to profiles by a link.
func noLink(*http.Request) bool { return false }

// unsaid: what a browser on this machine tries at profiles is its own matter.
func unsaid(access.Reason, *http.Request, string) {}

// byAddress refuses requests that call the server by another name than localhost.
func byAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "Call this server by its address.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
