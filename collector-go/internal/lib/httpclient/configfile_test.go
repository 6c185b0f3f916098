package httpclient

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		_, err := ReadConfig("http.yml")
		assert.ErrorContains(t, err, want, text)
	}
}
