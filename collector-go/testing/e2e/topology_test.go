//go:build e2e

package e2e

import "testing"

// One stack serves all tests of a running topology: bringing it up takes longer than most of them. The collector is
// killed first, so that all that follows is measured by a collector that has recovered; a worker late, since it loses
// what it held; the alerts come last, with a topology of their own. None states how fast this machine is: others may
// have most of it.
func TestRunningTopology(t *testing.T) {
	b := startBench(t)
	t.Run("collector killed", func(t *testing.T) { collectorKilled(t, b) })
	t.Run("collector killed again and again", func(t *testing.T) { collectorKilledAgain(t, b) })
	t.Run("topology is known", func(t *testing.T) { topologyIsKnown(t, b) })
	var watched *watchedCPU
	t.Run("measured", func(t *testing.T) {
		watched = b.watchCPU(t)
		t.Run("at once", func(t *testing.T) {
			t.Run("active queries", func(t *testing.T) { t.Parallel(); activeQueries(t, b) })
			t.Run("latencies of records", func(t *testing.T) { t.Parallel(); recordLatencies(t, b) })
		})
		watched.end(t, b)
	})
	t.Run("latencies of queries", func(t *testing.T) { queryLatencies(t, b) })
	t.Run("canary", func(t *testing.T) { canaryFlies(t, b) })
	t.Run("worker killed", func(t *testing.T) { workerKilled(t, b) })
	t.Run("filter slowed", func(t *testing.T) { slowFilterWakesSomebody(t, b) })
	t.Run("worker away, then rebalanced", func(t *testing.T) { workerAwayThenRebalanced(t, b) })
	t.Run("topologies killed", func(t *testing.T) { killedTopologiesWakeWhomTheyShould(t, b) })
	b.stop(t)
	t.Run("measured CPU is the processes' own", func(t *testing.T) { cpuIsTheProcess(t, b, watched) })
	t.Run("journal has every sample", func(t *testing.T) { journalHasEverySample(t, b) })
}
