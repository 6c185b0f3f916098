package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// bounded limits what a request may take: time, the size of its body, and the time in which the body comes. The last is
// a bound of its own, since an answer may take minutes, and who sends a byte a second must not hold a connection that
// long.
func bounded(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), o.RequestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, timed(w, r, o.BodyTimeout), o.MaxBodyBytes)
		next.ServeHTTP(w, r)
	})
}

// timed returns a request's body that must arrive within limit. A body in memory has no connection and no limit.
func timed(w http.ResponseWriter, r *http.Request, limit time.Duration) io.ReadCloser {
	if r.Body == nil || r.Body == http.NoBody {
		return http.NoBody
	}
	connection := http.NewResponseController(w)
	if connection.SetReadDeadline(time.Now().Add(limit)) != nil {
		return r.Body // no connection: a test's, or the program's own question
	}
	return &timedBody{ReadCloser: r.Body, complete: func() { _ = connection.SetReadDeadline(time.Time{}) }}
}

// timedBody removes the deadline when the body is complete. Otherwise the deadline would later look as if the client
// had gone away.
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

// isTooSlow reports whether a body did not come in time.
func isTooSlow(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
