//go:build release

package packages

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/releasetest"
)

const (
	binary  = "/usr/bin/bullet-metrics"
	conf    = "/etc/bullet-metrics/bullet-metrics.yaml"
	data    = "/var/lib/bullet-metrics"
	unit    = "/usr/lib/systemd/system/bullet-metrics.service"
	ofAdmin = "\ngrpc.listen: 127.0.0.1:0\nhttp.listen: 127.0.0.1:0\nstore.embedded.retention_time: 0s\n"
)

// newest is the release's .deb for this machine. DIST is the release's directory.
func newest(t *testing.T) string {
	found, err := filepath.Glob(filepath.Join(os.Getenv("DIST"), "bullet-metrics_*_"+runtime.GOARCH+".deb"))
	require.NoError(t, err)
	require.Len(t, found, 1, "DIST is a release's directory")
	return found[0]
}

// before is the .deb of the release before: the newest's with the program of then. BEFORE is that program.
func before(t *testing.T, version string) string {
	dir := filepath.Join(t.TempDir(), "package")
	run(t, exec.Command("/usr/bin/env", "dpkg-deb", "--raw-extract", newest(t), dir))
	copyFile(t, os.Getenv("BEFORE"), filepath.Join(dir, binary), 0o755)
	require.NoError(t, os.Remove(filepath.Join(dir, "DEBIAN", "md5sums")))
	control := filepath.Join(dir, "DEBIAN", "control")
	text, err := os.ReadFile(control)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(control, regexp.MustCompile(`(?m)^Version: .*$`).ReplaceAll(text,
		[]byte("Version: "+version)), 0o644))
	deb := filepath.Join(t.TempDir(), "before.deb")
	run(t, exec.Command("/usr/bin/env", "dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", dir, deb))
	return deb
}

func (r root) version(t *testing.T) string {
	return strings.TrimPrefix(strings.TrimSpace(run(t, r.command(binary, "--version"))), "bullet-metrics version ")
}

// configure edits the installed configuration as an administrator may, and returns what it is then.
func (r root) configure(t *testing.T) []byte {
	edited, err := os.ReadFile(r.path(conf))
	require.NoError(t, err)
	edited = append(regexp.MustCompile(`(?m)^(grpc|http)\.listen`).ReplaceAll(edited, []byte("# $0")), ofAdmin...)
	require.NoError(t, os.WriteFile(r.path(conf), edited, 0o644))
	return edited
}

// start runs the installed collector by hand, as the unit does.
func (r root) start(t *testing.T) *releasetest.Served {
	return releasetest.Start(t, r.asService(binary, "serve", "--config", conf))
}

// samples are what the installed program answers of the data directory.
func (r root) samples(t *testing.T, of releasetest.Release) releasetest.Series {
	out, err := r.asService(binary, "query", data, releasetest.Selector, "--time", of.At.Format(time.RFC3339),
		"--output", "json").Output()
	require.NoError(t, err)
	return releasetest.Parse(t, out)
}

func (r root) without(t *testing.T, paths ...string) {
	for _, path := range paths {
		require.NoError(t, os.RemoveAll(r.path(path)))
	}
}

// A machine without systemd: installed, filled, upgraded with an edited configuration, rolled back to a copy of its
// data, upgraded again, removed and purged. No sample that was stored or acknowledged is ever missing.
func TestUpgradeAndRollBackKeepEverySample(t *testing.T) {
	was := releasetest.Of(t, os.Getenv("BEFORE"))
	r := newRoot(t)
	r.without(t, "/usr/bin/systemctl", "/bin/systemctl", "/usr/bin/systemd-sysusers", "/bin/systemd-sysusers")

	older, newer := before(t, was.Version), newest(t)
	r.dpkg(t, "--install", older)
	require.Equal(t, was.Version, r.version(t))
	require.Contains(t, run(t, r.command("getent", "passwd", "bullet-metrics")), data)

	edited := r.configure(t)
	was.Unpack(t, r.path(data))
	run(t, r.command("chown", "-R", "bullet-metrics:bullet-metrics", data))

	c := r.start(t)
	releasetest.Close(t, c.GRPC)
	c.Stop(t)
	had := r.samples(t, was)
	require.Len(t, had, len(was.Series))
	was.Series = had // 0.1.0 stores no distribution that waited for more than a day; releases_test.go wants them all
	run(t, r.command("cp", "-a", data, "/root/backup"))

	upgraded := func() {
		r.dpkg(t, "--install", newer)
		require.NotEqual(t, was.Version, r.version(t))
		kept, err := os.ReadFile(r.path(conf))
		require.NoError(t, err)
		require.Equal(t, string(edited), string(kept), "the edited configuration")
		r.start(t).Stop(t)
		was.RequireKept(t, r.samples(t, was))
		run(t, r.asService(binary, "fsck", data))
	}
	upgraded()

	r.dpkg(t, "--install", older)
	require.Equal(t, was.Version, r.version(t))
	run(t, r.command("rm", "-r", data))
	run(t, r.command("cp", "-a", "/root/backup", data))
	r.start(t).Stop(t)
	was.RequireKept(t, r.samples(t, was))

	upgraded()

	r.dpkg(t, "--remove", "bullet-metrics")
	assert.NoFileExists(t, r.path(binary))
	assert.NoFileExists(t, r.path(unit))
	assert.FileExists(t, r.path(conf))
	assert.Contains(t, r.dpkg(t, "--purge", "bullet-metrics"), data+" is kept")
	assert.NoDirExists(t, r.path("/etc/bullet-metrics"))
	assert.DirExists(t, r.path(data+"/grid"))
	assert.Empty(t, run(t, r.command("sh", "-c", "dpkg --list | grep bullet-metrics || true")))
}

// A machine that has systemd but has not started it, such as a container's image: the unit passes systemd's own checks.
func TestTheUnitIsSoundAndConfined(t *testing.T) {
	r := newRoot(t)
	require.FileExists(t, r.path("/usr/bin/systemd-analyze"), "apt-get install systemd")
	r.dpkg(t, "--install", newest(t))
	assert.Contains(t, run(t, r.command("getent", "passwd", "bullet-metrics")), "/usr/sbin/nologin",
		"by systemd-sysusers")
	assert.FileExists(t, r.path("/usr/share/bash-completion/completions/bullet-metrics"))
	assert.Empty(t, run(t, r.command("systemd-analyze", "verify", unit)))
	run(t, r.command("systemd-analyze", "security", "--offline=true", "--threshold=20", unit))

	printed := run(t, r.command(binary, "serve", "--config", conf, "--check"))
	assert.NotContains(t, printed, "WRONG")
	var b struct{ Version string }
	require.NoError(t, json.Unmarshal([]byte(run(t, r.command(binary, "version", "--output", "json"))), &b))
	assert.Contains(t, newest(t), "bullet-metrics_"+b.Version+"_")

	mode, err := os.Stat(r.path(data))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), mode.Mode().Perm())
}

// A machine where systemd runs: what the package asks of it. A collector that did not run is neither started nor
// enabled.
func TestWhatThePackageAsksOfSystemd(t *testing.T) {
	r := newRoot(t)
	require.NoError(t, os.MkdirAll(r.path("/run/systemd/system"), 0o755))
	r.without(t, "/usr/bin/systemctl")
	require.NoError(t, os.WriteFile(r.path("/usr/bin/systemctl"), []byte("#!/bin/sh\necho \"$*\" >> /root/asked\n"),
		0o755))
	asked := func() []string {
		text, err := os.ReadFile(r.path("/root/asked"))
		require.NoError(t, err)
		require.NoError(t, os.Remove(r.path("/root/asked")))
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	r.dpkg(t, "--install", newest(t))
	assert.Equal(t, []string{"daemon-reload", "try-restart bullet-metrics.service"}, asked())
	r.dpkg(t, "--install", newest(t))
	assert.Equal(t, []string{"daemon-reload", "try-restart bullet-metrics.service"}, asked(), "an upgrade")
	r.dpkg(t, "--remove", "bullet-metrics")
	assert.Equal(t, []string{"disable --now bullet-metrics.service", "daemon-reload"}, asked())
}
