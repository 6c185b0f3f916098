package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/searchrunner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// small is the search that ships for two cores.
const small = "../../../topology/experiments/optimize-small.yaml"

// smallSearch is the small search as the command reads it, with its trials in a directory of the test's.
func smallSearch(t *testing.T) (*optimizeOptions, *optimization) {
	t.Helper()
	o := &optimizeOptions{out: t.TempDir(), show: presentation{output: "json"}}
	s, err := o.read(small)
	require.NoError(t, err)
	return o, s
}

func TestTheSmallSearchIsForeseen(t *testing.T) {
	dir := t.TempDir()
	args := []string{"optimize", small, "--dry-run", "--out", dir}
	out, err := tune(t, args...)
	require.NoError(t, err)
	for _, want := range []string{"small: 36 configurations may be tried",
		"first: filter=1 heap=64 pending=5 (the space's start)", "then: filter=1 heap=1024 pending=50",
		"at most 45m0s"} {
		assert.Contains(t, out, want)
	}
	var f foreseen
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
	assert.Equal(t, filepath.Join(searchesDir, "small-grid"), (&optimizeOptions{grid: true}).directory(s.onCluster))
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

// refusing is a launcher on which no topology comes up.
type refusing struct {
	names []string
	ended int
}

func (r *refusing) Launch(_ context.Context, _ runstore.PlannedTrial, name string) (*runner.Launched, error) {
	r.names = append(r.names, name)
	return nil, errors.New("no slot is free")
}
func (r *refusing) End(context.Context, string, bool) error { r.ended++; return nil }
func (r *refusing) Stop(<-chan struct{}) error              { return nil }

// A trial is a run's directory; one that was not measured is gone on with there, and one that was is not launched
// again.
func TestATrialOfASearchIsARun(t *testing.T) {
	_, s := smallSearch(t)
	launcher, dir := &refusing{}, t.TempDir()
	e := &trialEngine{engine: engine{say: &terminal{name: "test", out: io.Discard}}, search: s.onCluster, dir: dir,
		launcher: launcher}
	order := searchrunner.Order{Number: 3, Point: optimize.Point{1, 1, 2}, Label: "filter=2 heap=256 pending=50",
		Dir: filepath.Join(dir, "trials", "03")}
	for launch := 1; launch <= 2; launch++ {
		_, err := e.Play(t.Context(), order)
		assert.ErrorContains(t, err, "no slot is free")
		assert.Len(t, launcher.names, launch)
	}
	assert.Equal(t, []string{"optimize-small-003-01", "optimize-small-003-01-launch2"}, launcher.names)
	assert.Equal(t, 2, launcher.ended)
	run, err := runstore.Read(order.Dir)
	require.NoError(t, err)
	assert.True(t, run.Plan.EndEarly)
	assert.Equal(t, s.onCluster.Text, run.Experiment)
	assert.Contains(t, run.Trials[0].Settings, runstore.Entry{Key: "bullet.topology.custom.topology.worker.childopts",
		Value: "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m"})

	w, err := runstore.Open(order.Dir)
	require.NoError(t, err)
	require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialStarted, Trial: 1, Launch: 3}))
	require.NoError(t, w.BeginTrial(run.Plan.Trials[0], nil, runstore.Arguments{}))
	unknown := tuning.Unknown
	require.NoError(t, w.FinishStep(run.Plan.Trials[0], runstore.Step{Number: 1, Attempt: 1, Launch: 3, Value: 800,
		Verdict: tuning.OK, CatchUpRatio: unknown}, 1))
	require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialFinished, Trial: 1}))
	require.NoError(t, w.SaveResult(runstore.Result{Verdict: tuning.OK}))
	require.NoError(t, w.Close())
	outcome, err := e.Play(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, tuning.OK, outcome.Verdict)
	assert.Len(t, launcher.names, 2)
}

func decoded(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// What trials came to is shown, and kept beside them.
func TestTheResultOfTrialsIsKept(t *testing.T) {
	o, s := smallSearch(t)
	from := `{"number": N, "attempt": 1, "why": "a reason of its own", "settings": {"filter": "F", "heap": "64", "pending": "5"}, "outcome": {"verdict": "V", "latency_ms": L, "completeness": 1, "catch_up": null, "noise": 0.1, "reasons": [], "cpu_cores": 1.25, "host_idle": 0.25, "records_per_second": 4990, "seconds": 100}}`
	for n, with := range map[string][]string{"1": {"1", "FAIL", "900"}, "2": {"2", "OK", "20"}} {
		dir := filepath.Join(o.out, searchrunner.TrialsDir, n)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		text := strings.NewReplacer("N", n, `"F"`, `"`+with[0]+`"`, `"V"`, `"`+with[1]+`"`, "L,",
			with[2]+",").Replace(from)
		require.NoError(t, os.WriteFile(filepath.Join(dir, searchrunner.KeptFile), []byte(text), 0o644))
	}
	runner, err := searchrunner.NewRunner(s.onCluster, o.out, nil, nil)
	require.NoError(t, err)
	require.Len(t, runner.Finished(), 2)
	var out strings.Builder
	err = o.conclude(s, runner, &out)
	assert.ErrorContains(t, err, "the best so far is not proven")
	assert.Equal(t, exitFailed, code(err))
	assert.Contains(t, out.String(), `"bullet.topology.filter.bolt.parallelism": 2`)
	assert.Equal(t, 1.25, at(t, decoded(t, out.String()), "used", "cpu_cores"))
	page, err := os.ReadFile(filepath.Join(o.out, runstore.ReportDir, "report.md"))
	require.NoError(t, err)
	for _, want := range []string{"Its workers took 1.3 cores at 4,990 records/s.",
		"25% of the host was idle: twice the load has no room on it, which would be 150% busy.",
		"Resources, and what they cost", "For twice the load", "- 2: a reason of its own"} {
		assert.Contains(t, string(page), want)
	}
	best, err := os.ReadFile(filepath.Join(o.out, bestFile))
	require.NoError(t, err)
	assert.Contains(t, string(best), "bullet.topology.custom.topology.worker.childopts: -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m\n")
	for _, name := range []string{"report.html", "report.md", "report.json", "figures/optimize-front.svg"} {
		assert.FileExists(t, filepath.Join(o.out, runstore.ReportDir, name))
	}
	out.Reset()
	o.dry = true
	o.show.output = "text"
	require.NoError(t, o.foresee(s, &out))
	assert.Contains(t, out.String(), "2 trials kept in "+o.out)
	assert.NotContains(t, out.String(), "the space's start")

	o.grid, o.show.output = true, "json"
	assert.ErrorContains(t, o.conclude(s, runner, &out), "34 of 36 configurations of the grid are left")
}

// commanded is the small search with its topologies launched by a command, in a directory of the test's. It gives the
// search's file, where its trials are kept, and where the names of ended topologies are noted.
func commanded(t *testing.T, submit string) (path, out, ended string) {
	t.Helper()
	dir := t.TempDir()
	ended = filepath.Join(dir, "ended")
	conf, err := filepath.Abs("../../../topology/bullet-topology/conf/bullet_settings.yaml")
	require.NoError(t, err)
	trial := textOf(t, "../../../topology/experiments/optimize/trial-small.yaml")
	before, after, found := strings.Cut(trial, "  local: {workers: 1, worker_heap: 512MiB}\n")
	require.True(t, found)
	trial = before + fmt.Sprintf(
		"  command: {submit: [sh, -c, %q, \"{name}\"], kill: [sh, -c, 'echo $0 >> %s', \"{name}\"], collector: '127.0.0.1:1', gateway: '127.0.0.1:1', workers: 2}\n",
		submit, ended) + after
	trial = strings.Replace(trial, "../../bullet-topology/conf/bullet_settings.yaml", conf, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "trial.yaml"), []byte(trial), 0o644))
	path = filepath.Join(dir, "search.yaml")
	require.NoError(t, os.WriteFile(path,
		[]byte(strings.Replace(textOf(t, small), "optimize/trial-small.yaml", "trial.yaml", 1)), 0o644))
	return path, filepath.Join(dir, "out"), ended
}

func TestASearchThatCanMeasureNothingEnds(t *testing.T) {
	path, out, ended := commanded(t, "echo no slot; exit 3")
	for range 2 {
		written, err := tune(t, "optimize", path, "--out", out)
		assert.ErrorContains(t, err, "3 trials in a row could not be measured")
		assert.ErrorContains(t, err, "no slot")
		assert.Equal(t, exitFailed, code(err))
		assert.Empty(t, written)
		kept, err := searchrunner.Load(out)
		require.NoError(t, err)
		require.Len(t, kept, 3, "which are played again")
		assert.Nil(t, kept[2].Outcome)
	}
	assert.Equal(t, 6, strings.Count(textOf(t, ended), "optimize-small-00"),
		"each topology is ended, whether it came up or not")
}

// Ctrl-C ends the topology that is being launched, and leaves a directory to go on with.
func TestCtrlCEndsASearchInOrder(t *testing.T) {
	path, out, ended := commanded(t, "kill -INT $PPID; exec sleep 60")
	_, err := tune(t, "optimize", path, "--out", out)
	assert.Equal(t, exitInterrupted, code(err))
	assert.Equal(t, "optimize-small-001-01\n", textOf(t, ended))
	kept, err := searchrunner.Load(out)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	assert.Nil(t, kept[0].Outcome)
	run, err := runstore.Read(kept[0].Dir)
	require.NoError(t, err)
	assert.Equal(t, runstore.RunInterrupted, run.Events[len(run.Events)-1].Kind)
}
