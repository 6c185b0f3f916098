package client

import (
	"fmt"
	"net/http"
)

// Refusal is the error for an unsuccessful answer.
type Refusal struct {
	Path   string
	Code   int    // HTTP status
	Reason string // "" if the answer has no error text
}

// Error returns the path and the reason. If credentials are missing, it names the flags that set them.
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

// mostBytes is the maximum size of an answer. Several minutes of all slices of a large topology take only a few MiB.
const mostBytes = 256 << 20
