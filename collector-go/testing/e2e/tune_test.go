//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// shortest is an experiment of two steps that are only just steps.
const shortest = `experiment: shortest
title: Two short steps
analysis: concurrency
goals:
  - {figure: filter_latency, statistic: mean, at_most: 10s}
min_host_idle: 0%%
on_fail: bracket
topology:
  conf: %s
  settings:
    topology.builtin.metrics.bucket.size.secs: 5
    topology.v2.metrics.tick.interval.seconds: 5
    bullet.topology.metrics.built.in.emit.interval.mapping: {bullet_active_queries: 5, default: 5}
steps: {values: [0, 5], start_up: 10s, warm_up: 0s, sustain: %s, inconclusive_repeats: 0}
load: {records_per_second: 100, duration: 3s, matching_per_second: 4}
launch:
  local: {workers: 2, worker_heap: 384MiB%s}
  slice_width: 5s
  slice_lateness: 2s
`

// A run that Ctrl-C ends in its second step goes on from there, on the same parts that a user runs.
func TestAnInterruptedTuneRunGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, runs, out := filepath.Join(dir, "shortest.yaml"), filepath.Join(dir, "runs"),
		filepath.Join(dir, "runs", "run")
	conf := filepath.Join(root(t), "topology/bullet-topology/conf/bullet_settings.yaml")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf(shortest, conf, "5s", "")), 0o644))

	first := startCluster(t, runs, "tune", "run", file, "--runs", runs, "--out", out)
	first.awaitLine(t, "trial 1, 0 queries: ")
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, first.end(t))
	first.assertNothingRuns(t)
	half, err := runstore.Read(out)
	require.NoError(t, err)
	require.Nil(t, half.Result)
	require.Len(t, half.Trials[0].Steps, 1)

	second := startCluster(t, runs, "tune", "run", "--resume", out, "--runs", runs)
	code := second.end(t)
	second.assertNothingRuns(t)
	assert.Contains(t, strings.Join(second.seen, "\n"), "resuming with 1 finished steps")
	whole, err := runstore.Read(out)
	require.NoError(t, err)
	require.NotNil(t, whole.Result)
	steps := whole.Trials[0].Steps
	require.Len(t, steps, 2)
	assert.Equal(t, written(t, half.Trials[0].Steps[0]), written(t, steps[0]),
		"it is measured once, and kept with its verdict, whichever this machine deserves")
	assert.Equal(t, whole.Result.ExitCode, code)
	assert.Equal(t, []int{1, 2}, []int{steps[0].Launch, steps[1].Launch})
	assert.NotEmpty(t, steps[1].Verdict)
	assert.Positive(t, steps[1].Clients.Returned)
	assert.Equal(t, 2, steps[1].Workers)
	assert.NotEmpty(t, whole.Manifest.Versions.Storm)
	assert.Contains(t, whole.Manifest.Versions.Java, "version")
	reported, err := whole.Trials[0].ReportedConfig()
	require.NoError(t, err)
	require.NotNil(t, reported)
	assert.Equal(t, []string{"-Xmx384m", "-XX:+UseG1GC"}, []string{reported.HeapFlags, reported.GCFlags})
	assert.InDelta(t, 384<<20, float64(reported.HeapLimitBytes), 1<<20, "the JVM's own account of the heap")
	figures, err := whole.Trials[0].Figures()
	require.NoError(t, err)
	assert.Len(t, figures.Steps, 2)
	page, err := os.ReadFile(filepath.Join(out, runstore.ReportDir, "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "launched again")
}

// The same experiment with records that come through a Kafka broker: what the producer makes is what the topology
// reads.
func TestATuneRunThroughKafka(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, runs, out := filepath.Join(dir, "kafka.yaml"), filepath.Join(dir, "runs"), filepath.Join(dir, "runs", "run")
	conf := filepath.Join(root(t), "topology/bullet-topology/conf/bullet_settings_kafka.yaml")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf(shortest, conf, "30s", ", kafka: {partitions: 2}")),
		0o644))

	run := startCluster(t, runs, "tune", "run", file, "--runs", runs, "--out", out)
	code := run.end(t)
	run.assertNothingRuns(t)
	whole, err := runstore.Read(out)
	require.NoError(t, err, strings.Join(run.seen, "\n"))
	require.NotNil(t, whole.Result)
	assert.Equal(t, whole.Result.ExitCode, code)
	require.Len(t, whole.Trials[0].Steps, 2)
	for _, step := range whole.Trials[0].Steps {
		assert.NotEmpty(t, step.Verdict)
		assert.InEpsilon(t, 100+10*4, float64(step.RecordsPerSecond), 0.1,
			"what was asked for, and 4 records/s for each of ten queries' slots, read through the broker")
	}
	assert.Positive(t, whole.Trials[0].Steps[1].Clients.Returned)
}

// written is a step as its run's directory has it.
func written(t *testing.T, step runstore.Step) string {
	t.Helper()
	text, err := json.Marshal(step)
	require.NoError(t, err)
	return string(text)
}
