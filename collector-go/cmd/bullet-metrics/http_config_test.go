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
				return visit(t.Context(), server.URL, at.HTTP)
			},
			"Alertmanagers that are checked": func() error {
				var judging rulesengine.Options
				require.NoError(t, callees(config.Config{Alertmanager: config.Alertmanager{URLs: []string{server.URL},
					HTTPConfigFile: path}}, false, &judging))
				return visit(t.Context(), server.URL, judging.Client)
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

// Files that an http_config names are read before anything is sent.
func TestSecretsThatAnHTTPConfigNamesAreChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("two", []byte("a\nb\n"), 0o600))
	require.NoError(t, os.WriteFile("empty", nil, 0o600))
	for text, want := range map[string]string{
		"authorization: {credentials_file: two}":                                           "authorization.credentials_file: two:2: a second line",
		"bearer_token_file: empty":                                                         "empty is empty; write the token into it",
		"basic_auth: {username: u, password_file: two}":                                    "basic_auth.password_file: two:2: a second line",
		"basic_auth: {username_file: empty, password: p}":                                  "basic_auth.username_file: empty is empty",
		"basic_auth: {username: u, password_file: none}":                                   "basic_auth.password_file: open none",
		"oauth2: {client_id: a, client_secret_file: two, token_url: 'http://127.0.0.1:1'}": "oauth2.client_secret_file: two:2: a second line",
	} {
		require.NoError(t, os.WriteFile("http.yml", []byte(text+"\n"), 0o600))
		_, err := httpConfig("http.yml")
		assert.ErrorContains(t, err, want, text)
	}
}
