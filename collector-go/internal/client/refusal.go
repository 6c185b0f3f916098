package client

import (
	"fmt"
	"io"
	"net/http"
)

// Refusal is an answer other than success.
type Refusal struct {
	Path   string
	Code   int    // of HTTP
	Reason string // "" where the answer gives none
}

// Error names the path and the reason, and what to give where the collector lets nobody in without it.
func (r *Refusal) Error() string {
	text := "the collector refuses " + r.Path + ": " + r.Reason
	if r.Reason == "" {
		text += fmt.Sprintf("%d %s", r.Code, http.StatusText(r.Code))
	}
	if r.Code == http.StatusUnauthorized || r.Code == http.StatusForbidden {
		text += ": give a token that may do this (--token-file), or a certificate (--tls-cert, --tls-key)"
	}
	return text
}

// mostBytes bounds an answer: minutes of all slices of a large topology are a few MiB.
const mostBytes = 256 << 20

// Bound is next (nil: Go's own) that refuses answers with more bytes.
func Bound(next http.RoundTripper, most int64) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return bound{next, most}
}

type bound struct {
	next http.RoundTripper
	most int64
}

// RoundTrip implements http.RoundTripper.
func (b bound) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err == nil {
		response.Body = &boundBody{response.Body, b.most, b.most}
	}
	return response, err
}

// CloseIdleConnections is called by http.Client.
func (b bound) CloseIdleConnections() {
	(&http.Client{Transport: b.next}).CloseIdleConnections()
}

// boundBody fails where more comes than may.
type boundBody struct {
	io.ReadCloser
	left, most int64
}

func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, fmt.Errorf("the answer is larger than %d MiB", b.most>>20)
	}
	return n, err
}
