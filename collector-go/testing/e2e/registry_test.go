//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

// settingOf are the settings that say how many executors a component has.
var settingOf = map[string]string{
	"DataSource": "bullet.topology.bullet.spout.parallelism",
	"QuerySpout": "bullet.topology.query.spout.parallelism",
	"FilterBolt": "bullet.topology.filter.bolt.parallelism",
	"JoinBolt":   "bullet.topology.join.bolt.parallelism",
	"ResultBolt": "bullet.topology.result.bolt.parallelism",
	"LoopBolt":   "bullet.topology.loop.bolt.parallelism",
	"__acker":    "bullet.topology.custom.topology.acker.executors",
}

// topologyIsKnown compares what the collector reports with what was submitted, and with the processes that the machine
// has.
func topologyIsKnown(t *testing.T, b *bench) {
	var known measure.Topology
	b.await(t, "every task to be placed", func(ctx context.Context) bool {
		var err error
		known, err = b.collector.Topology(ctx, topology)
		return err == nil && len(known.Components) > 0 && len(known.Unplaced) == 0
	})
	assert.True(t, known.Alive)
	assert.True(t, strings.HasPrefix(known.ID, topology+"-"), known.ID)
	assert.Regexp(t, `^2\.8\.`, known.Versions.Storm)
	for _, version := range []string{known.Versions.Bullet, known.Versions.Java, known.Versions.Plugin} {
		assert.NotEmpty(t, version)
	}
	assert.Equal(t, strconv.Itoa(workers), known.Settings["topology.workers"])
	assert.Contains(t, known.Settings["topology.worker.childopts"], "-XX:+UseG1GC")

	submitted := settings(t, b)
	for component, setting := range settingOf {
		i := slices.IndexFunc(known.Components, func(c measure.KnownComponent) bool { return c.Name == component })
		if assert.GreaterOrEqual(t, i, 0, component) {
			assert.Equal(t, submitted[setting], strconv.Itoa(known.Components[i].Parallelism), component)
		}
	}
	assertPlacedOnce(t, known)
	assertPids(t, b, known)
}

func settings(t *testing.T, b *bench) map[string]string {
	entries, err := measure.Settings(filepath.Clean(b.options.BulletConf), nil)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		all[e.Key] = e.Value
	}
	return all
}

// assertPlacedOnce finds every task of every component in one worker, and no others there.
func assertPlacedOnce(t *testing.T, known measure.Topology) {
	t.Helper()
	var reported, placed []string
	for _, c := range known.Components {
		for _, task := range c.Tasks {
			if task >= 0 { // Storm's system bolt is in every worker
				reported = append(reported, fmt.Sprintf("%s %d", c.Name, task))
			}
		}
	}
	for _, w := range known.Workers {
		for _, c := range w.Components {
			for _, task := range c.Tasks {
				placed = append(placed, fmt.Sprintf("%s %d", c.Component, task))
			}
		}
	}
	assert.NotEmpty(t, reported)
	assert.ElementsMatch(t, reported, placed)
}

// assertPids compares the workers with the processes that the launcher sees.
func assertPids(t *testing.T, b *bench, known measure.Topology) {
	t.Helper()
	processes, err := b.Workers(t.Context())
	require.NoError(t, err)
	want, got := map[int]int{}, map[int]int{}
	for _, p := range processes {
		want[p.Port] = p.Pid
	}
	for _, w := range known.Workers {
		got[w.Port] = w.Pid
		assert.True(t, w.Alive, w.Worker)
	}
	assert.Len(t, known.Workers, workers)
	assert.Equal(t, want, got)
}

// workerKilled kills the worker that the metrics consumer runs in: it comes back at its place as another process, and
// that is reported.
func workerKilled(t *testing.T, b *bench) {
	before, err := b.collector.Topology(t.Context(), topology)
	require.NoError(t, err)
	restartsBefore := b.restarts(t)
	i := slices.IndexFunc(before.Workers, func(w measure.KnownWorker) bool {
		return slices.ContainsFunc(w.Components, func(c measure.ComponentTasks) bool {
			return strings.HasPrefix(c.Component, "__metrics")
		})
	})
	require.GreaterOrEqual(t, i, 0, "%+v", before.Workers)
	victim := before.Workers[i]
	page := b.watchPage(t, "worker-killed")
	page.awaitLine(t, `^`, b.started)
	b.workerKilledAt = time.Now()
	require.NoError(t, syscall.Kill(victim.Pid, syscall.SIGKILL))
	t.Logf("worker %s, pid %d, killed", victim.Worker, victim.Pid)
	page.awaitLine(t, `No samples from `, b.workerKilledAt)
	var after measure.Topology
	b.await(t, "the worker's new process", func(ctx context.Context) bool {
		after, err = b.collector.Topology(ctx, topology)
		return err == nil && slices.ContainsFunc(after.Workers, func(w measure.KnownWorker) bool {
			return w.Worker == victim.Worker && w.Pid != victim.Pid
		})
	})
	t.Logf("reported after %s", time.Since(b.workerKilledAt).Round(time.Second))
	assertPids(t, b, after)
	assertPlacedOnce(t, after)
	i = slices.IndexFunc(after.Workers, func(w measure.KnownWorker) bool { return w.Worker == victim.Worker })
	assert.Equal(t, 1, after.Workers[i].Restarts)

	restarts, err := b.collector.AnnotationsTagged(t.Context(), topology, "restart")
	require.NoError(t, err)
	require.Len(t, restarts, 1)
	assert.Equal(t, "Worker "+victim.Worker+" restarted", restarts[0].Title)
	assert.Contains(t, restarts[0].Text, fmt.Sprintf("- pid %d, ", victim.Pid))
	assert.Contains(t, restarts[0].Text, fmt.Sprintf("+ pid %d, ", after.Workers[i].Pid))
	assert.WithinRange(t, time.UnixMilli(restarts[0].StartMs), b.workerKilledAt.Add(-time.Second), time.Now())
	b.assertKilledOnce(t, victim.Worker, restartsBefore)
	restarted := b.awaitAlertOf(t, restartedAlert, topology, victim.Worker, b.workerKilledAt)
	t.Logf("%s notified %.0f s after the kill", restartedAlert, restarted.Heard.Sub(b.workerKilledAt).Seconds())
	b.assertMissedOnlyIfAway(t, victim.Worker)
	submitted, err := b.collector.AnnotationsTagged(t.Context(), topology, "submitted")
	require.NoError(t, err)
	assert.Len(t, submitted, 1)
}
