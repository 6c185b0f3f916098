package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProfiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ServeProfiles(ctx, l) }()
	get := func(host, path string) (int, string) {
		request, err := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+path, nil)
		require.NoError(t, err)
		if host != "" {
			request.Host = host
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	code, body := get("", "/debug/pprof/goroutine?debug=1")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "goroutine profile:")
	code, _ = get("evil.example", "/debug/pprof/goroutine?debug=1")
	require.Equal(t, http.StatusForbidden, code)
	code, _ = get("localhost:1", "/debug/pprof/heap")
	require.Equal(t, http.StatusOK, code)
	cancel()
	require.NoError(t, <-ended)
}
