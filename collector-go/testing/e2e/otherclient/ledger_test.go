//go:build client

package otherclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the client sends, and after how many acknowledged batches the collector is killed, again and again.
const (
	streams, batches, rows = "3", "400", "10"
	killEvery              = "150"
	leastKills             = 5
)

// Nothing that was acknowledged is lost or taken twice, whoever wrote the client: the collector is killed while it
// takes samples, the client cuts streams too, and in the end the slices are those of the client's ledger, to the
// sample.
func TestTheLedgerOfAClientInPython(t *testing.T) {
	dir, grpc, http := t.TempDir(), freeAddress(t), freeAddress(t)
	ledger := filepath.Join(dir, "ledger.jsonl")
	collector := start(t, dir, grpc, http)

	client := python("ledger_client.py", "send", "--grpc", grpc, "--ledger", ledger,
		"--streams", streams, "--batches", batches, "--rows", rows, "--cut", "40", "--report", killEvery)
	client.Stderr = t.Output()
	out, err := client.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, client.Start())
	t.Cleanup(func() { _ = client.Process.Kill() })

	kills, last := 0, ""
	for lines := bufio.NewScanner(out); lines.Scan(); last = lines.Text() {
		if strings.HasPrefix(lines.Text(), "acknowledged ") {
			kill(t, collector)
			collector = start(t, dir, grpc, http)
			kills++
		}
	}
	require.NoError(t, client.Wait())
	var sent struct{ Batches, Streams int }
	require.NoError(t, json.Unmarshal([]byte(last), &sent), last)
	t.Logf("%d batches over %d streams, %d kills", sent.Batches, sent.Streams, kills)
	assert.GreaterOrEqual(t, kills, leastKills)
	assert.Equal(t, 3*(400+1), sent.Batches)
	assert.Greater(t, sent.Streams, 3+leastKills)

	kill(t, collector) // what is compared has gone through a restart
	start(t, dir, grpc, http)
	found, err := verify(http, ledger, "60")
	assert.NoError(t, err, found)
	t.Log(found)

	text, err := os.ReadFile(ledger)
	require.NoError(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	short := filepath.Join(dir, "short.jsonl")
	require.NoError(t, os.WriteFile(short, bytes.Join(append(lines[:100:100], lines[101:]...), nil), 0o644))
	found, err = verify(http, short, "0")
	assert.Error(t, err, "a ledger that lacks a batch must not pass: %s", found)
	assert.Contains(t, found, "the ledger has")
}

// The sender keeps to the schema against a server that is scripted to refuse, to cut and to demand: what a real
// collector does only when it is in need.
func TestTheClientsOwnTests(t *testing.T) {
	out, err := python("-m", "unittest", "-q", "sender_test").CombinedOutput()
	assert.NoError(t, err, string(out))
}

// python runs the client's code with the stubs that make test-client generated.
func python(arguments ...string) *exec.Cmd {
	build, _ := filepath.Abs("../../../../build/python")
	command := exec.Command(filepath.Join(build, "venv/bin/python"), arguments...)
	command.Dir = "../../../../proto/examples/python"
	command.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(build, "stubs"), "PYTHONDONTWRITEBYTECODE=1")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

func verify(http, ledger, within string) (string, error) {
	out, err := python("ledger_client.py", "verify", "--http", "http://"+http, "--ledger", ledger, "--within",
		within).CombinedOutput()
	return string(out), err
}

// start starts a collector and returns when it is up.
func start(t *testing.T, dir, grpc, http string) *exec.Cmd {
	t.Helper()
	command := exec.Command("../../../../build/bullet-metrics", "serve", "--data-dir", filepath.Join(dir, "data"),
		"--grpc-listen", grpc, "--http-listen", http)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "collector is up") {
			go func() { // so that the pipe never fills
				for lines.Scan() {
				}
			}()
			return command
		}
		t.Log(lines.Text())
	}
	require.FailNow(t, "the collector ended before it was up")
	return nil
}

func kill(t *testing.T, collector *exec.Cmd) {
	t.Helper()
	require.NoError(t, collector.Process.Kill())
	_, err := collector.Process.Wait()
	require.NoError(t, err)
}

// freeAddress is a loopback address that nobody listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
