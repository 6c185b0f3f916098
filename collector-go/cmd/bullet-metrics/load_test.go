package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// fakeBullet is a gateway whose topology answers a RAW query when its limit of matching records is made, as the record
// source makes them: record k at k/rate.
type fakeBullet struct {
	mu      sync.Mutex
	control struct {
		RecordsPerSecond float64 `json:"records_per_second"`
		Probes           []struct {
			Value     string  `json:"value"`
			PerSecond float64 `json:"per_second"`
		} `json:"probes"`
	}
	drop bool // a record in the middle of each answer

	answers atomic.Int32
	ten     chan struct{} // closed with the tenth answer
}

var rawPattern = regexp.MustCompile(`STREAM\((\d+), TIME\) WHERE probe = '([^']*)' LIMIT (\d+)`)

func startFakeBullet(t *testing.T) (*fakeBullet, string) {
	f := &fakeBullet{ten: make(chan struct{})}
	f.control.RecordsPerSecond = 7
	mux := http.NewServeMux()
	mux.HandleFunc("/api/source/control", f.source)
	mux.HandleFunc("/api/source/status", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"reporting":1,"following":1}`)
	})
	mux.HandleFunc("/api/bullet/queries/http-query", f.query)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return f, strings.TrimPrefix(server.URL, "http://")
}

func (f *fakeBullet) source(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPut {
		f.control.Probes = nil
		json.NewDecoder(r.Body).Decode(&f.control)
	}
	json.NewEncoder(w).Encode(f.control)
}

func (f *fakeBullet) rate(probe string) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.control.Probes {
		if p.Value == probe {
			return p.PerSecond
		}
	}
	return 0
}

func (f *fakeBullet) query(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if f.answers.Add(1) == 10 {
			close(f.ten)
		}
	}()
	body, _ := io.ReadAll(r.Body)
	parts := rawPattern.FindStringSubmatch(string(body))
	if parts == nil {
		http.Error(w, "no RAW query", http.StatusBadRequest)
		return
	}
	life, _ := strconv.Atoi(parts[1])
	limit, _ := strconv.Atoi(parts[3])
	rate := f.rate(parts[2])
	first := int64(float64(time.Now().UnixMicro())*rate/1e6) + 1
	end := time.Now().Add(time.Duration(life) * time.Millisecond)
	if rate > 0 {
		if full := time.UnixMicro(int64(float64(first+int64(limit)-1) * 1e6 / rate)); full.Before(end) {
			end = full.Add(time.Millisecond)
		}
	}
	select {
	case <-time.After(time.Until(end)):
	case <-r.Context().Done():
		return
	}
	var records []string
	last := int64(float64(time.Now().UnixMicro()) * rate / 1e6)
	for k := first; k <= last && len(records) < limit; k++ {
		if f.drop && k == (first+last)/2 {
			continue
		}
		records = append(records, fmt.Sprintf(`{"probe":%q,"probe_sequence":%d}`, parts[2], k))
	}
	fmt.Fprintf(w, `{"records":[%s],"meta":{}}`, strings.Join(records, ","))
}

// runLoad runs the command, and gives what it printed and the exit code.
func runLoad(t *testing.T, ctx context.Context, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"load"}, args...))
	root.SetOut(&out)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return out.String(), exitDone
	}
	return out.String() + err.Error(), exitCode(err)
}

func TestLoadAtARate(t *testing.T) {
	t.Parallel()
	bullet, address := startFakeBullet(t)
	dir := t.TempDir()
	args := []string{"--url", address, "--rate", "20", "--duration", "3s", "--query-duration", "3s", "--query-limit", "5",
		"--matching-per-second", "10", "--background", "100"}
	for _, name := range []string{"l.csv", "l.png", "l.jsonl"} {
		args = append(args, map[string]string{".csv": "--histogram", ".png": "--picture",
			".jsonl": "--outcomes"}[filepath.Ext(name)], filepath.Join(dir, name))
	}
	text, code := runLoad(t, t.Context(), append(args, "--threshold", "p99<10s", "--threshold", "completeness>=100%",
		"--output", "json")...)
	require.Equal(t, exitDone, code, text)
	var result load.Figures
	require.NoError(t, json.Unmarshal([]byte(text), &result))
	assert.Equal(t, 60, result.Queries.Scheduled)
	assert.Equal(t, 60, result.Queries.Returned)
	assert.InDelta(t, 450, *result.Latency.P50, 400, "5 records at 10 a second")
	assert.Len(t, result.Thresholds, 2)
	assert.NotEmpty(t, result.Timeline)
	lines, err := os.ReadFile(filepath.Join(dir, "l.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, 60, bytes.Count(lines, []byte("\n")))
	table, err := os.ReadFile(filepath.Join(dir, "l.csv"))
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(table, []byte("percentile,latency_seconds,count\n0,")), "%.100s", table)
	picture, err := os.ReadFile(filepath.Join(dir, "l.png"))
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(picture, []byte("\x89PNG")))
	assert.Empty(t, bullet.control.Probes, "the order is taken back")
	assert.InDelta(t, 7, bullet.control.RecordsPerSecond, 0)
}

func TestLoadReportsCrossedThresholdsAndLostRecords(t *testing.T) {
	t.Parallel()
	bullet, address := startFakeBullet(t)
	bullet.drop = true
	text, code := runLoad(t, t.Context(), "--url", address, "--held", "3", "--duration", "1s", "--query-duration", "4s",
		"--query-limit", "50", "--matching-per-second", "10",
		"--threshold", "completeness>=99.9%", "--threshold", "p50 > 1ms")
	assert.Equal(t, exitMissed, code, text)
	assert.Contains(t, text, "✗ completeness>=99.9%")
	assert.Contains(t, text, "✓ p50>1ms")
	assert.Contains(t, text, "a threshold was crossed")
	assert.Regexp(t, `raw queries, 3 held, for \d+s through gateway at 127`, text)
}

// Three clients ask a part each from one moment on; what they keep adds up to one run, and shows which of them was
// late. The first has ordered the records, and has them made until the last query of all has ended.
func TestLoadInPartsAddsUpToOneRun(t *testing.T) {
	t.Parallel()
	bullet, address := startFakeBullet(t)
	dir, start := t.TempDir(), time.Now().Add(2*time.Second).Format(time.RFC3339Nano)
	var clients sync.WaitGroup
	files := []string{"merge"}
	for number := 1; number <= 3; number++ {
		file := filepath.Join(dir, fmt.Sprintf("part-%d.jsonl", number))
		files = append(files, file)
		clients.Go(func() {
			text, code := runLoad(t, t.Context(), "--url", address, "--rate", "20", "--duration", "2s",
				"--query-duration", "2s", "--timeout", "1s", "--query-limit", "5", "--matching-per-second", "10",
				"--part", fmt.Sprintf("%d/3", number), "--start", start, "--outcomes", file)
			assert.Equal(t, exitDone, code, text)
			assert.Contains(t, text, fmt.Sprintf("20/s, part %d/3, for", number))
		})
	}
	clients.Wait()
	assert.Empty(t, bullet.control.Probes, "the order is taken back")

	text, code := runLoad(t, t.Context(), append(files, "--output", "json", "--threshold", "completeness>=100%")...)
	require.Equal(t, exitDone, code, text)
	var merged load.Figures
	require.NoError(t, json.Unmarshal([]byte(text), &merged))
	assert.Equal(t, 40, merged.Queries.Scheduled)
	assert.Equal(t, 40, merged.Queries.Returned)
	assert.Equal(t, 40, merged.Latency.Count)
	assert.Equal(t, 20.0, merged.Rate)
	require.Len(t, merged.Parts, 3)
	assert.Equal(t, []int{14, 13, 13},
		[]int{merged.Parts[0].Scheduled, merged.Parts[1].Scheduled, merged.Parts[2].Scheduled})
	assert.Equal(t, 40, merged.Timeline[len(merged.Timeline)-1].Returned)

	text, code = runLoad(t, t.Context(), append(files, "--threshold", "p50<1ms")...)
	assert.Equal(t, exitMissed, code, text)
	assert.Regexp(t, `raw queries, 20/s, for \d+s through gateway at 127`, text)
	assert.Regexp(t, `(?m)^2/3 +13 +13 `, text)

	whole, err := os.ReadFile(files[3])
	require.NoError(t, err)
	early := regexp.MustCompile(`(?m)^\{"class".*\n`).ReplaceAll(whole, nil)
	early = bytes.Replace(early, []byte(`"queries":13`), []byte(`"queries":0`), 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "early.jsonl"), early, 0o666))
	text, code = runLoad(t, t.Context(), append(files[:3:3], filepath.Join(dir, "early.jsonl"))...)
	assert.Equal(t, exitDone, code, text)
	assert.Contains(t, text, "the client of part 3/3 ended early: 0 of its 13 queries were scheduled")

	text, code = runLoad(t, t.Context(), files[:3]...)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, text, "part 3/3 is missing")
	text, code = runLoad(t, t.Context(), "merge", filepath.Join(dir, "nowhere"))
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, text, "nowhere")
}

func TestLoadEndsWithCtrlCAndReportsWhatItHas(t *testing.T) {
	t.Parallel()
	bullet, address := startFakeBullet(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-bullet.ten
		cancel()
	}()
	text, code := runLoad(t, ctx, "--url", address, "--rate", "10", "--duration", "10m", "--query-limit", "1",
		"--matching-per-second", "20")
	assert.Equal(t, 130, code, text)
	assert.Regexp(t, `returned +([1-9]|\d{2,})\D`, text)
	assert.Empty(t, bullet.control.Probes)
}

func TestLoadRefusesWhatCannotBeMeant(t *testing.T) {
	for says, args := range map[string][]string{
		"give either --rate":                                     {},
		"--held 1001":                                            {"--held", "1001"},
		`unknown query class "median"`:                           {"--held", "1", "--class", "median"},
		"is not a threshold":                                     {"--held", "1", "--threshold", "fast"},
		"--target must be gateway or drpc":                       {"--held", "1", "--target", "kafka"},
		"ends in .csv":                                           {"--held", "1", "--histogram", "x.txt"},
		"ends in .png or .svg":                                   {"--held", "1", "--picture", "x.gif"},
		"the duration of a query must be at least 1 s":           {"--held", "1", "--query-duration", "1ms"},
		"--background requires --source":                         {"--held", "1", "--target", "drpc", "--background", "10"},
		"the number of probes must be between 1 and 1000, not 0": {"--rate", "1", "--probes", "0"},
		"for example 2/5 for the second of five":                 {"--rate", "1", "--part", "5/2"},
		"--part requires --start":                                {"--rate", "1", "--part", "1/2"},
		"--part requires --outcomes FILE": {"--rate", "1", "--part", "1/2", "--start",
			"2100-01-01T00:00:00Z"},
		"--part requires a --duration": {"--rate", "1", "--part", "1/2", "--start", "2100-01-01T00:00:00Z",
			"--outcomes", "x", "--duration", "0"},
		"use RFC 3339":              {"--rate", "1", "--start", "noon"},
		"--start was":               {"--rate", "1", "--start", "2020-01-01T00:00:00Z"},
		"name the --outcomes files": {"merge"},
	} {
		text, code := runLoad(t, t.Context(), args...)
		assert.Equal(t, exitUsage, code, text)
		assert.Contains(t, text, says)
	}
}

func TestLoadSaysThatNobodyIsThere(t *testing.T) {
	text, code := runLoad(t, t.Context(), "--url", "127.0.0.1:1", "--held", "1")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, text, "read the state of the record source")
	assert.Contains(t, text, "--source none")
}

// Somebody's own BQL is asked where there is no record source, and what is expected of its answers is a threshold's
// figure.
func TestLoadAsksSomebodysOwnBQL(t *testing.T) {
	t.Parallel()
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"records":[{"country":"x"}],"meta":{}}`)
	}))
	defer own.Close()
	line := []string{"load", "--url", own.URL, "--rate", "5", "--duration", "1s", "--query",
		"SELECT * FROM STREAM(1000, TIME) LIMIT 2", "--expect-records", "2"}
	out, err := program(append(line, "--threshold", "completeness>=99%")...)
	assert.Equal(t, exitMissed, exitCode(err), out)
	out, err = program(append(line, "--threshold", "completeness>=50%", "--threshold", "failed<1%")...)
	require.NoError(t, err, out)
	for message, more := range map[string][]string{"give either --class or --query": {"--class", "raw"},
		"give --query once": {"--query", "b=SELECT 1"}} {
		_, err := program(append(line, more...)...)
		require.ErrorContains(t, err, message)
		assert.Equal(t, exitUsage, exitCode(err))
	}
}
