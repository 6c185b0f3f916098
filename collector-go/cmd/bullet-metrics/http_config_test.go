package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
)

// Paths in a file of http_config are relative to that file for each of its callers: each one
// reaches a server whose authority, user and password are in files beside it.
func TestPathsInAnHTTPConfigAreRelativeToItsFile(t *testing.T) {
	var seen string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		seen = user + " " + password
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`)
	}))
	defer server.Close()
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("conf/secret", 0o700))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string]string{
		"http.yml": "basic_auth: {username_file: user, password_file: secret/password}\ntls_config: {ca_file: ca.pem}\n",
		"ca.pem":   string(ca), "user": "me\n", "secret/password": "s3cret\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join("conf", name), []byte(text), 0o600))
	}
	for _, path := range []string{"conf/http.yml", filepath.Join(must(os.Getwd()), "conf/http.yml")} {
		for name, call := range map[string]func() error{
			"a store": func() error {
				at, err := receiver(&config.Store{URL: server.URL, HTTPConfigFile: path})
				require.NoError(t, err)
				client, err := at.Client()
				require.NoError(t, err)
				response, err := client.Get(server.URL)
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			},
			"a store that is checked": func() error {
				at, err := receiver(&config.Store{URL: server.URL, HTTPConfigFile: path})
				require.NoError(t, err)
				return httpclient.Probe(t.Context(), server.URL, at.HTTP)
			},
			"Alertmanagers that are checked": func() error {
				var judging rulesengine.Options
				require.NoError(t, setAlertmanagers(config.Config{Alertmanager: config.Alertmanager{
					URLs: []string{server.URL}, HTTPConfigFile: path}}, false, &judging))
				return httpclient.Probe(t.Context(), server.URL, judging.Client)
			},
			"an engine": func() error {
				engine, err := remoteEngine(config.Query{URL: server.URL, HTTPConfigFile: path})
				require.NoError(t, err)
				_, err = engine.Abilities(t.Context())
				return err
			},
		} {
			seen = ""
			require.NoError(t, call(), "%s, %s", name, path)
			assert.Equal(t, "me s3cret", seen, "%s, %s", name, path)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
