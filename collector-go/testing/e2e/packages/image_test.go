//go:build release

package packages

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/releasetest"
)

// descriptor is one of an OCI image layout.
type descriptor struct {
	Digest   string
	Platform struct{ Architecture string }
}

// The tarball, unpacked by tar: its program serves from where it lies.
func TestTheTarballServesWhereItIsUnpacked(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(os.Getenv("DIST"), "bullet-metrics_*_linux_"+runtime.GOARCH+".tar.gz"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	dir := t.TempDir()
	run(t, exec.Command("/usr/bin/env", "tar", "--extract", "--gzip", "--file", found[0], "--directory", dir))
	unpacked := filepath.Join(dir, strings.TrimSuffix(filepath.Base(found[0]), ".tar.gz"))
	c := releasetest.Start(t, exec.Command(filepath.Join(unpacked, "bullet-metrics"), "serve", "--config",
		filepath.Join(unpacked, "bullet-metrics.yaml"),
		"--data-dir", filepath.Join(dir, "data"), "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"))
	releasetest.Close(t, c.GRPC)
	c.Stop(t)
}

// The image's one layer is all that its process has: no shell, no /proc, no /tmp, no list of users. The collector takes
// samples in it, and ends when asked.
func TestTheImageServesOutOfNothing(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(os.Getenv("DIST"), "bullet-metrics_*_oci.tar"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	layout, inside := t.TempDir(), filepath.Join(t.TempDir(), "root")
	run(t, exec.Command("/usr/bin/env", "tar", "--extract", "--file", found[0], "--directory", layout))
	read := func(path string, into any) {
		text, err := os.ReadFile(filepath.Join(layout, path))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	blob := func(digest string) string { return filepath.Join("blobs", strings.Replace(digest, ":", "/", 1)) }

	var index struct{ Manifests []descriptor }
	read("index.json", &index)
	var images struct{ Manifests []descriptor }
	read(blob(index.Manifests[0].Digest), &images)
	var image struct {
		Config descriptor
		Layers []descriptor
	}
	for _, d := range images.Manifests {
		if d.Platform.Architecture == runtime.GOARCH {
			read(blob(d.Digest), &image)
		}
	}
	var of struct {
		Config struct {
			Entrypoint, Cmd []string
			WorkingDir      string
		}
	}
	read(blob(image.Config.Digest), &of)
	require.Len(t, image.Layers, 1)
	require.NoError(t, os.Mkdir(inside, 0o755))
	run(t, exec.Command("/usr/bin/env", "tar", "--extract", "--gzip", "--preserve-permissions", "--numeric-owner",
		"--file", filepath.Join(layout, blob(image.Layers[0].Digest)), "--directory", inside))

	require.NotEmpty(t, of.Config.Entrypoint)
	serve := exec.Command(of.Config.Entrypoint[0], append(of.Config.Cmd, "--grpc-listen=127.0.0.1:0",
		"--http-listen=127.0.0.1:0")...)
	serve.Dir, serve.Env = of.Config.WorkingDir, []string{}
	serve.SysProcAttr = &syscall.SysProcAttr{Chroot: inside, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	c := releasetest.Start(t, serve)
	releasetest.Close(t, c.GRPC)
	c.Stop(t)
	parts, err := os.ReadDir(filepath.Join(inside, data))
	require.NoError(t, err)
	var names []string
	for _, p := range parts {
		names = append(names, p.Name())
	}
	assert.Subset(t, names, []string{"grid", "journal"})
}
