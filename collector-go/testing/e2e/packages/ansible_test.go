//go:build release

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/releasetest"
)

// systemctl is one for a unit that is enabled and started when it was asked to be. It writes down what it is asked to
// change.
const systemctl = `#!/bin/sh
case "$*" in
  *--version*) ;;
  *show*) [ -e /root/started ] && state=active || state=inactive; printf 'LoadState=loaded\nActiveState=%s\n' $state ;;
  *is-enabled*) [ -e /root/enabled ] ;;
  *)
    echo "$*" >> /root/asked
    case "$*" in *try-restart*) ;; *enable*) touch /root/enabled ;; *start*) touch /root/started ;; esac ;;
esac
`

// The role installs the .deb, writes and checks the settings, and has systemd enable and start the unit. A second run
// changes nothing. A wrong setting ends the play before the restart. Only a systemd that runs is missing.
func TestTheAnsibleRoleInstallsTheCollector(t *testing.T) {
	r := newRoot(t)
	require.NoError(t, os.MkdirAll(r.path("/run/systemd/system"), 0o755))
	r.without(t, "/usr/bin/systemctl")
	require.NoError(t, os.WriteFile(r.path("/usr/bin/systemctl"), []byte(systemctl), 0o755))
	const inside = "/root/ansible"
	run(t, exec.Command("/usr/bin/env", "cp", "-a", "../../../packaging/ansible", r.path(inside)))
	require.NoError(t, os.Mkdir(r.path("/root/venv"), 0o755))
	require.NoError(t, syscall.Mount("../../../../build/recipes/venv", r.path("/root/venv"), "", syscall.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(r.path("/root/venv"), syscall.MNT_DETACH)) })
	deb := filepath.Join("/root", filepath.Base(newest(t)))
	copyFile(t, newest(t), r.path(deb), 0o644)
	require.NoError(t, os.WriteFile(r.path("/root/ours.yml"), []byte("groups: []\n"), 0o600))
	vars := `{"bullet_metrics_package": "` + deb + `", "bullet_metrics_files": ["/root/ours.yml"], ` +
		`"bullet_metrics_settings": {"data_dir": "` + data + `", "grpc.listen": "127.0.0.1:0", ` +
		`"http.listen": "127.0.0.1:0", "rules.files": ["ours.yml"], "store.embedded.retention_time": "RETENTION"}}`
	play := func(retention string) *exec.Cmd {
		c := r.command("/root/venv/bin/python", "-m", "ansible", "playbook", "--connection", "local", "--inventory",
			"localhost,", "--extra-vars", strings.ReplaceAll(vars, "RETENTION", retention), "--extra-vars",
			"ansible_python_interpreter=/usr/bin/python3", inside+"/site.yml")
		c.Env = append(c.Env, "HOME=/root")
		return c
	}
	asked := func() string {
		text, _ := os.ReadFile(r.path("/root/asked")) // none if nothing was asked
		require.NoError(t, os.RemoveAll(r.path("/root/asked")))
		return string(text)
	}
	run(t, play("3d"))
	first := asked()
	assert.Contains(t, first, "enable bullet-metrics")
	assert.Contains(t, first, "start bullet-metrics")
	settings, err := os.ReadFile(r.path(conf))
	require.NoError(t, err)
	assert.Contains(t, string(settings), "store.embedded.retention_time: 3d")
	assert.Contains(t, run(t, r.command("stat", "--format", "%a %U:%G", conf)), "640 root:bullet-metrics")
	c := r.start(t)
	releasetest.Close(t, c.GRPC)
	c.Stop(t)

	assert.Contains(t, run(t, play("3d")), " changed=0 ")
	assert.Empty(t, asked())

	printed, err := play("3 days").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(printed), "retention_time")
	assert.Empty(t, asked(), "the collector goes on with what it has")
}
