package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/capture"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
)

var updateReplays = flag.Bool("update-replays", false, "rewrite testdata/replay")

const captures = "../../../topology/captures"

func captureFile(name string) string { return filepath.Join(captures, name+".jsonl") }

// program runs the program's commands, and returns what it printed.
func program(args ...string) (string, error) {
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

func replayInto(t *testing.T, dir string, files ...string) replay.Summary {
	out, err := program(append([]string{"replay", "--data-dir", dir, "--output", "json"}, files...)...)
	require.NoError(t, err)
	return parseReplayed(t, out)
}

func parseReplayed(t *testing.T, out string) (r replay.Summary) {
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), out)
	require.NoError(t, r.Check())
	return r
}

// series is what a query answers, as the Prometheus API has it.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
	Values [][2]any          `json:"values"`
}

func ask(t *testing.T, dir, expr string, flags ...string) []series {
	out, err := program(append([]string{"query", dir, expr, "--output", "json"}, flags...)...)
	require.NoError(t, err, expr)
	var answer struct {
		Status string
		Data   struct{ Result []series }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &answer), out)
	require.Equal(t, "success", answer.Status)
	return answer.Data.Result
}

func number(t *testing.T, v any) float64 {
	f, err := strconv.ParseFloat(v.(string), 64)
	require.NoError(t, err)
	return f
}

// testdata/replay has the report of each capture's replay, as people read it.
func TestEveryCaptureReplays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(captures, "*.jsonl"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 6)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := replayInto(t, dir, file)
			golden(t, name+".txt", r.Text())

			for _, name := range r.Unknown {
				assert.True(t, strings.HasPrefix(name, "my_"), "%s is the word count's own, or missing in the table",
					name)
			}
			assert.Empty(t, r.Refused, "nothing was wrong with these runs")
			assert.NotContains(t, r.LeftOut, "late")
			checkBullet(t, dir, file)
			checkCounters(t, dir, r)
		})
	}
}

func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", "replay", name)
	if *updateReplays {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got,
		"where the table has changed: go test ./cmd/bullet-metrics -run Replay -update-replays")
}

func read(t *testing.T, path string) (all []*capture.Point) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	for reader := capture.NewReader(path, file); ; {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// checkBullet: no number of Bullet's is missing. Every slice that a number falls into is there, gauges and totals
// alike.
func checkBullet(t *testing.T, dir, file string) {
	canonical := strings.NewReplacer("bullet_filter_latency", "bullet_filter_latency_mean_seconds",
		"bullet_created_queries", "bullet_created_queries_total",
		"bullet_improper_queries", "bullet_improper_queries_total", "bullet_rate_exceeded_queries",
		"bullet_rate_exceeded_queries_total",
		"bullet_duplicated_queries", "bullet_duplicated_queries_total", "bullet_created_replays",
		"bullet_created_replays_total",
		"bullet_source_records", "bullet_source_records_total", "bullet_source_lag", "bullet_source_lag_records",
		"bullet_source_left_out", "bullet_source_left_out_records_total")
	slicesOf := map[string]map[int64]bool{} // ends, by series
	for _, p := range read(t, file) {
		if !strings.HasPrefix(p.Name, "bullet_") {
			continue
		}
		for _, s := range p.Samples {
			key := fmt.Sprintf("%s/%d/%s", canonical.Replace(p.Name), p.Task, s.Key)
			if slicesOf[key] == nil {
				slicesOf[key] = map[int64]bool{}
			}
			slicesOf[key][(p.TimeMs+9999)/10_000*10] = true
		}
	}
	stored := map[string]map[int64]bool{}
	for _, s := range everything(t, dir, `{__name__=~"bullet_.*",task!="",__name__!~".*_(min|max)"}`) {
		key := fmt.Sprintf("%s/%s/%s", s.Metric["__name__"], s.Metric["task"], s.Metric["target"]+s.Metric["reason"])
		stored[key] = map[int64]bool{}
		for _, v := range s.Values {
			stored[key][int64(v[0].(float64))] = true
		}
	}
	assert.Equal(t, slicesOf, stored)
}

// everything is all that is stored of some series: a range selector evaluated at the end.
func everything(t *testing.T, dir, selector string) []series {
	return ask(t, dir, selector+"[1d]")
}

// checkCounters: no total falls, and every metric has as many series as the replay reports.
func checkCounters(t *testing.T, dir string, r replay.Summary) {
	counts, totals := map[string]int{}, 0
	for _, s := range everything(t, dir, `{__name__!=""}`) {
		name := s.Metric["__name__"]
		if !strings.HasPrefix(name, catalog.CollectionPrefix) {
			counts[name]++
		}
		if !strings.HasSuffix(name, "_total") {
			continue
		}
		totals++
		assert.True(t, slices.IsSortedFunc(s.Values, func(a, b [2]any) int {
			return int(max(-1, min(1, number(t, a[1])-number(t, b[1]))))
		}), "%v falls: %v", s.Metric, s.Values)
	}
	assert.Equal(t, r.Metrics, counts)
	assert.Positive(t, totals)
}

// Storm 2.2 reports a spout's acknowledged tuples both as increments, by stream, and as a running total without
// streams. DataSource has one stream, so that both must agree, task by task.
func TestTotalsFromDeltasAreStormsOwn(t *testing.T) {
	raw := map[string][]float64{} // Storm's totals, by task
	for _, p := range read(t, captureFile("capture-storm-2.2.0")) {
		if p.Name == "acked" && p.Component == "DataSource" && p.IntervalMs == 60_000 {
			task := strconv.Itoa(int(p.Task))
			raw[task] = append(raw[task], p.Samples[0].Value)
		}
	}
	dir := t.TempDir()
	replayInto(t, dir, captureFile("capture-storm-2.2.0"))
	ours := map[string][]float64{}
	for _, s := range everything(t, dir, `storm_acked_total{component="DataSource"}`) {
		for _, v := range s.Values {
			ours[s.Metric["task"]] = append(ours[s.Metric["task"]], number(t, v[1]))
		}
	}
	require.Len(t, raw, 2)
	assert.Equal(t, raw, ours)
}

// A worker of these captures is killed with -9: what it counts falls, and our totals go on.
func TestCountersGoOnWhereAWorkerWasKilled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"capture-replay-2.8.3", "capture-killed-2.8.3"} {
		t.Run(name, func(t *testing.T) { checkCreatedQueries(t, name) })
	}
}

func checkCreatedQueries(t *testing.T, name string) {
	fell := map[string]float64{} // what was counted before and after, by task
	last := map[string]float64{}
	falls := 0
	for _, p := range read(t, captureFile(name)) {
		if p.Name != "bullet_created_queries" {
			continue
		}
		task, v := strconv.Itoa(int(p.Task)), p.Samples[0].Value
		if v < last[task] {
			fell[task] += last[task]
			falls++
		}
		last[task] = v
	}
	require.Positive(t, falls, "the capture has a worker that was killed")
	dir := t.TempDir()
	replayInto(t, dir, captureFile(name))
	for _, s := range ask(t, dir, "bullet_created_queries_total") {
		task := s.Metric["task"]
		assert.Equal(t, fell[task]+last[task], number(t, s.Value[1]), "task %s", task)
	}
}

// A worker of this capture is killed with -9 (topology/captures/README.md has the time): it restarted once and no other
// did, its slices end before the kill and begin after it, and between them PromQL has nothing of it, whatever the
// metric.
func TestAKilledWorkerIsARestartAndAGap(t *testing.T) {
	const (
		victim, other = "127.0.0.1:10068", "127.0.0.1:10287"
		killed        = 1_795_276_207.371
		// the slices of the last report before, and of the first after
		lastEnd, returnEnd = 1_795_276_200.0, 1_795_276_230.0
	)
	dir := t.TempDir()
	r := replayInto(t, dir, captureFile("capture-killed-2.8.3"))
	assert.Empty(t, r.Refused)

	restarts := map[string][]float64{}
	for _, s := range everything(t, dir, "bullet_worker_restarts_total") {
		for _, v := range s.Values {
			restarts[s.Metric["worker"]] = append(restarts[s.Metric["worker"]], number(t, v[1]))
		}
	}
	require.Len(t, restarts, 2)
	assert.Equal(t, []float64{0, 1}, slices.Compact(restarts[victim]), "once, and counted from 0")
	assert.Equal(t, []float64{0}, slices.Compact(restarts[other]))

	// The reports of bullet_active_queries are 5 s apart: one came 3 s before the kill, and 12 s are no gap of slices
	// of 10 s.
	all := everything(t, dir, fmt.Sprintf(`{worker=%q,__name__!~"bullet_metrics_.*|bullet_active_queries.*"}`, victim))
	require.Greater(t, len(all), 100)
	for _, s := range all {
		for _, v := range s.Values {
			end := v[0].(float64)
			assert.False(t, end > lastEnd && end < returnEnd, "%v has a slice at %v", s.Metric, end)
		}
	}
	for _, metric := range []string{"bullet_worker_heap_used_bytes", "bullet_worker_gc_seconds_total",
		"bullet_created_queries_total", "storm_executed_total"} {
		selector := fmt.Sprintf("%s{worker=%q}", metric, victim)
		assert.NotEmpty(t, ask(t, dir, selector, "--time", fmt.Sprint(int64(lastEnd))), metric)
		assert.Empty(t, ask(t, dir, selector, "--time", fmt.Sprint(int64(returnEnd-1))),
			"%s in the gap, %v s after the kill", metric, returnEnd-1-killed)
		assert.NotEmpty(t, ask(t, dir, selector, "--time", fmt.Sprint(int64(returnEnd))), metric)
	}
}

// testdata/replay/queries.txt: PromQL over a replayed capture, and what it answers.
//
//	capture: expression
//	  answer
func TestQueriesOverReplays(t *testing.T) {
	const file = "queries.txt"
	text, err := os.ReadFile(filepath.Join("testdata", "replay", file))
	require.NoError(t, err)
	dirs := map[string]string{}
	var got strings.Builder
	asked := 0
	for line := range strings.Lines(string(text)) {
		name, expr, found := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(line, " ") {
			continue
		}
		got.WriteString(line)
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		if dirs[name] == "" {
			dirs[name] = t.TempDir()
			replayInto(t, dirs[name], captureFile(name))
		}
		out, err := program("query", dirs[name], expr)
		require.NoError(t, err, line)
		for answer := range strings.Lines(out) {
			got.WriteString("  " + answer)
		}
		asked++
	}
	require.Positive(t, asked)
	golden(t, file, got.String())
}

// A capture without its consumer's start has its file's name.
func TestACaptureWithoutPrepare(t *testing.T) {
	text, err := os.ReadFile(captureFile("capture-storm-1.2.4"))
	require.NoError(t, err)
	_, points, _ := strings.Cut(string(text), "\n")
	file := filepath.Join(t.TempDir(), "word count.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(points), 0o666))
	bare, whole := t.TempDir(), t.TempDir()
	r := replayInto(t, bare, file)
	same := replayInto(t, whole, captureFile("capture-storm-1.2.4"))
	assert.Equal(t, same.Stored, r.Stored)
	assert.Equal(t, "word count.jsonl", ask(t, bare, "storm_worker_uptime_seconds")[0].Metric["topology"])
	assert.Equal(t, "word", ask(t, whole, "storm_worker_uptime_seconds")[0].Metric["topology"])
}

// Several captures go into one directory at once, one after the other or again, whatever their times, and each is
// whole.
func TestCapturesOfOneDirectory(t *testing.T) {
	all := []string{captureFile("capture-replay-2.8.3"), captureFile("capture-storm-2.8.4"),
		captureFile("capture-storm-1.2.4"), captureFile("capture-storm-2.2.0")}
	const count = `count by (topology) (last_over_time({__name__!=""}[2d]))`
	var alone uint64
	together, apart := t.TempDir(), t.TempDir()
	for _, file := range all {
		alone += replayInto(t, apart, file).Stored
	}
	assert.Equal(t, alone, replayInto(t, together, all...).Stored)
	assert.Len(t, ask(t, apart, count), 4)
	// Both Bullets are called bullet and ran at the same time: the later one is kept apart.
	of := map[string]float64{}
	for _, s := range ask(t, together, count) {
		of[s.Metric["topology"]] = number(t, s.Value[1])
	}
	assert.Len(t, of, 4)
	assert.Positive(t, of["capture-storm-2.8.4.jsonl"])
	assert.Positive(t, of["bullet"])

	again := replayInto(t, together, captureFile("capture-storm-2.2.0"))
	assert.Zero(t, again.Stored)
	assert.Positive(t, again.Refused["late"], "nothing is stored twice")
	assert.Empty(t, again.Metrics)
}

// What is no number is counted, and a line that cannot be read is named; the rest is stored.
func TestOddNumbersAndLines(t *testing.T) {
	from := func(component string, now, ts int, name, value string) string {
		return fmt.Sprintf(`{"now":%d,"ts":%d,"interval":10,"host":"h","port":1,"component":%q,"task":1,"name":%q,"value":%s}`,
			now, ts, component, name, value)
	}
	line := func(now, ts int, name, value string) string { return from("c", now, ts, name, value) }
	const now = 1_795_199_757_000
	file := filepath.Join(t.TempDir(), "odd.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join([]string{
		line(now, now/1000, "bullet_created_queries", `3`),
		`torn`,
		line(now, now/1000, "mine", `{"a": NaN, "b": -Infinity, "c": {"d": 1}, "e": "text", "f": null}`),
		line(now, now/1000+1200, "mine", `{"a": 1}`),
		line(now, now/1000-90_000, "mine", `{"a": 1}`),
		line(now, now/1000, "", `1`),
		from("__system", now, now/1000, "memory.heap.used", `-5.3e7`),
	}, "\n")), 0o666))
	dir := t.TempDir()
	out, err := program("replay", file, "--data-dir", dir, "--output", "json")
	require.ErrorContains(t, err, "odd.jsonl:2: ")
	require.ErrorContains(t, err, "odd.jsonl:6: ")
	assert.Equal(t, exitFailed, exitCode(err))
	assert.Equal(t, replay.Summary{Points: 7, Stored: 2, Refused: map[string]uint64{"not_a_number": 2, "future": 1,
		"too_old": 1, "nonsense": 1},
		LeftOut: map[string]uint64{}, Unknown: []string{"mine"},
		Metrics: map[string]int{"bullet_created_queries_total": 1, "storm_mine": 1}, Unsupported: 1},
		parseReplayed(t, out))
	assert.Equal(t, "c/d", ask(t, dir, "storm_mine")[0].Metric["key"])
}

// A worker's clock that is set back while its process goes on is no restart: totals end where the process counted to,
// whatever was counted while time repeated. Taking the fall for a restart gave 2,011,900 tuples for 20 s, and 4,026,000
// for 300 s.
func TestAClockSetBackCountsNothingTwice(t *testing.T) {
	const start, reports, setBackAt, interval = 1_795_200_000, 90, 30, 10
	for back, repeated := range map[int]uint64{0: 0, 5: 0, 20: 4, 300: 60} {
		t.Run(fmt.Sprint(back, " s"), func(t *testing.T) {
			lines := []string{`{"event":"prepare","stormId":"probe-1-1795199990","workerPort":6700,"task":99}`}
			for i := range reports {
				now, ts := start+interval*i, start+interval*i
				if i >= setBackAt {
					ts -= back
				}
				for _, report := range []string{
					fmt.Sprintf(`"component":"HttpBolt","task":5,"name":"__execute-count-KafkaSpout:default","value":%d`,
						1_000_000+100*i),
					fmt.Sprintf(`"component":"__system","task":-1,"name":"GC.G1-Young-Generation.time","value":%d`,
						500_000+50*i),
				} {
					lines = append(lines, fmt.Sprintf(`{"now":%d020,"ts":%d,"interval":%d,"host":"w1","port":6700,%s}`,
						now, ts, interval, report))
				}
			}
			file, dir := filepath.Join(t.TempDir(), "back.jsonl"), t.TempDir()
			require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644))
			assert.Equal(t, repeated, replayInto(t, dir, file).Refused["repeated_time"])
			for metric, want := range map[string]float64{"storm_executed_total": 1_008_900,
				"bullet_worker_gc_seconds_total": 504.45} {
				found := ask(t, dir, metric)
				require.Len(t, found, 1, metric)
				assert.InDelta(t, want, number(t, found[0].Value[1]), 1e-9, metric)
			}
			assert.Empty(t, ask(t, dir, "max_over_time(bullet_worker_restarts_total[1h]) > 0"))
		})
	}
}

// Until 2.2 Storm's skipped time is the increment, from 2.3 the total: the maps beside it show which.
func TestOneNameOfTwoMeanings(t *testing.T) {
	const at = 1_795_199_760
	for beside, want := range map[string]float64{
		`"__receive","value":{"population":1}`:        0.220, // 100 + 50 + 70 ms
		`"receive-queue-population","value":1`:        0.170, // 100 ms, and 70 of a process that started again
		`"__emit-count","value":{"default":20}`:       0.220,
		`"__emit-count-default","value":20`:           0.170,
		`"my-map","value":{"population":1,"other":2}`: 0.170,
	} {
		var lines []string
		for i, skipped := range []int{100, 50, 70} {
			for _, metric := range []string{fmt.Sprintf(`"__skipped-max-spout-ms","value":%d`, skipped), beside} {
				lines = append(lines,
					fmt.Sprintf(`{"now":%d000,"ts":%d,"interval":60,"host":"h","port":1,"component":"spout","task":1,"name":%s}`,
						at+60*i, at+60*i, metric))
			}
		}
		file := filepath.Join(t.TempDir(), "skipped.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666))
		dir := t.TempDir()
		replayInto(t, dir, file)
		assert.InDelta(t, want, number(t, ask(t, dir, "storm_skipped_seconds_total")[0].Value[1]), 1e-9, beside)
	}
}

// A silence of days in a capture costs no days, and a worker that was silent so long has a gap.
func TestALongSilence(t *testing.T) {
	var lines []string
	for _, at := range []int64{1_795_199_757, 1_795_199_767, 1_795_199_757 + 30*86_400} {
		lines = append(lines,
			fmt.Sprintf(`{"now":%d,"ts":%d,"interval":10,"host":"h","port":1,"component":"c","task":1,"name":"bullet_created_queries","value":%d}`,
				at*1000, at, at%10))
	}
	file := filepath.Join(t.TempDir(), "silent.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666))
	dir := t.TempDir()
	assert.Equal(t, uint64(3), replayInto(t, dir, file).Stored)
	all := ask(t, dir, "bullet_created_queries_total[40d]")
	require.Len(t, all, 1)
	assert.Len(t, all[0].Values, 3)
	assert.Empty(t, ask(t, dir, "bullet_created_queries_total", "--time", "1795199801"), "ended, by its marker")
}

// A directory that was replayed into is a collector's: it serves it, and goes on.
func TestAReplayIsServed(t *testing.T) {
	c := settings(t.TempDir())
	replayInto(t, c.DataDir, captureFile("capture-storm-2.2.0"))
	r := startCollector(t, c)
	assert.Contains(t, r.ask(`sum(storm_acked_total{component="DataSource"} @ 1795199940)`), `"16940"`)
	_, err := program("replay", captureFile("capture-storm-1.2.4"), "--data-dir", c.DataDir)
	assert.ErrorContains(t, err, "journal: lock", "a collector has it")
	_, err = program("query", c.DataDir, "up")
	assert.ErrorContains(t, err, "query that collector over HTTP")
	r.close()
	assert.Positive(t, replayInto(t, c.DataDir, captureFile("capture-storm-1.2.4")).Stored)
}

// A replay that is asked to end reports that, and leaves a directory in which another can go on.
func TestAReplayThatIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	dir := t.TempDir()
	var out bytes.Buffer
	err := runReplay(ctx, &out, []string{captureFile("capture-storm-2.2.0")}, dir, "", outputForm{form: outputJSON})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, strings.Count(err.Error(), "canceled"), err)
	assert.Empty(t, out.String())
	assert.Equal(t, uint64(1324), replayInto(t, dir, captureFile("capture-storm-2.2.0")).Stored)
}

func TestWrongUsageOfReplayAndQuery(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		args []string
		want string
		code int
	}{
		{[]string{"replay"}, "name at least one capture", exitUsage},
		{[]string{"replay", "x.jsonl"}, "set either --data-dir", exitUsage},
		{[]string{"replay", "x.jsonl", "--data-dir", dir, "--output", "xml"}, "--output \"xml\"", exitUsage},
		{[]string{"replay", filepath.Join(dir, "none.jsonl"), "--data-dir", filepath.Join(dir, "new")}, "none.jsonl",
			exitFailed},
		{[]string{"replay", dir, "--data-dir", filepath.Join(dir, "new")}, "is a directory", exitFailed},
		{[]string{"replay", "replay_test.go", "--data-dir", filepath.Join(dir, "new")},
			"no line is one of a metrics log; nothing was stored: replay_test.go:1: the line", exitFailed},
		{[]string{"query", dir}, "is a directory; add an expression", exitUsage},
		{[]string{"query", dir, "up", "--time", "1", "--start", "1"}, "cannot be combined", exitUsage},
		{[]string{"query", dir, "up", "--start", "1", "--end", "2"}, "--step", exitUsage},
		{[]string{"query", dir, "up"}, "not a data directory", exitFailed},
	}
	for _, test := range tests {
		_, err := program(test.args...)
		if assert.ErrorContains(t, err, test.want, test.args) {
			assert.Equal(t, test.code, exitCode(err), test.args)
		}
	}
	assert.NoDirExists(t, filepath.Join(dir, "new"), "nothing is made without a capture")
	assert.NoDirExists(t, filepath.Join(dir, "embedded"))
}

// Errors of a question are Prometheus' own too.
func TestQueryErrors(t *testing.T) {
	dir := t.TempDir()
	replayInto(t, dir, captureFile("capture-storm-1.2.4"))
	out, err := program("query", dir, "sum(", "--output", "json")
	assert.Equal(t, exitUsage, exitCode(err))
	assert.Contains(t, out, `{"status":"error","errorType":"bad_data"`)
	_, err = program("query", dir, "up", "--time", "yesterday")
	assert.Equal(t, exitUsage, exitCode(err))
	_, err = program("query", dir, "{a=\"\"} + on() group_left() {b=\"\"}")
	assert.Error(t, err)
	out, err = program("query", dir, "scalar(vector(1))")
	require.NoError(t, err)
	assert.Equal(t, "1\n", out)
}
