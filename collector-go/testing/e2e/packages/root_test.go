//go:build release

package packages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is this system as a tree of its own: files of /, and above them what a test writes.
type root struct{ dir string }

// newRoot mounts one. It goes with the test, and would with the process' mounts.
func newRoot(t *testing.T) root {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	parents, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
	require.NoError(t, err, "this test needs root")
	require.NotEqual(t, parents, ours, "run this under unshare --mount, as make test-release does")

	dir := t.TempDir()
	mount := func(source, at, kind string, flags uintptr, data string) {
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, syscall.Mount(source, at, kind, flags, data), "mount %s at %s", kind, at)
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(at, syscall.MNT_DETACH)) })
	}
	memory := filepath.Join(dir, "memory")
	mount("tmpfs", memory, "tmpfs", 0, "mode=0755")
	upper, work := filepath.Join(memory, "upper"), filepath.Join(memory, "work")
	require.NoError(t, os.Mkdir(upper, 0o755))
	require.NoError(t, os.Mkdir(work, 0o755))
	r := root{filepath.Join(dir, "root")}
	mount("overlay", r.dir, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work)
	mount("proc", r.path("/proc"), "proc", 0, "")
	mount("/dev", r.path("/dev"), "", syscall.MS_BIND, "")
	require.NoError(t, os.RemoveAll(r.path("/run/systemd/system")), "nothing has started systemd in it")
	return r
}

// path is where a path of the root lies for us.
func (r root) path(inside string) string { return filepath.Join(r.dir, inside) }

// command is one inside the root.
func (r root) command(name string, arguments ...string) *exec.Cmd {
	c := exec.Command("/usr/sbin/chroot", append([]string{r.dir, name}, arguments...)...)
	c.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	return c
}

// asService is a command inside the root as the unit's user.
func (r root) asService(name string, arguments ...string) *exec.Cmd {
	return r.command("setpriv",
		append([]string{"--reuid=bullet-metrics", "--regid=bullet-metrics", "--clear-groups", name}, arguments...)...)
}

// run runs a command to its end, and returns what it printed.
func run(t *testing.T, command *exec.Cmd) string {
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s:\n%s", strings.Join(command.Args, " "), out)
	t.Logf("%s\n%s", strings.Join(command.Args[2:], " "), out)
	return string(out)
}

// dpkg runs dpkg inside the root on a package that lies outside of it.
func (r root) dpkg(t *testing.T, arguments ...string) string {
	for i, a := range arguments {
		if strings.HasSuffix(a, ".deb") {
			arguments[i] = filepath.Join("/root", filepath.Base(a))
			copyFile(t, a, r.path(arguments[i]), 0o644)
		}
	}
	return run(t, r.command("dpkg", arguments...))
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, mode))
}
