package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// After a SIGKILL the very first answers have what had been acknowledged, and the alerts that were active. The copy of
// a running collector's directory is what a kill leaves: nothing is closed, and all since the last checkpoint is in the
// journal alone.
func TestTheFirstAnswersAfterAKillAreWhole(t *testing.T) {
	c := settings(filepath.Join(t.TempDir(), "data"))
	rules := filepath.Join(t.TempDir(), "own.yml")
	require.NoError(t, os.WriteFile(rules,
		[]byte("groups: [{name: own, interval: 1m, rules: [{alert: Seen, expr: 'last_over_time(bullet_worker_cpu_seconds_total[1h]) > 0'}]}]"),
		0o644))
	c.Rules.Files = []string{rules}
	end := time.Now().Add(-20 * time.Second).Truncate(10 * time.Second)
	first := startCollector(t, c)
	first.send(minute(1, end))
	query := fmt.Sprintf("bullet_worker_cpu_seconds_total[50s] @ %d", end.Add(-15*time.Second).Unix())
	var before string
	require.Eventually(t, func() bool { before = first.ask(query); return before != "[]" }, 30*time.Second,
		50*time.Millisecond)

	killed := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.CopyFS(killed, os.DirFS(c.DataDir)))
	first.close()
	c.DataDir = killed
	second := startCollector(t, c)
	alerts := second.body("/api/v1/alerts")
	assert.Equal(t, before, second.ask(query))
	assert.Contains(t, alerts, `"alertname":"BulletMetricsWatchdog"`)
	assert.Contains(t, alerts, `"alertname":"Seen"`)
	assert.Contains(t, second.body("/api/v1/topologies"), `"name":"t"`)
}
