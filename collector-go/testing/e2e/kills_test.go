//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

const restartedAlert = "BulletWorkerRestarted"

// missedFor is how long the rules miss a worker before somebody is notified, in a quarter of the time: the alert's own
// for.
const missedFor = 15 * time.Second

// assertMissedOnlyIfAway finds nobody woken about a worker that was killed and is back, unless the rules did not see
// its heap for as long as that takes.
func (b *bench) assertMissedOnlyIfAway(t *testing.T, worker string) {
	t.Helper()
	seen, err := b.collector.Slices(t.Context(),
		fmt.Sprintf(`topology_worker:bullet_worker_heap_used_bytes:present2m{topology=%q,worker=%q}`, topology, worker),
		b.started, time.Now())
	require.NoError(t, err)
	require.Len(t, seen, 1)
	rules, samples := longestBetween(seen[0].Slices.TimesMs),
		longestBetween(b.ofWorkers(t, "bullet_worker_heap_used_bytes", b.started, time.Now())[worker].TimesMs)
	blind := append(b.notificationsOf(blindAlert, topology, worker, "firing", b.workerKilledAt),
		b.notificationsOf(blindAlert, topology, "", "firing", b.workerKilledAt)...)
	if rules < missedFor {
		assert.Empty(t, blind, "the rules missed it for %s", rules)
	}
	t.Logf("samples were away for %s, and missed by the rules for %s; %d alerts said so", samples, rules, len(blind))
}

// longestBetween is the longest time between two of some times in order.
func longestBetween(timesMs []int64) (longest time.Duration) {
	for i := 1; i < len(timesMs); i++ {
		longest = max(longest, time.Duration(timesMs[i]-timesMs[i-1])*time.Millisecond)
	}
	return longest
}

// consumerOf reports whether the metrics consumer runs in a worker.
func consumerOf(w measure.KnownWorker) bool {
	return slices.ContainsFunc(w.Components, func(c measure.ComponentTasks) bool {
		return strings.HasPrefix(c.Component, "__metrics")
	})
}

// A worker is killed while the Supervisor cannot start it again: somebody is notified which one is missing. Then the
// topology is rebalanced to one worker, so that the tasks of both are elsewhere or together: nobody misses a worker
// that Storm took away, and nobody is notified that the latency is well, since the worker that is left is as slow as
// the two were.
func workerAwayThenRebalanced(t *testing.T, b *bench) {
	if !playLong() {
		t.Skip("make test-all and make chaos play it")
	}
	b.slowFilters(t)
	b.await(t, "the end of earlier alerts", func(context.Context) bool { return !b.firing(t, blindAlert) })
	before, err := b.collector.Topology(t.Context(), topology)
	require.NoError(t, err)
	require.Len(t, before.Workers, workers)
	i := slices.IndexFunc(before.Workers, func(w measure.KnownWorker) bool { return !consumerOf(w) })
	require.GreaterOrEqual(t, i, 0, "%+v", before.Workers)
	victim, supervisor := before.Workers[i], b.Pids()["supervisor"]
	require.NotZero(t, supervisor)

	require.NoError(t, syscall.Kill(supervisor, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(supervisor, syscall.SIGCONT) }()
	killed := time.Now()
	require.NoError(t, syscall.Kill(victim.Pid, syscall.SIGKILL))
	notified := b.awaitAlertOf(t, blindAlert, topology, victim.Worker, killed)
	t.Logf("%s notified %.0f s after the kill: %s", blindAlert, notified.Heard.Sub(killed).Seconds(),
		notified.Annotations["summary"])
	assert.Contains(t, notified.Annotations["summary"], victim.Worker)
	assert.Empty(t, b.notificationsOf(blindAlert, topology, "", "firing", killed), "the other worker reports")

	rebalanced := time.Now()
	require.NoError(t, b.Rebalance(t.Context(), topology, 1))
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGCONT))
	var after measure.Topology
	b.await(t, "all tasks in one worker", func(ctx context.Context) bool {
		after, err = b.collector.Topology(ctx, topology)
		return err == nil && len(after.Workers) == 1 && len(after.Unplaced) == 0 && after.Condition.State == "running"
	})
	t.Logf("all tasks are in %s %.0f s after the rebalance", after.Workers[0].Worker, time.Since(rebalanced).Seconds())
	i = slices.IndexFunc(before.Workers, func(w measure.KnownWorker) bool {
		return w.Worker != after.Workers[0].Worker
	})
	left := before.Workers[i].Worker
	b.awaitMissing(t, fmt.Sprintf(`topology_worker:bullet_worker_heap_used_bytes:present2m{topology=%q,worker=%q}`,
		topology, left))
	for _, metric := range []string{"bullet_filter_latency_mean_seconds", "bullet_filter_latency_seconds"} {
		b.await(t, metric+" of the worker that left to have nothing to do with the alert",
			func(ctx context.Context) bool {
				raised, err := b.collector.Calculate(ctx,
					fmt.Sprintf(`last_over_time(topology_worker:%s:raised{topology=%q,worker=%q}[1h])`, metric,
						topology, left), time.Now())
				return err == nil && float64(raised) == 0
			})
	}
	b.await(t, "the end of "+blindAlert, func(context.Context) bool { return !b.firing(t, blindAlert) })
	assert.Empty(t, b.notificationsOf(blindAlert, topology, left, "firing", rebalanced), "it left")
	for _, name := range latencyAlerts {
		assert.True(t, b.firing(t, name), name)
		assert.Empty(t, b.resolvedSince(name, killed), "%s ended though the filters were as slow in all workers", name)
	}
	t.Logf("%.0f s in all", time.Since(killed).Seconds())
}

// resolvedSince are the notifications after a time that an alert of the topology ended.
func (b *bench) resolvedSince(name string, since time.Time) (ends []time.Time) {
	for _, a := range b.manager.Notifications() {
		if a.Name() == name && a.Status == "resolved" && a.Labels["topology"] == topology && a.Heard.After(since) {
			ends = append(ends, a.EndsAt)
		}
	}
	return ends
}

// awaitMissing waits until the rules have not had a recorded series, which they had before, for longer than an alert
// about that takes to fire.
func (b *bench) awaitMissing(t *testing.T, series string) {
	t.Helper()
	b.await(t, "the rules to miss "+series, func(ctx context.Context) bool {
		now := time.Now().Add(-ruleOffset(b.options) - 2*ruleInterval)
		for _, at := range []time.Time{now, now.Add(-missedFor - 2*ruleInterval)} {
			missing, err := b.collector.Calculate(ctx, fmt.Sprintf(`count(last_over_time(%s[1h]) unless %[1]s)`,
				series), at)
			if err != nil || float64(missing) != 1 { // NaN where it is there
				return false
			}
		}
		return true
	})
}

// playLong states that make test-long, make test-all or make chaos plays.
func playLong() bool { return os.Getenv("BULLET_METRICS_LONG") != "" }

// Three topologies are killed, one of them where make bench-alerts measures. Of the first nobody says so but its
// consumer, as it is closed: somebody is notified that nothing is known of it, and nobody that its latency is well;
// that ends after its time. Of the second an annotation says so, of the third Nimbus: nobody is woken.
func killedTopologiesWakeWhomTheyShould(t *testing.T, b *bench) {
	if !playLong() && !inFullTime() {
		t.Skip("make test-all and make chaos play it")
	}
	const annotated, known = topology + "-annotated", topology + "-known"
	b.slowFilters(t)
	b.await(t, "the end of earlier alerts", func(context.Context) bool { return !b.firing(t, blindAlert) })
	silenced := time.Now()
	require.NoError(t, b.Kill(t.Context(), topology))
	for _, name := range []string{annotated, known} {
		if !playLong() {
			break
		}
		require.NoError(t, b.SubmitAs(t.Context(), name, []string{"bullet.topology.custom.topology.workers=1"}))
	}
	blind := b.awaitAlert(t, blindAlert, silenced)
	t.Logf("%s notified %s after the samples' end", blindAlert, blind.Heard.Sub(silenced).Round(time.Second))
	assert.Contains(t, blind.Annotations["description"], "Storm stopped the metrics consumer")
	b.assertCondition(t, topology, "stopped", "consumer")
	b.assertLatencyStands(t, silenced)
	if !playLong() {
		return
	}

	for _, name := range []string{annotated, known} {
		b.await(t, name+" to report", func(ctx context.Context) bool {
			present, err := b.collector.Calculate(ctx, fmt.Sprintf(`topology:bullet_workers:count{topology=%q}`, name),
				time.Now().Add(-ruleOffset(b.options)))
			return err == nil && float64(present) == 1
		})
	}
	require.NoError(t, b.collector.Annotate(t.Context(), measure.Killed(annotated, time.Now())))
	require.NoError(t, b.Kill(t.Context(), annotated))
	b.nimbus.open(t, b.Nimbus())
	b.await(t, "the collector to ask Nimbus", func(context.Context) bool { return b.nimbus.answered.Load() > 0 })
	require.NoError(t, b.Kill(t.Context(), known))
	for name, by := range map[string]string{annotated: "api", known: "nimbus"} {
		b.awaitMissing(t, fmt.Sprintf(`topology:bullet_workers:count{topology=%q}`, name))
		b.assertCondition(t, name, "killed", by)
		for _, a := range b.manager.Notifications() {
			assert.False(t, a.Name() == blindAlert && a.Labels["topology"] == name, "%s was notified for %v",
				blindAlert, a.Labels)
		}
	}
	b.await(t, "the end of "+blindAlert+" in its time", func(context.Context) bool { return !b.firing(t, blindAlert) })
	t.Logf("it ended %.0f s after the kill", time.Since(silenced).Seconds())
	b.assertCondition(t, topology, "stopped", "consumer")
}

func (b *bench) assertCondition(t *testing.T, topology, state, by string) {
	t.Helper()
	found, err := b.collector.Topology(t.Context(), topology)
	require.NoError(t, err)
	assert.Equal(t, []string{state, by}, []string{found.Condition.State, found.Condition.By}, topology)
}
