//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

// demoSeconds is the shortest time in which a demo is more than its start.
const demoSeconds = "180"

// demo is a running `bullet-metrics demo`, or another command that starts a local cluster.
type demo struct {
	cmd       *exec.Cmd
	lines     chan string
	seen      []string
	addresses []string
	out       string
}

// startDemo starts the demo as a user does, from the repository's root.
func startDemo(t *testing.T, out string) *demo {
	t.Helper()
	return startCluster(t, out, "demo", "--out", out)
}

// startCluster starts a command that starts a local cluster and keeps everything in a directory.
func startCluster(t *testing.T, out string, args ...string) *demo {
	t.Helper()
	addresses := []string{freeAddress(t), freeAddress(t), freeAddress(t)}
	cmd := exec.Command(filepath.Join(buildDir(t), "bullet-metrics"), append(args, "--build-dir", buildDir(t),
		"--grpc-listen", addresses[0], "--http-listen", addresses[1], "--gateway-listen", addresses[2])...)
	cmd.Dir, cmd.Env = root(t), append(os.Environ(), "DEMO_SECONDS="+demoSeconds)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = writer, writer
	require.NoError(t, cmd.Start())
	writer.Close()
	d := &demo{cmd: cmd, lines: make(chan string, 1000), addresses: addresses, out: out}
	go d.read(reader)
	t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			_ = d.cmd.Process.Signal(syscall.SIGTERM)
			_ = d.cmd.Wait()
		}
	})
	return d
}

func (d *demo) read(from io.ReadCloser) {
	defer from.Close()
	defer close(d.lines)
	for scanner := bufio.NewScanner(from); scanner.Scan(); {
		d.lines <- scanner.Text()
	}
}

// awaitLine returns when the demo has said something that contains text; "" for its end.
func (d *demo) awaitLine(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, more := <-d.lines:
			if !more {
				require.Empty(t, text, "the demo ended before it said %q:\n%s", text, strings.Join(d.seen, "\n"))
				return
			}
			t.Log(line)
			d.seen = append(d.seen, line)
			if text != "" && strings.Contains(line, text) {
				return
			}
		case <-timeout:
			require.Failf(t, "the demo is too slow", "it did not say %q:\n%s", text, strings.Join(d.seen, "\n"))
		}
	}
}

// end waits for the demo's end and returns its exit code.
func (d *demo) end(t *testing.T) int {
	t.Helper()
	d.awaitLine(t, "")
	_ = d.cmd.Wait()
	return d.cmd.ProcessState.ExitCode()
}

// assertNothingRuns finds no process of the demo and no port that it listened on.
func (d *demo) assertNothingRuns(t *testing.T) {
	t.Helper()
	assert.Empty(t, d.processes(t))
	for _, address := range d.addresses {
		listener, err := net.Listen("tcp", address)
		if assert.NoError(t, err) {
			listener.Close()
		}
	}
}

// processes are the command lines that name the demo's directory or one of its addresses.
func (d *demo) processes(t *testing.T) (found []string) {
	t.Helper()
	all, err := procfs.AllProcs()
	require.NoError(t, err)
	for _, process := range all {
		arguments, err := process.CmdLine()
		if err != nil || process.PID == os.Getpid() {
			continue
		}
		line := strings.Join(arguments, " ")
		for _, mark := range append([]string{d.out + "/"}, d.addresses...) {
			if strings.Contains(line, mark) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}

func TestDemo(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "demo")
	t.Run("killed", func(t *testing.T) { demoKilled(t, out) })
	t.Run("runs to its report", func(t *testing.T) { demoReports(t, out) })
	t.Run("interrupted", func(t *testing.T) { demoInterrupted(t, out) })
}

// A demo that was killed could end nothing; the next one in its directory does.
func demoKilled(t *testing.T, out string) {
	d := startDemo(t, out)
	d.awaitLine(t, "submitting topology")
	second := startDemo(t, out)
	assert.Equal(t, 1, second.end(t), "two at the same time are one too many")
	assert.Contains(t, strings.Join(second.seen, "\n"), "in use by another run")
	require.NotEmpty(t, d.processes(t))
	require.NoError(t, d.cmd.Process.Kill())
	assert.Equal(t, -1, d.end(t))
}

func demoReports(t *testing.T, out string) {
	d := startDemo(t, out)
	d.awaitLine(t, "ended processes of an earlier run")
	assert.Equal(t, 0, d.end(t))
	d.assertNothingRuns(t)
	for _, name := range []string{"report.html", "report.md", "figures/timeline.svg", "figures/timeline.png",
		"plan.json", "result.json", "trials/01-demo/run.json", "trials/01-demo/outcomes.jsonl"} {
		info, err := os.Stat(filepath.Join(out, name))
		if assert.NoError(t, err) {
			assert.Positive(t, info.Size(), name)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "report.json"))
	require.NoError(t, err)
	assertReport(t, text)
	assertStepsAnnotated(t, filepath.Join(out, "data"), text)
}

// assertStepsAnnotated opens the demo's data again and finds each step of its report on the topology's time axis.
func assertStepsAnnotated(t *testing.T, data string, text []byte) {
	t.Helper()
	var r struct {
		Steps []struct {
			Queries int
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(text, &r))
	address, stop := serveAgain(t, data)
	defer stop()
	collector, err := measure.NewCollector(address, measure.CollectorAccess{})
	require.NoError(t, err)
	found, err := collector.AnnotationsTagged(t.Context(), "bullet-01", "step")
	require.NoError(t, err)
	require.Len(t, found, len(r.Steps))
	for i, step := range found {
		assert.Regexp(t, fmt.Sprintf(`^demo, step %d: %d queries( \(attempt \d+\))?$`, i+1, r.Steps[i].Queries),
			step.Title, "a bound of the capacity is confirmed by another attempt")
		assert.NotZero(t, step.EndMs, step.Title)
		if i > 0 {
			assert.GreaterOrEqual(t, step.StartMs, found[i-1].EndMs, "steps follow each other")
		}
	}
	known, err := collector.Topology(t.Context(), "bullet-01")
	require.NoError(t, err)
	assert.Len(t, known.Workers, 2)
	assert.Empty(t, known.Unplaced)
}

// assertReport holds the report to the keys that others rely on.
func assertReport(t *testing.T, text []byte) {
	t.Helper()
	var r struct {
		Verdict string  `json:"verdict"`
		TimesMs []int64 `json:"times_ms"`
		Workers []struct {
			Worker string     `json:"worker"`
			Pid    int        `json:"pid"`
			CPU    []*float64 `json:"cpu_ms_per_minute"`
			Heap   []*float64 `json:"heap_used_bytes"`
			GC     []*float64 `json:"gc_ms_per_minute"`
		} `json:"workers"`
		Steps []struct {
			Queries *int     `json:"queries"`
			CPU     *float64 `json:"average_cpu_ms_per_minute"`
			Size    *float64 `json:"average_result_size"`
			Latency *float64 `json:"filter_latency_mean_ms"`
			Verdict string   `json:"verdict"`
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(text, &r))
	verdicts := []string{"OK", "FAIL", "limited", "inconclusive"}
	assert.Contains(t, verdicts, r.Verdict)
	require.GreaterOrEqual(t, len(r.Workers), 2)
	assert.NotEqual(t, r.Workers[0].Pid, r.Workers[1].Pid)
	for _, w := range r.Workers {
		assert.Positive(t, w.Pid)
		assert.Len(t, w.GC, len(r.TimesMs))
		assertVaries(t, w.CPU, len(r.TimesMs), w.Worker)
		assertVaries(t, w.Heap, len(r.TimesMs), w.Worker)
	}
	require.GreaterOrEqual(t, len(r.Steps), 3)
	for i, s := range r.Steps {
		require.NotNil(t, s.Queries)
		require.NotNil(t, s.CPU, "step %d", i)
		require.NotNil(t, s.Latency, "step %d", i)
		assert.Positive(t, *s.CPU)
		assert.Positive(t, *s.Latency)
		assert.Contains(t, verdicts, s.Verdict)
		if *s.Queries > 0 {
			require.NotNil(t, s.Size, "step %d", i)
			assert.Positive(t, *s.Size)
		}
	}
}

// assertVaries finds figures at all of the times or nearly so, and not one and the same.
func assertVaries(t *testing.T, figures []*float64, times int, worker string) {
	t.Helper()
	require.Len(t, figures, times)
	distinct := map[float64]bool{}
	for _, f := range figures {
		if f != nil {
			distinct[*f] = true
		}
	}
	assert.Greater(t, len(distinct), 3, "%s: %v", worker, distinct)
}

func demoInterrupted(t *testing.T, out string) {
	d := startDemo(t, out)
	d.awaitLine(t, "submitting topology")
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, d.end(t))
	d.assertNothingRuns(t)
	assertServes(t, filepath.Join(out, "data"))
}

// assertServes opens the data directory again with a collector, which becomes ready and ends when asked to.
func assertServes(t *testing.T, data string) {
	t.Helper()
	_, stop := serveAgain(t, data)
	stop()
}

// serveAgain returns the address of a collector on a data directory that was left.
func serveAgain(t *testing.T, data string) (address string, stop func()) {
	t.Helper()
	address = freeAddress(t)
	cmd := exec.Command(filepath.Join(buildDir(t), "bullet-metrics"), "serve", "--data-dir", data, "--http-listen",
		address, "--grpc-listen", freeAddress(t))
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return isReady(address) }, patience, 100*time.Millisecond)
	return address, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		assert.NoError(t, cmd.Wait())
	}
}
