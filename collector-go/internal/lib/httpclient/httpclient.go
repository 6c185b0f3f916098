// Package httpclient makes every HTTP client of the program, so that the same rules apply to all of them. A client
//
//   - follows no redirect: only the operator decides which hosts are called, and a redirected POST would become a GET
//     of something else;
//   - accepts no HTML page as an answer: no API that the program calls answers in HTML, but login pages do, with
//     status 200;
//   - limits the size of bodies and the time to connect;
//   - sends the user and password of a URL without keeping them in the URLs of requests, so that no error repeats them.
//
// An architecture test refuses other clients.
package httpclient

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Default limits.
const (
	// connectTimeout bounds the time to connect. A host that does not answer is reported only after this time.
	connectTimeout = 10 * time.Second
	// idleTimeout is how long an idle connection stays open.
	idleTimeout = 90 * time.Second
	// mostBytes is the maximum size of an answer.
	mostBytes = 64 << 20
)

// Options define how a client makes its calls.
type Options struct {
	// Access has TLS settings, credentials and headers; nil for none. Its files are read again when they change. Its
	// setting for redirects is ignored.
	Access *config.HTTPClientConfig
	// TokenFile has a token that is sent with each request; "" for none. It is read for each request.
	TokenFile string
	// User is sent with each request; nil for none. Bare extracts it from a URL.
	User *url.Userinfo
	// Connections is the number of connections to a host that are kept open, over HTTP/1.1. So many requests can wait
	// for answers at the same time. 0 means few. If it is set, Access is ignored.
	Connections int
	// Timeout bounds a request from connecting to the last byte of its answer; 0 if the callers' contexts bound it.
	Timeout time.Duration
	// Connect bounds the time to connect; 0 means 10 s.
	Connect time.Duration
	// MostBytes is the maximum size of an answer; 0 means 64 MiB.
	MostBytes int64
	// Pages accepts HTML answers. It is for a caller that only checks whether something answers, or that checks the
	// body itself.
	Pages bool
}

// New returns a client. It does not connect.
func New(o Options) (*http.Client, error) {
	o.Connect = cmp.Or(o.Connect, connectTimeout)
	o.MostBytes = cmp.Or(o.MostBytes, mostBytes)
	next, err := o.next()
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &transport{next, o}, Timeout: o.Timeout}, nil
}

func (o Options) next() (http.RoundTripper, error) {
	dial := (&net.Dialer{Timeout: o.Connect}).DialContext
	if o.Connections > 0 {
		return &http.Transport{DialContext: dial, MaxIdleConns: o.Connections, MaxIdleConnsPerHost: o.Connections,
			IdleConnTimeout: idleTimeout, TLSHandshakeTimeout: o.Connect}, nil
	}
	access := config.DefaultHTTPClientConfig
	if o.Access != nil {
		access = *o.Access
	}
	return config.NewRoundTripperFromConfig(access, "bullet-metrics", config.WithUserAgent("bullet-metrics"),
		config.WithIdleConnTimeout(idleTimeout), config.WithDialContextFunc(dial))
}

// Plain returns a client without credentials. Unlike New it cannot fail.
func Plain(o Options) *http.Client {
	o.Access = nil
	client, err := New(o)
	if err != nil {
		panic(err) // the default configuration is valid
	}
	return client
}

// Bare returns a URL without its user and password, and the user and password.
func Bare(u *url.URL) (*url.URL, *url.Userinfo) {
	bare := *u
	bare.User = nil
	return &bare, u.User
}

type transport struct {
	next    http.RoundTripper
	options Options
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.options.User != nil || t.options.TokenFile != "" {
		request = request.Clone(request.Context())
	}
	if user := t.options.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	if path := t.options.TokenFile; path != "" {
		token, err := textfile.Token(path)
		if err != nil {
			return nil, fmt.Errorf("the token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if err := t.check(response); err != nil {
		_ = response.Body.Close() // the body is not needed
		return nil, err
	}
	response.Body = &body{response.Body, t.options.MostBytes, t.options.MostBytes}
	return response, nil
}

// check refuses redirects and HTML pages. It also decompresses an answer that is compressed although that was not
// requested.
func (t *transport) check(response *http.Response) error {
	if slices.Contains(redirects, response.StatusCode) {
		return &RedirectError{Status: response.Status, Location: address.URL(response.Header.Get("Location"))}
	}
	if response.Header.Get("Content-Encoding") == "gzip" {
		response.Body = &unpacked{packed: response.Body}
		response.Header.Del("Content-Encoding")
		response.Header.Del("Content-Length")
		response.ContentLength = -1
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode/100 == 2 && kind == "text/html" && !t.options.Pages {
		start, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // a partial text is sufficient
		return fmt.Errorf("the answer is an HTML page, probably of a login or a proxy: %q",
			strings.Join(strings.Fields(string(start)), " "))
	}
	return nil
}

// redirects are the statuses that refer to another address.
var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
	http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// CloseIdleConnections is called by http.Client.
func (t *transport) CloseIdleConnections() {
	if next, can := t.next.(interface{ CloseIdleConnections() }); can {
		next.CloseIdleConnections()
	}
}

// RedirectError reports an answer that refers to another address.
type RedirectError struct {
	Status   string
	Location address.URL
}

// Error implements error.
func (e *RedirectError) Error() string {
	if e.Location == "" {
		return fmt.Sprintf("the answer is a redirect (%s) without an address", e.Status)
	}
	return fmt.Sprintf("the answer is a redirect (%s) to %s; use that address", e.Status, e.Location)
}

// body returns an error if the answer is larger than the limit.
type body struct {
	io.ReadCloser
	left, most int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, fmt.Errorf("the answer exceeds %d MiB", b.most>>20)
	}
	return n, err
}

// unpacked decompresses gzip. It reads the gzip header with the first bytes, not when the answer begins.
type unpacked struct {
	packed io.ReadCloser
	plain  *gzip.Reader
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.plain == nil {
		if u.plain, err = gzip.NewReader(u.packed); err != nil {
			return 0, fmt.Errorf("unpack the answer: %w", err)
		}
	}
	return u.plain.Read(p)
}

// Close implements io.Closer.
func (u *unpacked) Close() error { return u.packed.Close() }
