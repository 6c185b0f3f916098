package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// small is the search that ships for two cores.
const small = "../../../topology/experiments/optimize-small.yaml"

// smallSearch is the small search as the command reads it, with its trials in a directory of the test's.
func smallSearch(t *testing.T) (*optimizeOptions, *optimization) {
	t.Helper()
	o := &optimizeOptions{launchOptions: launchOptions{out: filepath.Join(t.TempDir(), "run")}, show: presentation{output: "json"}}
	s, err := o.read(small)
	require.NoError(t, err)
	return o, s
}

func TestTheSmallSearchIsForeseen(t *testing.T) {
	dir := t.TempDir()
	args := []string{"optimize", small, "--dry-run", "--out", dir}
	out, err := tune(t, args...)
	require.NoError(t, err)
	for _, want := range []string{"optimize-small: 36 configurations",
		"first: filter=1 heap=64 pending=5 (start of the search)", "then: filter=1 heap=1024 pending=50",
		"at most 45m0s"} {
		assert.Contains(t, out, want)
	}
	var f optimize.Outlook
	out, err = tune(t, append(args, "--output", "json")...)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &f))
	assert.InDelta(t, 120, f.TrialSeconds, 30, "about two minutes")
	assert.Equal(t, map[string]any{"bullet.topology.filter.bolt.parallelism": 1.0,
		"bullet.topology.custom.topology.worker.childopts":  "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m",
		"bullet.topology.custom.topology.max.spout.pending": 5.0}, f.First)
	out, err = tune(t, append(args, "--grid")...)
	require.NoError(t, err)
	assert.Contains(t, out, "about 36 trials")
	assert.NotContains(t, out, "at most")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing is tried, nothing is kept")
	_, s := smallSearch(t)
	assert.Equal(t, filepath.Join(searchesDir, "optimize-small-grid"), (&optimizeOptions{grid: true}).directory(s.file))
}

// A guess at what the small search will find: it ends well within its budget, and within a third of a grid's time.
func TestTheSmallSearchEndsInTime(t *testing.T) {
	const guess = `space: guess
formula:
  latency_ms: 12 * (1 + 8 * pow(queries / 600 / filter * (1 + 30 / heap), 6))
  completeness: max(0, 1 - 0.4 * max(0, 15 / pending - 1) - 0.2 * max(0, 90 / heap - 1))
  limiters:
    - {limiter: filter CPU, used: queries / 600 / filter}
    - {limiter: garbage collection, used: 90 / heap}
    - {limiter: max spout pending, used: 15 / pending}
noise: 10%
trial_time: 130s
`
	for _, seed := range []string{"1", "2", "3"} {
		out, err := tune(t, "optimize", small, "--simulate", yamlOf(t, guess+"seed: "+seed+"\n"), "--output", "json")
		require.NoError(t, err)
		var r optimize.Result
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		assert.True(t, r.Proven)
		assert.LessOrEqual(t, len(r.Trials), 12, "of 36")
		assert.InDelta(t, 2+256*0.0005, r.Best.Cost, 1e-9, "two bolts, 256 MiB")
	}
}

func decoded(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// What the trials showed is printed, and stored beside them.
func TestTheResultOfTrialsIsKept(t *testing.T) {
	o, s := smallSearch(t)
	w, err := runstore.Create(o.out, s.text, s.file.SearchPlan(), runstore.Manifest{ExperimentPath: s.file.Path()})
	require.NoError(t, err)
	for i, verdict := range []tuning.Verdict{tuning.Fail, tuning.OK} {
		planned := s.file.SearchTrial(optimize.Point{i, 0, 0})
		planned.Number, planned.Configuration, planned.Repeat = i+1, i+1, 1
		latency := tuning.GoalOutcome{Goal: s.file.LatencyGoal(), Measured: tuning.Figure(900 - 880*i)}
		step := runstore.Step{Number: 1, Attempt: 1, Launch: 1, Value: 800, Verdict: verdict, CPUCores: 1.25,
			HostIdle: 0.25, RecordsPerSecond: 4990, CatchUpRatio: tuning.Unknown,
			Clients: runstore.Clients{ExpectedRecords: 1}, Figures: []tuning.GoalOutcome{latency}}
		require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialPlanned, Planned: &planned, Text: "a reason of its own"}))
		require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialStarted, Trial: i + 1, Launch: 1}))
		require.NoError(t, w.BeginTrial(planned, nil, runstore.Arguments{}))
		require.NoError(t, w.FinishStep(planned, step, 1))
		require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialFinished, Trial: i + 1, AtMs: 100_000}))
	}
	require.NoError(t, w.Close())
	var out strings.Builder
	err = o.conclude(s, time.Time{}, &out)
	assert.ErrorContains(t, err, "the best configuration so far is not proven")
	assert.Equal(t, exitFailed, code(err))
	assert.ErrorContains(t, o.conclude(s, time.UnixMilli(1), io.Discard), "the time limit has passed; run the same command again")
	assert.Contains(t, out.String(), `"bullet.topology.filter.bolt.parallelism": 2`)
	assert.Equal(t, 1.25, at(t, decoded(t, out.String()), "used", "cpu_cores"))
	page, err := os.ReadFile(filepath.Join(o.out, runstore.ReportDir, "search.md"))
	require.NoError(t, err)
	for _, want := range []string{"Its workers used 1.3 CPU cores at 4,990 records/s.",
		"The host was 25% idle, so it cannot carry twice the load, which would need 150% of it.",
		"Cost of the best configuration", "Twice the load", "- 2: a reason of its own"} {
		assert.Contains(t, string(page), want)
	}
	best, err := os.ReadFile(filepath.Join(o.out, bestFile))
	require.NoError(t, err)
	assert.Contains(t, string(best), "bullet.topology.custom.topology.worker.childopts: -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m\n")
	for _, name := range []string{"search.html", "search.md", "search.json", "figures/optimize-front.svg"} {
		assert.FileExists(t, filepath.Join(o.out, runstore.ReportDir, name))
	}
	assert.FileExists(t, filepath.Join(o.out, runner.SpaceFile))
	out.Reset()
	o.dry = true
	o.show.output = "text"
	require.NoError(t, o.foresee(s, &out))
	assert.Contains(t, out.String(), "stored in "+o.out+": 2 trials")
	assert.NotContains(t, out.String(), "start of the search")

	o.grid, o.show.output = true, "json"
	assert.ErrorContains(t, o.conclude(s, time.Time{}, &out), "34 of 36 configurations of the grid could not be measured")

	_, err = tune(t, "run", "--resume", o.out)
	assert.ErrorContains(t, err, "contains a search; continue it with tune optimize FILE --out "+o.out)
	trial := filepath.Join(o.out, runstore.TrialsDir, "02-filter=2-heap=64-pending=5")
	single, err := runstore.ReadAny(trial)
	require.NoError(t, err, "a trial can be reported like one of any run")
	assert.Equal(t, 2, single.Trials[0].Number)
}

// A search continues in its directory only with the same target, load and launch.
func TestASearchIsNotMixedWithAnother(t *testing.T) {
	path, out, _ := commanded(t, "exit 3")
	_, err := tune(t, "optimize", path, "--out", out)
	require.ErrorContains(t, err, "3 trials in a row")
	text := strings.Replace(textOf(t, path), "queries: 800", "queries: 799", 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	for _, more := range []string{"--dry-run", "--grid"} {
		_, err = tune(t, "optimize", path, "--out", out, more)
		assert.ErrorContains(t, err, "has trials with another target, load or launch")
	}
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(out), "file"), nil, 0o644))
	_, err = tune(t, "optimize", path, "--out", filepath.Dir(out))
	assert.ErrorContains(t, err, "the directory is not empty")
}

// commanded is the small search with its topologies launched by a command, in a directory of the test's. It returns the
// file, the run directory, and the file with the names of ended topologies.
func commanded(t *testing.T, submit string) (path, out, ended string) {
	t.Helper()
	dir := t.TempDir()
	ended = filepath.Join(dir, "ended")
	conf, err := filepath.Abs("../../../topology/bullet-topology/conf/bullet_settings.yaml")
	require.NoError(t, err)
	before, after, found := strings.Cut(textOf(t, small), "  local: {workers: 1, worker_heap: 512MiB}\n")
	require.True(t, found)
	text := before + fmt.Sprintf(
		"  command: {submit: [sh, -c, %q, \"{name}\"], kill: [sh, -c, 'echo $0 >> %s', \"{name}\"], collector: '127.0.0.1:1', gateway: '127.0.0.1:1', workers: 2}\n",
		submit, ended) + after
	text = strings.Replace(text, "../bullet-topology/conf/bullet_settings.yaml", conf, 1)
	path = filepath.Join(dir, "search.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path, filepath.Join(dir, "out"), ended
}

func TestASearchThatCanMeasureNothingEnds(t *testing.T) {
	path, out, ended := commanded(t, "echo no slot; exit 3")
	for launch := 1; launch <= 2; launch++ {
		written, err := tune(t, "optimize", path, "--out", out)
		assert.ErrorContains(t, err, "3 trials in a row could not be measured")
		assert.ErrorContains(t, err, "no slot")
		assert.Equal(t, exitFailed, code(err))
		assert.Empty(t, written)
		run, err := runstore.Read(out)
		require.NoError(t, err)
		require.Len(t, run.Trials, 3, "which are run again")
		assert.Equal(t, launch, run.Trials[2].Launches)
	}
	assert.Equal(t, 6, strings.Count(textOf(t, ended), "optimize-small-0"),
		"each topology is ended, whether it came up or not")
}

// Ctrl-C ends the topology that is being launched, and leaves a directory that can be continued.
func TestCtrlCEndsASearchInOrder(t *testing.T) {
	path, out, ended := commanded(t, "kill -INT $PPID; exec sleep 60")
	_, err := tune(t, "optimize", path, "--out", out)
	assert.Equal(t, exitInterrupted, code(err))
	assert.Equal(t, "optimize-small-01\n", textOf(t, ended))
	run, err := runstore.Read(out)
	require.NoError(t, err)
	require.Len(t, run.Trials, 1)
	assert.Equal(t, runstore.Underway, run.Trials[0].State)
	assert.Equal(t, runstore.RunInterrupted, run.Events[len(run.Events)-1].Kind)
	assert.True(t, run.Plan.EndEarly)
	assert.Contains(t, run.Trials[0].Settings, runstore.Entry{Key: "bullet.topology.custom.topology.worker.childopts",
		Value: "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"})
	assert.Equal(t, textOf(t, path), string(run.Experiment))
}

// The plan of a search has the one configuration of the file, at the target.
func TestASearchIsPlanned(t *testing.T) {
	out, err := tune(t, "plan", small, "--runs", t.TempDir())
	require.NoError(t, err)
	assert.Contains(t, out, "queries: 800")
	assert.Contains(t, out, "tune optimize chooses its trials from 36 configurations")
}
