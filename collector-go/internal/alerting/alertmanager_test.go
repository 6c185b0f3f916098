//go:build prometheus

package alerting

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startAlertmanager builds a real Alertmanager, which takes a minute of CPU the first time, and runs it until the test ends.
func startAlertmanager(t *testing.T) string {
	program, err := filepath.Abs("../../../build/tools/alertmanager")
	require.NoError(t, err)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/prometheus/alertmanager/cmd/alertmanager")
	build.Dir = "../../tools/alertmanager"
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	config := filepath.Join(dir, "alertmanager.yml")
	require.NoError(t, os.WriteFile(config, []byte("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"), 0o666))
	c := exec.Command(program, "--config.file", config,
		"--storage.path", dir, "--web.listen-address", address, "--cluster.listen-address=")
	c.Stderr = t.Output()
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	base := "http://" + address
	require.Eventually(t, func() bool {
		r, err := http.Get(base + "/-/ready")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	return base
}

func TestARealAlertmanagerHearsAnAlertAndItsEnd(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	base := startAlertmanager(t)
	dir := t.TempDir()
	p := newPlace(t, dir)
	defer p.close(t)
	p.latency(t, 0.25)
	e, err := New(p.engine, p.results, p.options(dir, slowFilter, base))
	require.NoError(t, err)
	defer run(t, e)()

	active := func() (all []told) {
		r, err := http.Get(base + "/api/v2/alerts?active=true")
		require.NoError(t, err)
		defer r.Body.Close()
		require.NoError(t, json.NewDecoder(r.Body).Decode(&all))
		return all
	}
	var heard []told
	require.Eventually(t, func() bool { heard = active(); return len(heard) == 1 }, time.Minute, 50*time.Millisecond)
	assert.Equal(t, "FilterLatencyHigh", heard[0].Labels["alertname"])
	assert.Equal(t, []string{fmt.Sprint(base, "/api/v2/alerts")}, texts(e.Alertmanagers()))

	p.latency(t, 0.1)
	require.Eventually(t, func() bool { return len(active()) == 0 }, time.Minute, 50*time.Millisecond)
}

func texts[T fmt.Stringer](all []T) (out []string) {
	for _, one := range all {
		out = append(out, one.String())
	}
	return out
}
