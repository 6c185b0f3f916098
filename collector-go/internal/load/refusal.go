package load

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// StatusError is an answer over HTTP that says no.
type StatusError struct {
	// Method and URL are the request's.
	Method, URL string
	// Code is the answer's, and Status the same with its name, "503 Service Unavailable".
	Code   int
	Status string
	// Text is the beginning of its body.
	Text string
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %s: %s", e.Method, e.URL, e.Status, e.Text)
}

// Refused reports whether a query failed since its target turned it away for want of room: with 429 (Too Many
// Requests), as the gateway does at its most queries, or 503 (Service Unavailable).
func Refused(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && (status.Code == http.StatusTooManyRequests ||
		status.Code == http.StatusServiceUnavailable)
}

func refusal(request *http.Request, response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes)) // what of it came says enough
	return &StatusError{Method: request.Method, URL: request.URL.String(), Code: response.StatusCode,
		Status: response.Status, Text: strings.TrimSpace(string(text))}
}
