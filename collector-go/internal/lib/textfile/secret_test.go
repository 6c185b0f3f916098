package textfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASecretIsOneLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for text, want := range map[string]struct{ secret, token, password string }{
		"s3cret":                 {secret: "s3cret"},
		"s3cret\n":               {secret: "s3cret"},
		"\ufeff s3cret \r\n\r\n": {secret: "s3cret"},
		"":                       {token: "is empty; write the token into it", password: "is empty; write the password into it"},
		"\n \n":                  {token: "is empty", password: "is empty"},
		"s3cret\nother\n":        {token: ":2: a second line; write the token alone", password: ":2: a second line"},
		"# comment\n\ns3cret":    {token: ":3: a second line", password: ":3: a second line"},
		"Bearer s3cret":          {token: "printable ASCII characters and no space", secret: "Bearer s3cret"},
		"s3crét":                 {token: "printable ASCII", secret: "s3crét"},
		"s3\x01cret":             {token: "printable ASCII", password: "a control character"},
		"s3cret\x00":             {token: "contains a zero byte", password: "contains a zero byte"},
		"s\x003\x00c\x00r\x00":   {token: "is UTF-16", password: "is UTF-16"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for i, read := range []func(string) (string, error){Token, Password} {
			secret, err := read(path)
			what := []string{want.token, want.password}[i]
			if what == "" {
				require.NoError(t, err, "%q", text)
				assert.Equal(t, want.secret, secret)
				continue
			}
			require.ErrorContains(t, err, what, "%q", text)
			assert.ErrorContains(t, err, path)
			assert.NotContains(t, err.Error(), "s3")
		}
	}
	_, err := Token(path + "-none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
