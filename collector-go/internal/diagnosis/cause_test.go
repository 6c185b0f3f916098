package diagnosis

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Five causes of a slow filter, each as its figures show it, and the sentence that names it.
func TestTheCauseIsNamedWithItsNumbersAndAdvice(t *testing.T) {
	since := noon.Add(-4 * time.Minute)
	latency := level(0.004, 0.310, since.Add(45*time.Second))
	for name, c := range map[string]struct {
		alert        string
		figures      stored
		text, advice string
		figure       string
	}{
		"a slowed filter bolt": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "storm_capacity_ratio": level(0.31, 0.98, since),
			"bullet_source_records_total": level(500, 500, noon),
			"bullet_source_lag_records":   level(0, 7000, since),
		}, "FilterBolt is busy 98% of its time since 11:56 UTC (31% before)", "bullet.topology.filter.bolt.parallelism",
			"busy"},
		"collections, which make the bolt look busy too": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "storm_capacity_ratio": level(0.31, 0.9, since),
			"bullet_worker_gc_seconds_total": level(0.01, 0.42, since),
		}, "Garbage collection takes 42% of the worst worker's time since 11:56 UTC (1% before)", "larger heap", "gc"},
		"a slow source": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "bullet_source_records_total": level(500, 60, since),
			"bullet_source_lag_records": level(0, 7000, since),
			"storm_capacity_ratio":      level(0.31, 0.04, since),
		}, "The source is slow: 60 records/s arrive since 11:56 UTC (500 before), and no component is busy; 7000 wait to be read",
			"the topology itself has time left", "records"},
		"a worker that is lost, whose neighbours are busy": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "storm_capacity_ratio": level(0.31, 0.99, since),
			"present_over_time(bullet_worker_heap_used_bytes": level(4, 3, since),
		}, "A worker is lost: 3 report since 11:56 UTC, 4 did before", "log", "workers"},
		"a collector that was down": {"BulletMetricsCollectorBlind", stored{
			"bullet_metrics_build_info": func(at time.Time) float64 {
				if at.After(noon.Add(-10*time.Minute)) && at.Before(since) {
					return math.NaN()
				}
				return 1
			},
			"bullet_source_records_total": level(500, 1500, since),
		}, "The collector did not run from 11:48 UTC to 11:56 UTC: of that time only what the plugin held is known",
			"its log, the machine", "workers"},
	} {
		t.Run(name, func(t *testing.T) {
			alert := slow
			alert.Name = c.alert
			a, err := Explain(t.Context(), ports(c.figures, alert),
				Question{Alert: c.alert, Now: noon.Add(2 * time.Minute)})
			require.NoError(t, err)
			require.NotNil(t, a.Cause)
			assert.Equal(t, c.text, a.Cause.Text)
			assert.Contains(t, a.Cause.Advice, c.advice)
			assert.Equal(t, c.figure, a.Cause.Figure)
			assert.Contains(t, a.Text(), "Cause: "+c.text+". "+a.Cause.Advice)
		})
	}
}

// A collector that was down is a note beside what moved while it ran, and the cause where nothing else explains an
// alert.
func TestACollectorThatWasDownIsNoCauseOfWhatMovedSince(t *testing.T) {
	away := func(at time.Time) float64 {
		if at.After(noon.Add(-13*time.Minute)) && at.Before(noon.Add(-9*time.Minute)) {
			return math.NaN()
		}
		return 1
	}
	a, err := Explain(t.Context(),
		ports(stored{"bullet_metrics_build_info": away,
			"storm_capacity_ratio": level(0.2, 0.97, noon.Add(-3*time.Minute))}, slow),
		Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Equal(t, "busy", a.Cause.Figure)
	assert.Contains(t, a.Notes[0], "The collector did not run from")
	a, err = Explain(t.Context(), ports(stored{"bullet_metrics_build_info": away}, slow),
		Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Contains(t, a.Cause.Text, "The collector did not run from")
}

// What the limiter's mean says beside a figure that moved is not printed as if both were true.
func TestNothingAtItsLimitIsSaidOnlyWhereNothingMoved(t *testing.T) {
	for name, moves := range map[string]bool{"moved": true, "nothing moved": false} {
		t.Run(name, func(t *testing.T) {
			figures := stored{"storm_capacity_ratio": level(0.3, 0.3, noon)}
			if moves {
				figures = stored{"storm_capacity_ratio": level(0.3, 0.95, noon.Add(-5*time.Minute))}
			}
			p := ports(figures, slow)
			p.Limit = func(context.Context, string, time.Time, time.Time) (string, bool, error) {
				return "nothing was at its limit", false, nil
			}
			a, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon})
			require.NoError(t, err)
			assert.Equal(t, moves, a.Cause != nil)
			assert.Empty(t, a.Limit)
			assert.Equal(t, !moves, len(a.Notes) == 1)
		})
	}
}

func TestFiguresWithoutASampleAreNamed(t *testing.T) {
	a, err := Explain(t.Context(), ports(stored{"storm_capacity_ratio": level(0.3, 0.3, noon)}, slow),
		Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Contains(t, a.Missing, "filter latency, p99")
	assert.NotContains(t, a.Missing, "busy share of the busiest task, by component")
	assert.Contains(t, a.Text(), "Without a sample, so that nothing is known of: records arriving; ")
}
