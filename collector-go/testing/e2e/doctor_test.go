//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// clinic is a cluster on which topologies are submitted with one thing wrong each, and a doctor who is asked about
// them.
type clinic struct {
	*stack.Stack
	options stack.Options
	jar     string // of the plugin, in the cluster's extlib
}

// openClinic starts collector, cluster and gateway, without a topology.
func openClinic(t *testing.T) *clinic {
	o := stack.DefaultOptions(filepath.Join(t.TempDir(), "clinic"), buildDir(t))
	o.BulletConf = filepath.Join(root(t), o.BulletConf)
	o.Settings, o.Workers = patientTopology, 1
	o.GRPCListen, o.HTTPListen, o.GatewayListen = freeAddress(t), freeAddress(t), freeAddress(t)
	s, err := stack.Enter(t.Context(), o, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Stop(nil)) })
	t.Cleanup(func() { logClusterIfFailed(t, o.Dir) })
	require.NoError(t, s.Start(t.Context()))
	return &clinic{s, o, filepath.Join(o.Dir, "storm", "extlib", "bullet-metrics-storm.jar")}
}

// settingsFile is the topology's settings as its owner would have them in one file.
func (c *clinic) settingsFile(t *testing.T, settings []string) string {
	text, err := os.ReadFile(c.options.BulletConf)
	require.NoError(t, err)
	values := map[string]any{}
	require.NoError(t, yaml.Unmarshal(text, &values))
	for _, setting := range slices.Concat(c.options.AllSettings(), settings) { // the later holds
		name, text, _ := strings.Cut(setting, "=")
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(text), &value))
		values[name] = value
	}
	text, err = yaml.Marshal(values)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "bullet_settings.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// ask runs the doctor, and returns its findings by check.
func (c *clinic) ask(t *testing.T, flags ...string) map[string]doctor.Finding {
	line := append([]string{"doctor", "--collector", c.options.HTTPListen, "--nimbus", c.Nimbus(), "--output", "json"},
		flags...)
	// its exit code is in the findings
	out, _ := exec.CommandContext(t.Context(), filepath.Join(buildDir(t), "bullet-metrics"), line...).Output()
	var report doctor.Report
	require.NoError(t, json.Unmarshal(out, &report), string(out))
	found := map[string]doctor.Finding{}
	for _, f := range report.Findings {
		found[f.Check] = f
	}
	return found
}

// patient is a topology with one thing wrong.
type patient struct {
	name     string
	settings []string
	before   func(t *testing.T, c *clinic) (after func()) // what is done before the submission, and undone after it
	check    string
	status   doctor.Status
	says     string
}

func collectorAt(address string) []string {
	return []string{plugininfo.Collector + "address=" + address}
}

// workerLog is the newest log of a topology's worker.
func workerLog(t *testing.T, c *clinic, name string) []string {
	found, err := filepath.Glob(filepath.Join(c.options.Dir, "storm", "logs", "workers-artifacts", name+"-*", "*",
		"worker.log"))
	require.NoError(t, err)
	if len(found) == 0 {
		return nil
	}
	return []string{"--log", found[len(found)-1]}
}

// Each fault is made on a real cluster, and the doctor names it: by what it sees of the ports, of Nimbus, of a worker's
// log and of the collector. A file that is no YAML, and a jar that is nowhere, are never submitted: these two are
// judged as they stand. make test-cluster plays three of them, make test-all all.
func TestDoctorOnACluster(t *testing.T) {
	c := openClinic(t)
	away := func(t *testing.T, c *clinic) func() {
		aside := c.jar + ".aside"
		require.NoError(t, os.Rename(c.jar, aside))
		return func() { require.NoError(t, os.Rename(aside, c.jar)) }
	}
	for i, p := range []patient{
		{name: "fresh", check: "cpu", status: doctor.Waiting, says: "first slices"},
		{name: "wrong address", settings: collectorAt(freeAddress(t)), check: "address", status: doctor.Fail,
			says: "cannot reach"},
		{name: "no port", settings: collectorAt("127.0.0.9"), check: "address", status: doctor.Fail,
			says: "127.0.0.9 has no port"},
		{name: "HTTP port", settings: collectorAt(c.options.HTTPListen), check: "address", status: doctor.Fail,
			says: "is an HTTP port"},
		{name: "TLS at the plugin", settings: []string{plugininfo.Collector + "tls.enabled=true"}, check: "tls",
			status: doctor.Fail, says: "only the plugin uses TLS"},
		{name: "no CA file", settings: []string{plugininfo.Collector + "tls.enabled=true", plugininfo.Collector +
			"tls.ca.file=/nope/ca.pem"}, check: "files", status: doctor.Fail, says: "/nope/ca.pem"},
		{name: "early class", settings: []string{plugininfo.Classes + "=[" + plugininfo.EarlyClass + "]"},
			check: "registration", status: doctor.Fail, says: "for Bullet up to 0.4.3"},
		{name: "no jar", before: away, check: "submitted", status: doctor.Fail, says: "runs without the plugin"},
		{name: "misspelt", settings: []string{plugininfo.Collector + "tls.enable=true"}, check: "settings",
			status: doctor.Fail, says: "tls.enable"},
	} {
		if playLong() || slices.Contains([]string{"fresh", "wrong address", "misspelt"}, p.name) {
			t.Run(p.name, func(t *testing.T) { c.treat(t, fmt.Sprintf("patient-%d", i), p) })
		}
	}
	if !playLong() {
		return
	}
	t.Run("TLS at the collector", func(t *testing.T) { c.tlsAtTheCollector(t) })
	t.Run("jar on the submitter only", func(t *testing.T) { c.jarOnTheSubmitterOnly(t) })
	t.Run("no YAML", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "bullet_settings.yaml")
		require.NoError(t, os.WriteFile(file, []byte("a: [b\nc: d\n"), 0o600))
		found := c.ask(t, "--bullet-conf", file)["settings"]
		assert.Equal(t, doctor.Fail, found.Status)
		assert.Contains(t, found.Fix, "correct line")
	})
}

// treat submits a topology, asks until the doctor names its fault, and ends it.
func (c *clinic) treat(t *testing.T, name string, p patient) {
	after := func() {}
	if p.before != nil {
		after = p.before(t, c)
	}
	err := c.SubmitAs(t.Context(), name, p.settings)
	after()
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Kill(t.Context(), name)) }()
	c.awaitFinding(t, p, "--bullet-conf", c.settingsFile(t, p.settings), "--topology", name)
}

func (c *clinic) awaitFinding(t *testing.T, p patient, flags ...string) {
	var all map[string]doctor.Finding
	require.Eventually(t, func() bool {
		all = c.ask(t, flags...)
		return all[p.check].Status == p.status && strings.Contains(all[p.check].Says, p.says)
	}, patience, time.Second, "%s", p.check)
	for _, found := range all {
		assert.False(t, p.status == doctor.Waiting && found.Status == doctor.Fail,
			"a topology that is well has a failure: %+v", found)
		assert.Equal(t, found.Status == doctor.Fail, found.Fix != "", "%+v", found)
	}
}

// tlsAtTheCollector has the plugin speak plain text to a collector of its own that takes TLS alone.
func (c *clinic) tlsAtTheCollector(t *testing.T) {
	address := startTLSCollector(t)
	c.treat(t, "patient-tls", patient{settings: collectorAt(address), check: "tls", status: doctor.Fail,
		says: "only the collector uses TLS"})
}

// startTLSCollector runs a collector whose gRPC port takes TLS alone, until the test ends, and returns its address.
func startTLSCollector(t *testing.T) string {
	dir := t.TempDir()
	cert, key := accesstest.NewAuthority(t, "ours").Issue(dir, "127.0.0.1", time.Now().Add(24*time.Hour))
	address := freeAddress(t)
	command := exec.CommandContext(t.Context(), filepath.Join(buildDir(t), "bullet-metrics"), "serve", "--data-dir",
		filepath.Join(dir, "data"), "--grpc-listen", address,
		"--http-listen", freeAddress(t), "--grpc-tls-cert-file", cert, "--grpc-tls-key-file", key, "--grpc-insecure")
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}, patience, 100*time.Millisecond)
	return address
}

// jarOnTheSubmitterOnly holds the Supervisor still between the submission, which has the jar, and the start of the
// workers, which do not.
func (c *clinic) jarOnTheSubmitterOnly(t *testing.T) {
	const name = "patient-jar"
	supervisor := c.Pids()["supervisor"]
	require.NotZero(t, supervisor, "%v", c.Pids())
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGSTOP))
	err := c.SubmitAs(t.Context(), name, nil)
	require.NoError(t, os.Rename(c.jar, c.jar+".aside"))
	t.Cleanup(func() { assert.NoError(t, os.Rename(c.jar+".aside", c.jar)) })
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGCONT))
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Kill(t.Context(), name)) }()
	p := patient{check: "logs", status: doctor.Fail, says: "io.github.bulletmetrics"}
	require.Eventually(t, func() bool {
		log := workerLog(t, c, name)
		return log != nil && c.ask(t, append(log, "--topology", name)...)[p.check].Status == doctor.Fail
	}, patience, time.Second)
	found := c.ask(t, append(workerLog(t, c, name), "--topology", name)...)
	assert.Contains(t, found[p.check].Says, p.says)
	assert.Contains(t, found[p.check].Fix, "extlib on every Supervisor")
}
