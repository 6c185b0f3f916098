//go:build release

package packages

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
)

// A newcomer's machine: the collector from the .deb, a Storm cluster whose storm.yaml has what `storm snippet` prints
// and whose extlib has the package's jar, and a word count that knows of neither. The doctor, also from the .deb, finds
// nothing amiss.
func TestSomebodyElsesTopologyReportsToAnInstalledCollector(t *testing.T) {
	r := newRoot(t)
	r.dpkg(t, "--install", newest(t))
	r.configure(t)
	collector := r.start(t)
	snippet, err := r.command(binary, "storm", "snippet", "--storm", "2.8.3", "--plain",
		"--address", collector.GRPC).Output()
	require.NoError(t, err)

	const plugin = "/usr/share/bullet-metrics/bullet-metrics-storm.jar"
	storm := startStorm(t, r.path(plugin), snippet)
	storm.submit(t, compileWordCount(t), "WordCountTopology", "word-count")

	require.NoError(t, os.WriteFile(r.path("/root/storm.yaml"), snippet, 0o644))
	arguments := []string{"doctor", "--collector", collector.HTTP, "--nimbus", storm.nimbus, "--topology", "word-count",
		"--bullet-conf", "/root/storm.yaml", "--jar", plugin, "--wait", "4m", "--output", "json"}
	_ = r.command(binary, arguments...).Run() // returns when the topology reports; the workers have logged by then
	for i, log := range storm.workerLogs(t) {
		own := fmt.Sprintf("/root/worker-%d.log", i)
		copyFile(t, log, r.path(own), 0o644)
		arguments = append(arguments, "--log", own)
	}
	out, _ := r.command(binary, arguments...).Output() // its exit code is in the findings
	var report doctor.Report
	require.NoError(t, json.Unmarshal(out, &report), "%s", out)
	require.NotEmpty(t, report.Findings)
	for _, f := range report.Findings {
		assert.Equal(t, doctor.OK, f.Status, "%+v", f)
	}
}

// localStorm is the jar of the local cluster, and its distribution, as the repository builds them.
func localStorm(t *testing.T) (jar, home string) {
	build, err := filepath.Abs("../../../../build")
	require.NoError(t, err)
	jar, home = filepath.Join(build, "local-storm.jar"), filepath.Join(build, "storm")
	require.FileExists(t, jar, "make build")
	return jar, home
}

// compileWordCount returns the topology's jar, built against Storm alone.
func compileWordCount(t *testing.T) string {
	_, home := localStorm(t)
	dir := t.TempDir()
	classes, jar := filepath.Join(dir, "classes"), filepath.Join(dir, "word-count.jar")
	for _, c := range []*exec.Cmd{
		exec.Command("/usr/bin/env", "javac", "-classpath", filepath.Join(home, "lib-worker", "*"), "-d", classes,
			"testdata/wordcount/WordCountTopology.java"),
		exec.Command("/usr/bin/env", "jar", "--create", "--file", jar, "-C", classes, "."),
	} {
		run(t, c)
	}
	return jar
}

// cluster is a local Storm: ZooKeeper, Nimbus, a Supervisor and the workers' JVMs.
type cluster struct {
	dir, nimbus string
}

// startStorm starts a cluster with a jar in extlib and these lines in storm.yaml. It ends with the test.
func startStorm(t *testing.T, extlib string, lines []byte) *cluster {
	jar, home := localStorm(t)
	c := &cluster{dir: filepath.Join(t.TempDir(), "storm")}
	arguments := []string{"-Xmx64m", "-jar", jar, "up", "--dir", c.dir, "--home", home, "--slots", "2",
		"--worker-heap-mib", "256", "--extlib", extlib, "--stop-with-stdin"}
	var settings map[string]any
	require.NoError(t, yaml.Unmarshal(lines, &settings))
	for name, value := range settings {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		arguments = append(arguments, "-c", name+"="+string(text))
	}
	up := exec.Command("java", arguments...)
	up.Stderr = t.Output()
	stdin, err := up.StdinPipe()
	require.NoError(t, err)
	stdout, err := up.StdoutPipe()
	require.NoError(t, err)
	up.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	require.NoError(t, up.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		assert.NoError(t, up.Wait())
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	var ready struct {
		Host string `json:"nimbus_host"`
		Port int    `json:"nimbus_thrift_port"`
	}
	require.NoError(t, json.Unmarshal(line, &ready), "%s", line)
	c.nimbus = net.JoinHostPort(ready.Host, strconv.Itoa(ready.Port))
	return c
}

func (c *cluster) submit(t *testing.T, topology, class, name string) {
	jar, _ := localStorm(t)
	out, err := exec.Command("java", "-Xmx64m", "-jar", jar, "submit", "--dir", c.dir, "--jar", topology,
		"--main", class, "--name", name).CombinedOutput()
	require.NoError(t, err, strings.TrimSpace(string(out)))
}

// workerLogs are the files that the workers log to.
func (c *cluster) workerLogs(t *testing.T) []string {
	logs, err := filepath.Glob(filepath.Join(c.dir, "logs", "workers-artifacts", "*", "*", "worker.log"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	return logs
}
