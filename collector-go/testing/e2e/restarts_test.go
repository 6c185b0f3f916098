//go:build e2e

package e2e

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// collectorKilledAgain kills the collector as often as make chaos orders, while the topology runs: what was answered
// before each kill is answered after it, no exception leaves the plugin, and the topology reads records meanwhile.
func collectorKilledAgain(t *testing.T, b *bench) {
	ordered := os.Getenv("BULLET_METRICS_CHAOS_RESTARTS")
	if ordered == "" {
		t.Skip("make chaos orders it")
	}
	kills, err := strconv.Atoi(ordered)
	require.NoError(t, err)
	began := time.Now()
	for range kills {
		collectorKilled(t, b)
	}
	b.assertNothingLeftThePlugin(t)
	rate, half, slices := b.recordsPerSecond(t, began, time.Now())
	t.Logf("measured: %d kills of the collector in %.0f s: %.1f records/s +- %.1f (95%% of %d slices), ordered %d",
		kills, time.Since(began).Seconds(), rate, half, slices, recordRate)
	assert.Greater(t, rate, 0.0)
}

// assertNothingLeftThePlugin reads what the workers logged: no thread of Storm's died, and no stack of the plugin's was
// printed.
func (b *bench) assertNothingLeftThePlugin(t *testing.T) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(b.options.Dir, "storm", "logs", "workers-artifacts", "*", "*",
		"worker.log"))
	require.NoError(t, err)
	require.Len(t, logs, workers)
	for _, path := range logs {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "Async loop died")
		for line := range strings.Lines(string(text)) {
			assert.False(t, strings.HasPrefix(strings.TrimSpace(line), "at io.github.bulletmetrics."),
				"%s: %s", path, line)
		}
	}
}

// recordsPerSecond is how many records the sources read a second in the slices of a time: the mean, half of its 95%
// interval, and of how many slices.
func (b *bench) recordsPerSecond(t *testing.T, from, to time.Time) (mean, half float64, slices int) {
	t.Helper()
	series, err := b.slices(t.Context(), "bullet_source_records_total", "", from, to)
	require.NoError(t, err)
	added := map[int64]float64{}
	for _, s := range series {
		for i := 1; i < len(s.Slices.TimesMs); i++ {
			if s.Slices.TimesMs[i]-s.Slices.TimesMs[i-1] == sliceWidth.Milliseconds() {
				added[s.Slices.TimesMs[i]] += float64(s.Slices.Values[i]-s.Slices.Values[i-1]) / sliceWidth.Seconds()
			}
		}
	}
	require.Greater(t, len(added), 2)
	sum, squares := 0.0, 0.0
	for _, rate := range added {
		sum, squares = sum+rate, squares+rate*rate
	}
	n := float64(len(added))
	mean = sum / n
	return mean, 1.96 * math.Sqrt(max(0, squares/n-mean*mean)/(n-1)), len(added)
}
