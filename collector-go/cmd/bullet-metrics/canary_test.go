package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/canary"
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
	return stdout.String(), stderr.String(), exitDone
}

func TestCanaryPrintsLines(t *testing.T) {
	t.Parallel()
	bullet, address := startFakeBullet(t)
	out, said, code := runCanary(t, "--url", address, "--classes", "raw", "--every", "500ms", "--query-duration", "2s",
		"--duration", "6s", "--output", "json")
	require.Equal(t, exitDone, code, said)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.GreaterOrEqual(t, len(lines), 2)
	var hour canary.Line
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
	out, said, code := runCanary(t, "--url", address, "--classes", "raw,top-k", "--every", "1s", "--query-duration",
		"1s", "--duration", "2s", "--grpc", "127.0.0.1:1")
	assert.Equal(t, exitFailed, code)
	assert.Regexp(t, `(?m)^minute to \d\d:\d\d:\d\d +returned +failed +timed out +missed +p50 ms`, out)
	assert.Regexp(t, `(?m)^top_k +0 +[12] `, out)
	assert.Contains(t, said, "top_k failed")
	assert.Contains(t, said, "400 Bad Request: no RAW query")
	assert.Contains(t, said, "collector unreachable")
	assert.Contains(t, said, "batches were not delivered to the collector at 127.0.0.1:1")
}

func TestCanaryRefusesWhatCannotBeMeant(t *testing.T) {
	for message, args := range map[string][]string{
		"unknown query class":                                 {"--url", "h:1", "--classes", "raw,median"},
		"listed twice":                                        {"--url", "h:1", "--classes", "raw,raw"},
		"missing port; use HOST:PORT":                         {"--url", "h:1", "--grpc", "collector"},
		`--url "h:99999": port 99999 is above 65535`:          {"--url", "h:99999"},
		`--source "ftp://(hidden)@h": the scheme`:             {"--url", "h:1", "--source", "ftp://u:s3cret@h"},
		"--target must be gateway or drpc":                    {"--target", "kafka"},
		"require --tls":                                       {"--url", "h:1", "--grpc", "h:1", "--tls-server-name", "h"},
		"--url is required, for example --url 127.0.0.1:9901": {"--grpc", "h:1"},
		"have the name own":                                   {"--url", "h:1", "--query", "SELECT 1", "--query", "SELECT 2"},
		"no --query has the name b":                           {"--url", "h:1", "--query", "a=SELECT 1", "--expect-records", "b=1"},
		"there is no --query":                                 {"--url", "h:1", "--expect-field", "x"},
		"not a whole number":                                  {"--url", "h:1", "--query", "SELECT 1", "--expect-records", "many"},
		"two queries have the name raw":                       {"--url", "h:1", "--classes", "raw", "--query", "raw=SELECT 1"},
		"open /nope: no such file":                            {"--url", "h:1", "--query", "@/nope"},
	} {
		_, said, code := runCanary(t, args...)
		assert.Equal(t, exitUsage, code, said)
		assert.Contains(t, said, message)
	}
}

// On a Bullet without our record source somebody's own queries are asked, by their names, and judged by what is
// expected of them.
func TestCanaryAsksSomebodysOwnBQL(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bql, _ := io.ReadAll(r.Body)
		mu.Lock()
		asked[r.URL.Path+" "+string(bql)] = true
		mu.Unlock()
		fmt.Fprint(w, `{"records":[{"country":"x"},{"country":null}],"meta":{}}`)
	}))
	defer own.Close()
	file := filepath.Join(t.TempDir(), "q.bql")
	require.NoError(t, os.WriteFile(file, []byte("SELECT * FROM STREAM(1000, TIME) LIMIT 2\n"), 0o600))
	out, said, code := runCanary(t, "--url", own.URL, "--query",
		"countries=SELECT country FROM STREAM(2000, TIME) LIMIT 2", "--query", "all=@"+file,
		"--expect-field", "countries=country", "--expect-records", "all=2", "--every", "500ms", "--duration", "2s",
		"--output", "json")
	require.Equal(t, exitDone, code, said)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, map[string]bool{"/api/bullet/queries/http-query SELECT country FROM STREAM(2000, TIME) LIMIT 2": true,
		"/api/bullet/queries/http-query SELECT * FROM STREAM(1000, TIME) LIMIT 2": true}, asked,
		"nothing else, and no record source")
	complete := map[string]float64{}
	for line := range strings.Lines(out) {
		var l canary.Line
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		if l.Period == "hour" {
			require.NotNil(t, l.Completeness)
			complete[l.Class] = *l.Completeness
		}
	}
	assert.Equal(t, map[string]float64{"countries": 0.5, "all": 1}, complete)
}
