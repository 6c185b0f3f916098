package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// bounded limits each request in three ways: its total time, the size of its body, and the time in which the body must
// arrive. The body has its own time limit because an answer may take minutes. A client that sends one byte per second
// must not hold a connection that long.
func bounded(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), o.RequestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, timed(w, r, o.BodyTimeout), o.MaxBodyBytes)
		next.ServeHTTP(w, r)
	})
}

// timed returns the request's body, which must arrive within limit. A body in memory has no connection and therefore
// no limit.
func timed(w http.ResponseWriter, r *http.Request, limit time.Duration) io.ReadCloser {
	if r.Body == nil || r.Body == http.NoBody {
		return http.NoBody
	}
	connection := http.NewResponseController(w)
	if connection.SetReadDeadline(time.Now().Add(limit)) != nil {
		return r.Body // no connection: a test's request or one of the program itself
	}
	return &timedBody{ReadCloser: r.Body, complete: func() { _ = connection.SetReadDeadline(time.Time{}) }}
}

// timedBody removes the read deadline when the body is complete. If the deadline stayed, it would later look as if the
// client had disconnected.
type timedBody struct {
	io.ReadCloser
	complete func()
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.complete()
	}
	return n, err
}

// isTooSlow reports whether a body did not arrive in time.
func isTooSlow(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
