package client

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secured starts a collector behind TLS that requires a token. The file ca has the authority of its certificate.
func secured(t *testing.T, token string) (url, ca string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"42"]}}`)
	}))
	t.Cleanup(server.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, text, 0o644))
	return server.URL, ca
}

func TestACollectorBehindTLSAndAToken(t *testing.T) {
	url, ca := secured(t, "s3cret")
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("s3cret\n"), 0o600))
	for _, address := range []string{url, url + "/", strings.TrimPrefix(url, "https://")} {
		c, err := New(address, Access{CA: ca, TokenFile: token})
		require.NoError(t, err)
		v, err := c.Query(t.Context(), "42", time.Unix(1, 0))
		require.NoError(t, err, address)
		assert.Equal(t, model.SampleValue(42), v.(*model.Scalar).Value)
		require.NoError(t, c.Call(t.Context(), http.MethodPost, "/api/v1/annotations", []byte("{}"), nil),
			"its own API goes the same way")
	}
	c, err := New(url, Access{CA: ca})
	require.NoError(t, err)
	_, err = c.Query(t.Context(), "42", time.Unix(1, 0))
	require.Error(t, err, "without the token")
	assert.ErrorContains(t, c.Get(t.Context(), "/api/v1/topologies", nil), "401 Unauthorized: give a token")
	c, err = New(url, Access{})
	require.NoError(t, err)
	_, err = c.Query(t.Context(), "42", time.Unix(1, 0))
	require.ErrorContains(t, err, "name its authority with --tls-ca")
	c, err = New(strings.Replace(url, "https://", "http://", 1), Access{})
	require.NoError(t, err)
	for _, err := range []error{c.Get(t.Context(), "/api/v1/topologies", nil), second(c.Ready(t.Context())),
		second(c.Query(t.Context(), "42", time.Unix(1, 0)))} {
		assert.ErrorContains(t, err, "it speaks HTTPS; use "+url+", and --tls-ca")
	}
}

func second[T any](_ T, err error) error { return err }

func TestAddressesOfCollectorsAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(file+"-two", []byte("x\ny\n"), 0o600))
	require.NoError(t, os.WriteFile(file+"-empty", nil, 0o600))
	for address, c := range map[string]struct {
		access Access
		want   string
	}{
		"ftp://a:1":           {Access{}, "use HOST:PORT, http://HOST:PORT or https://HOST:PORT"},
		"http://":             {Access{}, "missing host"},
		"http://a:1":          {Access{TokenFile: file}, "a token would be sent in plain text; use https://a:1"},
		"a:1":                 {Access{TokenFile: file}, "a token would be sent in plain text; use https://a:1"},
		"http://a:2":          {Access{CA: file}, "a CA is given; use https://a:2"},
		"https://a:1":         {Access{TokenFile: file + "-none"}, "the collector's token: open"},
		"https://a:2":         {Access{CA: file + "-none"}, "the collector's CA: open"},
		"http://[::1]:1":      {Access{TokenFile: file}, ""},
		"localhost:1":         {Access{TokenFile: file}, ""},
		"https://a/there":     {Access{TokenFile: file}, ""},
		"":                    {Access{}, "missing URL"},
		"a:99999":             {Access{}, "port 99999 is above 65535"},
		"http://u:s3cret@a:1": {Access{}, `"http://(hidden)@a:1": a URL holds no user or password here: they belong in a file (--token-file)`},
		"https://a:3":         {Access{TokenFile: file + "-two"}, "-two:2: a second line; write the token alone"},
		"https://a:4":         {Access{TokenFile: file + "-empty"}, "-empty is empty; write the token into it"},
	} {
		_, err := New(address, c.access)
		if c.want == "" {
			assert.NoError(t, err, address)
			continue
		}
		assert.ErrorContains(t, err, c.want, address)
	}
}

// answering returns a client of a server that answers every request with a status and a text.
func answering(t *testing.T, code int, text string) *Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL, Access{})
	require.NoError(t, err)
	return c
}

func TestARefusalSaysWhy(t *testing.T) {
	err := answering(t, http.StatusBadRequest, `{"status":"error","error":"no alert is called X"}`).Get(t.Context(),
		"/api/v1/why", nil)
	var refused *Refusal
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, Refusal{Path: "/api/v1/why", Code: 400, Reason: "no alert is called X"}, *refused)
	assert.ErrorContains(t, answering(t, http.StatusNotFound, "<html>").Get(t.Context(), "/there", nil),
		"refuses /there: 404 Not Found")
	assert.ErrorContains(t, answering(t, http.StatusOK, "<html>").Get(t.Context(), "/there", nil),
		"an HTML page")
	for _, text := range []string{"", "null", "{}", `{"message":"unauthorized"}`, `{"status":"success"}garbage`} {
		assert.ErrorContains(t, answering(t, http.StatusOK, text).Call(t.Context(), http.MethodPost, "/there", nil, nil),
			"the collector's answer to /there", text)
	}
}

func TestAnAnswerOfAnotherKindIsAnError(t *testing.T) {
	c := answering(t, http.StatusOK, `{"status":"success","data":{"resultType":"scalar","result":[1,"42"]}}`)
	_, err := c.Vector(t.Context(), "42", time.Unix(1, 0))
	require.ErrorContains(t, err, "a scalar instead of a vector")
	_, err = c.Slices(t.Context(), "m", time.Unix(1, 0), time.Unix(2, 0))
	require.ErrorContains(t, err, "a scalar instead of a matrix")
}

// A collector that accepts a request but never answers delays callers only until the timeout, for PromQL and for the
// API.
func TestACollectorThatNeverAnswersIsAbandoned(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client has disconnected
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL, Access{})
	require.NoError(t, err)
	c.Timeout = time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = c.Query(ctx, "42", time.Unix(1, 0))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, ctx.Err(), "the client's own limit ends it")
	require.ErrorIs(t, c.Get(ctx, "/api/v1/topologies", nil), context.DeadlineExceeded)
	require.NoError(t, ctx.Err(), "the client's own limit ends it")
}
