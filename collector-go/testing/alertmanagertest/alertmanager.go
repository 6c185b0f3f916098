// Package alertmanagertest runs a real Alertmanager for tests, and receives its notifications. It knows no rule.
package alertmanagertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Alert is an alert as Alertmanager has it, whoever is notified.
type Alert struct {
	// Status is "firing" or "resolved" where somebody was notified of it.
	Status      string            `json:"-"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	UpdatedAt   time.Time         `json:"updatedAt"`
	EndsAt      time.Time         `json:"endsAt"`
	// Heard is when somebody was notified of it.
	Heard time.Time `json:"-"`
}

// Name is the label alertname.
func (a Alert) Name() string { return a.Labels["alertname"] }

// Alertmanager is a running one. Whatever it hears it passes on at once, each alert alone, to a receiver that
// remembers.
type Alertmanager struct {
	// URL is where it is called.
	URL string

	mu      sync.Mutex
	notices []Alert
}

// module is the directory of collector-go, from any package of it.
func module(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test")
		dir = filepath.Dir(dir)
	}
}

// command returns a command of an Alertmanager: of Debian's with -short, and otherwise of that of tools/alertmanager,
// whose build takes a minute of CPU the first time.
func command(t *testing.T, args ...string) *exec.Cmd {
	root := module(t)
	if testing.Short() {
		out, err := exec.CommandContext(t.Context(), filepath.Join(root, "../.ci/server"), "prometheus-alertmanager").Output()
		require.NoError(t, err)
		// Debian's reads its templates from /usr/share only, so the package's directory is mounted there, for it alone.
		const run = `mount --bind "$0/usr/share" /usr/share && exec "$0/usr/bin/prometheus-alertmanager" "$@"`
		return exec.Command("unshare", append([]string{"--mount", "--map-root-user", "sh", "-c", run,
			strings.TrimSpace(string(out))}, args...)...)
	}
	program := filepath.Join(root, "../build/tools/alertmanager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"github.com/prometheus/alertmanager/cmd/alertmanager")
	build.Dir = filepath.Join(root, "tools/alertmanager")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return exec.Command(program, args...)
}

// It does not wait for further alerts before it notifies of one, and notifies of an end as soon as it may.
const configuration = `route:
  receiver: test
  group_by: ['...']
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 24h
receivers:
- name: test
  webhook_configs: [{url: '%s', send_resolved: true}]
`

// Start runs a real Alertmanager until the test ends.
func Start(t *testing.T) *Alertmanager {
	dir, a := t.TempDir(), &Alertmanager{}
	receiver := httptest.NewServer(http.HandlerFunc(a.hear))
	t.Cleanup(receiver.Close)
	config := filepath.Join(dir, "alertmanager.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, configuration, receiver.URL), 0o666))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	cmd := command(t, "--config.file", config, "--storage.path", dir, "--web.listen-address", address,
		"--cluster.listen-address=", "--log.level=warn")
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	a.URL = "http://" + address
	require.Eventually(t, func() bool {
		r, err := http.Get(a.URL + "/-/ready")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	return a
}

// hear is the receiver's end of a webhook.
func (a *Alertmanager) hear(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var webhook struct {
		Alerts []struct {
			Alert
			Status string `json:"status"`
		} `json:"alerts"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &webhook)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range webhook.Alerts {
		one.Alert.Status, one.Alert.Heard = one.Status, now
		a.notices = append(a.notices, one.Alert)
	}
}

// Notifications returns all notifications so far, in order.
func (a *Alertmanager) Notifications() []Alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Alert(nil), a.notices...)
}

// Active are the alerts that Alertmanager holds for firing.
func (a *Alertmanager) Active(t *testing.T) (all []Alert) {
	r, err := http.Get(a.URL + "/api/v2/alerts?active=true")
	require.NoError(t, err)
	defer r.Body.Close()
	require.NoError(t, json.NewDecoder(r.Body).Decode(&all))
	return all
}
