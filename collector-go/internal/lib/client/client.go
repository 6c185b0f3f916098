// Package client queries a running collector over HTTP: PromQL through Prometheus' own client, and the endpoints that
// only a collector has. It owns authentication, the limits on time and size of an answer, and the wording of refusals.
//
// The package must not know why a caller asks or what an answer means. Start with Client; Access has the credentials.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Timeout is the default time limit of one request, from connecting to the last byte of the answer.
const Timeout = 10 * time.Second

// Client queries one collector. It is safe for concurrent use.
type Client struct {
	// Timeout bounds one request.
	Timeout time.Duration

	address string
	caller  *http.Client
	api     api.Client
	promql  v1.API
}

// New returns a client of the collector at address, whose forms Access.Client describes. It does not connect.
func New(address string, access Access) (*Client, error) {
	address, caller, err := access.Client(address)
	if err != nil {
		return nil, err
	}
	return By(address, caller)
}

// By returns a client of the collector at a URL. caller is an HTTP client that adds the credentials.
func By(address string, caller *http.Client) (*Client, error) {
	asked, err := api.NewClient(api.Config{Address: address, Client: caller})
	if err != nil {
		return nil, fmt.Errorf("the collector's address %q: %w", address, err)
	}
	asked = secure{asked}
	return &Client{Timeout: Timeout, address: address, caller: caller, api: asked, promql: v1.NewAPI(asked)}, nil
}

// secure adds to an error of the connection what to do about TLS.
type secure struct{ api.Client }

// Do implements api.Client.
func (s secure) Do(ctx context.Context, request *http.Request) (*http.Response, []byte, error) {
	response, text, err := s.Client.Do(ctx, request)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		err = &Refusal{Path: request.URL.Path, Reason: untrusted.Error() + "; name its authority with --tls-ca"}
	case err == nil && response.StatusCode == http.StatusBadRequest &&
		bytes.Contains(text, []byte("HTTP request to an HTTPS server")):
		err = &Refusal{Path: request.URL.Path, Code: response.StatusCode,
			Reason: "it speaks HTTPS; use https://" + request.URL.Host + ", and --tls-ca for its authority"}
	}
	return response, text, err
}

// Address returns the collector's URL.
func (c *Client) Address() string { return c.address }

// Close closes idle connections.
func (c *Client) Close() { c.caller.CloseIdleConnections() }

// Query evaluates an expression at one time.
func (c *Client) Query(ctx context.Context, expression string, at time.Time) (model.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	value, _, _, err := c.promql.Query(ctx, expression, at)
	if err == nil && value == nil {
		err = errors.New("the answer has no result; check that a collector or a Prometheus-compatible API listens there")
	}
	if err != nil {
		return nil, fmt.Errorf("query the collector: %s: %w", expression, err)
	}
	return value, nil
}

// Vector evaluates an expression whose result is a vector.
func (c *Client) Vector(ctx context.Context, expression string, at time.Time) (model.Vector, error) {
	return queryFor[model.Vector](ctx, c, expression, at)
}

// Slices returns the stored slices, with ends in (from, to], of the series that a selector matches. It uses a range
// selector, which returns the stored samples. A range query would fill gaps with earlier values.
func (c *Client) Slices(ctx context.Context, selector string, from, to time.Time) (model.Matrix, error) {
	return queryFor[model.Matrix](ctx, c, fmt.Sprintf("%s[%dms]", selector, max(1, to.Sub(from).Milliseconds())), to)
}

func queryFor[T model.Value](ctx context.Context, c *Client, expression string, at time.Time) (T, error) {
	var wanted T
	value, err := c.Query(ctx, expression, at)
	if err != nil {
		return wanted, err
	}
	found, ok := value.(T)
	if !ok {
		return wanted, fmt.Errorf("%s: the result is a %s instead of a %s", expression, value.Type(), wanted.Type())
	}
	return found, nil
}

// Get calls a GET endpoint of the collector's API and decodes the data of the answer into data. An unsuccessful answer
// is a *Refusal.
func (c *Client) Get(ctx context.Context, path string, data any) error {
	return c.Call(ctx, http.MethodGet, path, nil, data)
}

// Ready returns "" if the collector accepts samples, and otherwise the reason.
func (c *Client) Ready(ctx context.Context) (reason string, err error) {
	code, text, err := c.send(ctx, http.MethodGet, "/-/ready", "", nil)
	switch {
	case err != nil:
		return "", err
	case code == http.StatusOK:
		return "", nil
	case code != http.StatusServiceUnavailable:
		return "", &Refusal{Path: "/-/ready", Code: code}
	}
	if _, reason, found := strings.Cut(strings.TrimSpace(string(text)), ": "); found {
		return reason, nil
	}
	return "the reason is shown with a token that may read (--token-file)", nil
}

// Post sends a form, and returns the status and the body of the answer. Missing credentials are a *Refusal.
func (c *Client) Post(ctx context.Context, path string, form url.Values) (code int, body []byte, err error) {
	code, body, err = c.send(ctx, http.MethodPost, path, "application/x-www-form-urlencoded", []byte(form.Encode()))
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		err = &Refusal{Path: path, Code: code}
	}
	return code, body, err
}

// Call sends a JSON body, if it is not nil, and decodes the data of the answer into data. If data is nil, the answer's
// data are ignored. An unsuccessful answer is a *Refusal.
func (c *Client) Call(ctx context.Context, method, path string, body []byte, data any) error {
	kind := ""
	if body != nil {
		kind = "application/json"
	}
	code, text, err := c.send(ctx, method, path, kind, body)
	if err != nil {
		return err
	}
	var answer struct {
		Status string
		Error  string
		Data   json.RawMessage
	}
	err = json.Unmarshal(text, &answer)
	switch {
	case code/100 != 2 || answer.Error != "":
		return &Refusal{Path: path, Code: code, Reason: answer.Error}
	case err == nil && answer.Status != "success":
		err = errors.New("not an answer of a collector: its status is not success")
	case err == nil && data != nil:
		err = json.Unmarshal(answer.Data, data)
	}
	if err != nil {
		return fmt.Errorf("the collector's answer to %s: %w", path, err)
	}
	return nil
}

// send sends a request with a body of a content type, "" for none, and returns the status and the body of the answer.
func (c *Client) send(ctx context.Context, method, path, kind string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("query the collector: %s: %w", path, err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, text, err := c.api.Do(ctx, request)
	if err != nil {
		return 0, nil, fmt.Errorf("query the collector: %w", err)
	}
	return response.StatusCode, text, nil
}

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
