package forward

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func file(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSecretsComeFromFilesAndRedirectsAreNotFollowed(t *testing.T) {
	var seen []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		if _, _, basic := r.BasicAuth(); !basic {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(s.Close)
	token := file(t, "first\n")
	r := Receiver{URL: s.URL, HTTP: config.HTTPClientConfig{FollowRedirects: true,
		Authorization: &config.Authorization{Type: "Token", CredentialsFile: token},
		HTTPHeaders: &config.Headers{
			Headers: map[string]config.Header{"X-Scope-OrgID": {Values: []string{"bullet"}}}}}}
	require.NoError(t, r.Validate())
	client, err := r.Client()
	require.NoError(t, err)
	for _, secret := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(token, []byte(secret+"\n"), 0o600))
		_, err := client.Post(s.URL, "text/plain", nil) //nolint:bodyclose // there is none
		require.ErrorContains(t, err, "the answer is a redirect (307 Temporary Redirect) to /elsewhere; use that address")
		last := seen[len(seen)-1]
		assert.Equal(t, "Token "+secret, last.Header.Get("Authorization"), "a changed file is read again")
		assert.Equal(t, "bullet", last.Header.Get("X-Scope-OrgID"))
		assert.Equal(t, "/", last.URL.Path)
	}
	client.CloseIdleConnections()

	basic := Receiver{URL: s.URL,
		HTTP: config.HTTPClientConfig{BasicAuth: &config.BasicAuth{Username: "u", PasswordFile: file(t, "p\n")}}}
	client, err = basic.Client()
	require.NoError(t, err)
	response, err := client.Get(s.URL)
	require.NoError(t, err)
	_ = response.Body.Close()
	user, password, _ := seen[len(seen)-1].BasicAuth()
	assert.Equal(t, "u p", user+" "+password)
	client.CloseIdleConnections()
}

func TestATLSReceiverIsKnownByItsAuthority(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	stranger, err := Receiver{URL: s.URL}.Client()
	require.NoError(t, err)
	_, err = stranger.Get(s.URL)
	require.ErrorContains(t, err, "certificate")

	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pemOf(s), 0o600))
	known, err := Receiver{URL: s.URL, HTTP: config.HTTPClientConfig{TLSConfig: config.TLSConfig{CAFile: ca}}}.Client()
	require.NoError(t, err)
	response, err := known.Get(s.URL)
	require.NoError(t, err)
	_ = response.Body.Close()
	known.CloseIdleConnections()
}

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestWhatIsWrongWithAReceiverIsSaid(t *testing.T) {
	for want, r := range map[string]Receiver{
		`url "": missing URL`:                  {},
		`url "localhost:9090": missing scheme`: {URL: "localhost:9090"},
		`url "http://(hidden)@h/": a URL holds no user or password here: they belong in http_config_file`: {
			URL: "http://u:p@h/"},
		"port 99999 is above 65535": {URL: "http://h:99999/"},
		"at most one of basic_auth": {URL: "http://h/", HTTP: config.HTTPClientConfig{BasicAuth: &config.BasicAuth{},
			Authorization: &config.Authorization{CredentialsFile: "t"}}},
	} {
		assert.ErrorContains(t, r.Validate(), want)
	}
}
