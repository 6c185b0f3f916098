package measure

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

func TestSettingsAsTheyWere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bullet.yaml")
	require.NoError(t, os.WriteFile(path,
		[]byte("b.first: 2\na.second: [x, y]\nkafka.password: hush\ntoken.file: /etc/t\n"), 0o600))
	settings, err := Settings(path, []string{"b.first=3", "some.secret=hush"})
	require.NoError(t, err)
	assert.Equal(t, []runstore.Entry{
		{Key: "b.first", Value: "2"}, {Key: "a.second", Value: "[x y]"}, {Key: "kafka.password", Value: "(not shown)"},
		{Key: "token.file", Value: "/etc/t"}, {Key: "-c b.first", Value: "3"},
		{Key: "-c some.secret", Value: "(not shown)"},
	}, settings)
}

func TestABrokenSettingsFileIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bullet.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a: [1"), 0o600))
	_, err := Settings(path, nil)
	require.ErrorContains(t, err, path)
}
