package client

import (
	"fmt"
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
