package examine

import (
	"archive/zip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/client"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/doctor"
)

func jarOf(t *testing.T, entries ...string) string {
	path := filepath.Join(t.TempDir(), "a.jar")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := zip.NewWriter(file)
	for _, entry := range entries {
		_, err := w.Create(entry)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	return path
}

func TestJar(t *testing.T) {
	var ours []string
	for _, class := range doctor.Classes {
		ours = append(ours, strings.ReplaceAll(class, ".", "/")+".class")
	}
	good := Jar(jarOf(t, append(ours, "io/github/bulletmetrics/storm/shaded/io/grpc/A.class", "META-INF/services/io.grpc.NameResolverProvider")...))
	assert.NoError(t, good.Err)
	assert.Equal(t, len(doctor.Classes)+1, good.Classes)
	assert.Empty(t, good.Missing)
	assert.Empty(t, good.Visible)

	fat := Jar(jarOf(t, ours[0], "io/grpc/A.class", "META-INF/versions/9/io/netty/B.class", "com/google/protobuf/C.class", "com/google/common/base/D.class"))
	assert.Equal(t, doctor.Classes[1:], fat.Missing)
	assert.Equal(t, []string{"com.google.common", "com.google.protobuf", "io.grpc", "io.netty"}, fat.Visible)

	none := filepath.Join(t.TempDir(), "none.jar")
	assert.ErrorContains(t, Jar(none).Err, none)
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a.b: [x]\nc: {d: 1}\n"), 0o600))
	read := Settings(path)
	require.NoError(t, read.Err)
	assert.Equal(t, map[string]any{"a.b": []any{"x"}, "c": map[string]any{"d": uint64(1)}}, read.Values)
	require.NoError(t, os.WriteFile(path, []byte("- only\n- a list\n"), 0o600))
	assert.ErrorContains(t, Settings(path).Err, "is no YAML of settings")
	assert.Error(t, Settings(path+".none").Err)
}

func TestACollectorThatIsNone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	asked, err := client.New(server.URL, client.Access{})
	require.NoError(t, err)
	assert.ErrorContains(t, Collector(t.Context(), asked, "t", time.Now()).Err, "404")
	server.Close()
	assert.ErrorContains(t, Collector(t.Context(), asked, "t", time.Now()).Err, "connection refused")
}
