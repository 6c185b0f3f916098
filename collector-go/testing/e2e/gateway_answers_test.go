//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startGateway runs the query gateway alone, and returns its URL.
func startGateway(t *testing.T, mostQueries int) string {
	t.Helper()
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	cmd := exec.Command(java, "-Xmx128m", "-XX:+UseSerialGC", "-cp", filepath.Join(buildDir(t), "bullet-topology.jar"),
		"io.github.bulletmetrics.topology.gateway.QueryGateway", "--bullet-conf",
		filepath.Join(root(t), "topology/bullet-topology/conf/bullet_settings.yaml"), "--listen", "127.0.0.1:0",
		"--max-queries", fmt.Sprint(mostQueries), "--stop-with-stdin")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		assert.NoError(t, cmd.Wait())
	})
	var ready struct{ Address string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &ready), "%s", line)
	return "http://" + ready.Address
}

// playTopology takes queries from the gateway as the topology does and answers each as wanted, until the test ends.
func playTopology(t *testing.T, gateway, answer, signal string) {
	serialized := binary.BigEndian.AppendUint16([]byte("\xac\xed\x00\x05t"), uint16(len(answer)))
	content := base64.StdEncoding.EncodeToString(append(serialized, answer...))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	call := func(method, path string, body []byte) (int, []byte) {
		request, err := http.NewRequestWithContext(ctx, method, gateway+path, bytes.NewReader(body))
		if err != nil {
			return 0, nil
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, nil
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, text
	}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			status, text := call(http.MethodGet, "/api/bullet/pubsub/query", nil)
			var query struct {
				ID       string
				Metadata struct{ Signal *string }
			}
			if status != http.StatusOK || json.Unmarshal(text, &query) != nil || query.Metadata.Signal != nil {
				select {
				case <-time.After(10 * time.Millisecond): // as the topology's spout polls
				case <-ctx.Done():
				}
				continue
			}
			result, _ := json.Marshal(map[string]any{"id": query.ID, "content": content,
				"metadata": map[string]any{"signal": signal}})
			call(http.MethodPost, "/api/bullet/pubsub/result", result)
		}
	}()
}

// loadCounts runs bullet-metrics load, and returns its counts, its errors and its exit code.
func loadCounts(t *testing.T, args ...string) (counts map[string]int, errors string, code int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(buildDir(t), "bullet-metrics"), append([]string{"load", "--output", "json",
		"--source", "none", "--threshold", "failed<1%"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil { //nolint:errorlint // Output returns it bare
		require.True(t, exited, err)
	}
	var result struct {
		Queries map[string]any
		Latency struct{ Count int }
		Errors  []struct {
			Error string
			Count int
		}
	}
	require.NoError(t, json.Unmarshal(out, &result), "%s", out)
	counts = map[string]int{"latencies": result.Latency.Count}
	for _, name := range []string{"submitted", "returned", "failed", "refused"} {
		counts[name] = int(result.Queries[name].(float64))
	}
	var words []string
	for _, e := range result.Errors {
		words = append(words, e.Error)
	}
	return counts, strings.Join(words, "\n"), cmd.ProcessState.ExitCode()
}

// canaryCounts runs bullet-metrics canary for 2 s, and returns its counts and what it said.
func canaryCounts(t *testing.T, gateway, query string) (returned, failed int, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(buildDir(t), "bullet-metrics"), "canary", "--url", gateway, "--query", query,
		"--every", "200ms", "--duration", "2s", "--output", "json")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	var hour struct {
		Period           string
		Returned, Failed int
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &hour))
	require.Equal(t, "hour", hour.Period)
	return hour.Returned, hour.Failed, stderr.String()
}

// The real gateway's refusals count as failed, with its words; what it answers counts as returned.
func TestCountsAgainstTheRealGateway(t *testing.T) {
	t.Parallel()
	const missed = 99
	open := []string{"--rate", "10", "--duration", "2s", "--query-duration", "1s"}
	none := map[string]int{"submitted": 20, "returned": 0, "failed": 20, "refused": 0, "latencies": 0}
	t.Run("answers", func(t *testing.T) {
		gateway := startGateway(t, 100)
		playTopology(t, gateway, `{"records":[{"a":1}],"meta":{}}`, "COMPLETE")
		counts, errors, code := loadCounts(t, append(open, "--url", gateway, "--query", "SELECT * FROM STREAM(1000, TIME) LIMIT 1")...)
		assert.Equal(t, map[string]int{"submitted": 20, "returned": 20, "failed": 0, "refused": 0, "latencies": 20}, counts)
		assert.Zero(t, code, errors)
		returned, failed, said := canaryCounts(t, gateway, "SELECT * FROM STREAM(1000, TIME) LIMIT 1")
		assert.Positive(t, returned)
		assert.Zero(t, failed, said)
	})
	gateway := startGateway(t, 1)
	for name, c := range map[string]struct{ query, words string }{
		"wrong BQL":      {"SELEC nonsense", "400 Bad Request: Bullet answered with an error: 1:1: mismatched input 'SELEC'"},
		"a window":       {"SELECT * FROM STREAM(1000, TIME) WINDOWING TUMBLING(500, TIME)", "400 Bad Request: Bullet answered with an error: This endpoint gives one result"},
		"too long a BQL": {"SELECT * FROM STREAM(1000, TIME) WHERE a = '" + strings.Repeat("x", 1<<16) + "'", "413"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "query.bql") // the program takes no flag as long as one of these
			require.NoError(t, os.WriteFile(file, []byte(c.query), 0o644))
			counts, errors, code := loadCounts(t, append(open, "--url", gateway, "--query", "@"+file)...)
			assert.Equal(t, none, counts, errors)
			assert.Contains(t, errors, c.words)
			assert.Equal(t, missed, code)
			returned, failed, said := canaryCounts(t, gateway, "@"+file)
			assert.Zero(t, returned)
			assert.Positive(t, failed)
			assert.Contains(t, said, c.words)
		})
	}
	t.Run("too many queries", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/api/bullet/queries/http-query",
			strings.NewReader("SELECT * FROM STREAM(60000, TIME) LIMIT 1"))
		require.NoError(t, err)
		go func() { //nolint:bodyclose // it holds the only place until the test ends
			_, _ = http.DefaultClient.Do(request)
		}()
		require.Eventually(t, func() bool {
			response, err := http.Get(gateway + "/api/stats")
			if err != nil {
				return false
			}
			defer response.Body.Close()
			var stats struct{ Active int }
			return json.NewDecoder(response.Body).Decode(&stats) == nil && stats.Active == 1
		}, 30*time.Second, 20*time.Millisecond)
		counts, errors, code := loadCounts(t, append(open, "--url", gateway, "--query", "SELECT * FROM STREAM(1000, TIME) LIMIT 1")...)
		assert.Equal(t, map[string]int{"submitted": 20, "returned": 0, "failed": 20, "refused": 20, "latencies": 0}, counts)
		assert.Contains(t, errors, "429 Too Many Requests: Bullet answered with an error: Too many concurrent queries: the limit is 1")
		assert.Equal(t, missed, code)
	})
	t.Run("the topology fails it", func(t *testing.T) {
		gateway := startGateway(t, 100)
		playTopology(t, gateway, `{"records":[],"meta":{"errors":[{"error":"too fast","resolutions":["slow down"]}]}}`, "FAIL")
		counts, errors, code := loadCounts(t, append(open, "--url", gateway, "--query", "SELECT * FROM STREAM(1000, TIME) LIMIT 1")...)
		assert.Equal(t, none, counts, errors)
		assert.Contains(t, errors, "Bullet answered with an error: too fast (slow down)")
		assert.Equal(t, missed, code)
	})
}
