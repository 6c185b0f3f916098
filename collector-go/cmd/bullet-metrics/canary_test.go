package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/exit"
)

// runCanary runs the command, and gives what it printed, what it said beside it, and the exit code.
func runCanary(t *testing.T, args ...string) (out, said string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"canary"}, args...))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		return stdout.String(), stderr.String() + err.Error(), exitCode(err)
	}
	return stdout.String(), stderr.String(), exit.Done
}

func TestCanaryPrintsLines(t *testing.T) {
	t.Parallel()
	bullet, address := startFakeBullet(t)
	out, said, code := runCanary(t, "--url", address, "--classes", "raw", "--every", "500ms", "--query-duration", "2s", "--duration", "6s", "--output", "json")
	require.Equal(t, exit.Done, code, said)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.GreaterOrEqual(t, len(lines), 2)
	var hour canaryLine
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &hour))
	assert.Equal(t, []string{"hour", "raw"}, []string{hour.Period, hour.Class})
	assert.GreaterOrEqual(t, hour.Returned, 5)
	require.NotNil(t, hour.P99)
	assert.Greater(t, *hour.P99, 900.0, "10 records at 10 a second")
	assert.Empty(t, bullet.control.Probes)
}

func TestCanaryReportsWhatFails(t *testing.T) {
	t.Parallel()
	_, address := startFakeBullet(t)
	out, said, code := runCanary(t, "--url", address, "--classes", "raw,top-k", "--every", "1s", "--query-duration", "1s", "--duration", "2s", "--collector", "127.0.0.1:1")
	assert.Equal(t, exit.Failed, code)
	assert.Regexp(t, `(?m)^minute to \d\d:\d\d:\d\d +returned +failed +timed out +missed +p50 ms`, out)
	assert.Regexp(t, `(?m)^top_k +0 +[12] `, out)
	assert.Contains(t, said, "top_k failed")
	assert.Contains(t, said, "400 Bad Request: no RAW query")
	assert.Contains(t, said, "the collector is away")
	assert.Contains(t, said, "batches were not delivered to the collector at 127.0.0.1:1")
}

func TestCanaryRefusesWhatCannotBeMeant(t *testing.T) {
	for message, args := range map[string][]string{
		"no class of queries":         {"--classes", "raw,median"},
		"named twice":                 {"--classes", "raw,raw"},
		"give host:port":              {"--collector", "collector"},
		"--target is gateway or drpc": {"--target", "kafka"},
		"is for TLS":                  {"--collector", "h:1", "--tls-ca", "ca.pem"},
	} {
		_, said, code := runCanary(t, args...)
		assert.Equal(t, exit.Usage, code, said)
		assert.Contains(t, said, message)
	}
}
