//go:build e2e

package e2e

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
)

// elsewhere is an experiment on a cluster that somebody else has brought up. Its submit command runs the topology's
// main class with Storm's client class path, as storm jar does; its kill command asks Nimbus.
const elsewhere = `experiment: elsewhere
title: A cluster that others run
analysis: concurrency
goals:
  - {figure: filter_latency, statistic: mean, at_most: 10s}
on_fail: bracket
topology:
  conf: %[1]s
  settings:
    topology.builtin.metrics.bucket.size.secs: 5
    topology.v2.metrics.tick.interval.seconds: 5
    bullet.topology.metrics.built.in.emit.interval.mapping: {bullet_active_queries: 5, default: 5}
%[2]s
steps: {values: [2], start_up: 10s, warm_up: 5s, sustain: 15s, inconclusive_repeats: 0}
# Few match, so that a query lives for its whole time and both are active whenever the join bolt counts them.
load: {records_per_second: 100, duration: 5s, matching_per_second: 0.4}
launch:
  command:
    submit: [%[3]s, submit, --dir, %[4]s, --jar, %[5]s, --main, io.github.bulletmetrics.topology.BulletTopology, --name, "{name}", --, --bullet-conf, "{conf}", "{settings}"]
    kill: [%[3]s, kill, --dir, %[4]s, --topology, "{name}", --wait-secs, "0"]
    collector: %[6]s
    gateway: http://%[7]s
    workers: 2
    wait: 10m
  slice_width: 5s
  slice_lateness: 2s
`

// An experiment is run on a cluster that is there by its operator's own commands; the run is killed when its first
// topology's workers are up, and goes on without leaving that one on the cluster. Not before: a topology that ends
// while a Supervisor fetches its files may take the Supervisor with it, which on this cluster nobody starts again.
func TestATuneRunOnACluster(t *testing.T) {
	t.Parallel()
	o := stack.DefaultOptions(filepath.Join(t.TempDir(), "cluster"), buildDir(t))
	o.BulletConf = filepath.Join(root(t), o.BulletConf)
	o.GRPCListen, o.HTTPListen, o.GatewayListen = freeAddress(t), freeAddress(t), freeAddress(t)
	o.SliceWidth, o.SliceLateness = 5*time.Second, 2*time.Second
	cluster, err := stack.Enter(t.Context(), o, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Stop(nil)) })
	require.NoError(t, cluster.Start(t.Context()))
	t.Cleanup(func() { logClusterIfFailed(t, o.Dir) })

	runs := t.TempDir()
	file, out := filepath.Join(runs, "elsewhere.yaml"), filepath.Join(runs, "run")
	require.NoError(t, os.WriteFile(file, []byte(experimentOn(o)), 0o644))
	first := startCluster(t, runs, "tune", "run", file, "--runs", runs, "--out", out)
	first.awaitLine(t, "all workers report: 2")
	require.NoError(t, first.cmd.Process.Kill())
	assert.Equal(t, -1, first.end(t))

	second := startCluster(t, runs, "tune", "run", "--resume", out, "--runs", runs)
	second.awaitLine(t, "killing topology elsewhere-01, which an earlier run may have left")
	// for which there is room only where the first gave its slots back
	second.awaitLine(t, "topology elsewhere-01-launch2 submitted after")
	code := second.end(t)
	assert.NotContains(t, strings.Join(second.seen, "\n"), "cannot end the topology")
	workers, err := cluster.Workers(t.Context())
	require.NoError(t, err)
	assert.Empty(t, workers, "the run has ended its topology")
	assertMeasuredOnACluster(t, out, code)
}

// logClusterIfFailed keeps what the cluster and its Supervisor said last of a test that failed.
func logClusterIfFailed(t *testing.T, dir string) {
	if !t.Failed() {
		return
	}
	for _, name := range []string{"logs/local-storm.log", "logs/collector.log", "storm/logs/supervisor.log",
		"storm/logs/nimbus.log"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		t.Logf("%s (%v):\n%s", name, err, text[max(0, len(text)-4000):])
	}
}

// experimentOn is the experiment for a cluster.
func experimentOn(o stack.Options) string {
	var settings []string
	for _, setting := range o.AllSettings() {
		key, value, _ := strings.Cut(setting, "=")
		settings = append(settings, "    "+key+": "+value)
	}
	localStorm := fmt.Sprintf("%s, -XX:TieredStopAtLevel=1, -jar, %s", o.Java,
		filepath.Join(o.BuildDir, "local-storm.jar"))
	return fmt.Sprintf(elsewhere, o.BulletConf, strings.Join(settings, "\n"), localStorm, filepath.Join(o.Dir, "storm"),
		filepath.Join(o.BuildDir, "bullet-topology.jar"), o.HTTPListen, o.GatewayListen)
}

// assertMeasuredOnACluster finds a step that was measured and judged; its verdict is this machine's affair.
func assertMeasuredOnACluster(t *testing.T, out string, code int) {
	t.Helper()
	run, err := runstore.Read(out)
	require.NoError(t, err)
	require.NotNil(t, run.Result)
	require.Len(t, run.Trials[0].Steps, 1)
	step := run.Trials[0].Steps[0]
	assert.NotEmpty(t, step.Verdict)
	assert.Equal(t, run.Result.ExitCode, code)
	assert.Equal(t, 2, step.Launch)
	assert.Equal(t, 2, step.Workers)
	assert.Positive(t, float64(step.RecordsPerSecond))
	assert.Positive(t, step.Clients.Returned)
	assert.Contains(t, fmt.Sprint(*step.Limitation), "worker hosts: not measured")
	page, err := os.ReadFile(filepath.Join(out, runstore.ReportDir, "report.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), report.WorkerHosts)
	assert.Contains(t, string(page), "Idle on tune run's host")
}
