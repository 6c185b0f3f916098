//go:build page

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
)

// awayRules fire once the collector has noted that it runs.
const awayRules = `groups:
  - name: away
    interval: 1s
    query_offset: 0s
    rules:
      - alert: BulletMetricsCollectorBlind
        expr: count(bullet_metrics_build_info)
        labels: {severity: critical, topology: was-away}
        annotations: {summary: 'No samples from was-away: its state is unknown'}
`

// wasAway is a collector that ran until nine minutes ago, and again now.
func wasAway(t *testing.T) *running {
	c := settings(t.TempDir())
	c.Embedded.RetentionTime, c.Rules.BuiltIn, c.Rules.Interval = 0, false, time.Second
	keptByRules(t, c, time.Now().Add(-history), time.Now().Add(-9*time.Minute), 1, "__name__", "bullet_metrics_build_info",
		"job", "bullet-metrics", "instance", c.HTTP.Listen)
	rules := filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(rules, []byte(awayRules), 0o644))
	c.Rules.Files = []string{rules}
	r := startCollector(t, c)
	back := healthy("was-away")
	r.sendFrom("host-0", back.name, back.batch(time.Now().Truncate(reading).Add(-9*time.Minute-history), 0,
		int(history/reading)))
	return r
}

// keptByRules keeps a value of a series each 15 s from a time to another, as the rules of a collector did that ran
// then.
func keptByRules(t *testing.T, c config.Config, from, to time.Time, value float64, series ...string) {
	own := rulesengine.OpenResults(filepath.Join(c.DataDir, "rules"), 24*time.Hour, slog.New(slog.DiscardHandler),
		prometheus.NewRegistry())
	app := own.Appender(context.Background())
	for at := from; at.Before(to); at = at.Add(15 * time.Second) {
		_, err := app.Append(0, labels.FromStrings(series...), at.UnixMilli(), value)
		require.NoError(t, err)
	}
	require.NoError(t, app.Commit())
	require.NoError(t, own.Close())
}
