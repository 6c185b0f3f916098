package slicer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func testHealth(periodMs int64) Health {
	return Health{PeriodMs: periodMs, MaxMetrics: 3, Steady: map[string]bool{"cpu": true, "heap": true,
		"executed": true}, Lazy: map[string]bool{"executed": true},
		Names: HealthNames{Interval: "interval", Seen: "seen",
			Samples: "samples", Missing: "missing", Late: "late", Refused: "refused", Ahead: "ahead",
			AheadLeast: "ahead_least", AheadMost: "ahead_most", Dropped: "dropped",
			WorkerSamples: "all_samples", WorkerMissing: "all_missing", WorkerLate: "all_late",
			WorkerRefused: "all_refused", WorkerRatio: "ratio"}}
}

func withHealth() Options {
	o := DefaultOptions()
	o.Health = testHealth(30_000)
	o.Health.MaxMetrics = len(worldSeries)
	return o
}

// TestCollectionHealthAgreesWithTheTwin checks that collection health changes nothing else, and that its counts equal
// those of a simple implementation: every sample, and the number of intervals that fit between two samples of a steady
// series.
func TestCollectionHealthAgreesWithTheTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		plain, err := New(DefaultOptions())
		require.NoError(t, err)
		s, err := New(withHealth())
		require.NoError(t, err)
		want, got := w.run(t, plain, w.batches), w.run(t, s, w.batches)
		requireNoFalls(t, s.Closed())
		requireOneValueATime(t, s.Closed())

		for series := range got {
			if _, ofData := want[series]; ofData {
				require.Equal(t, want[series], got[series])
				delete(want, series)
			}
		}
		require.Empty(t, want)
		samples, missing := map[string]uint64{}, map[string]uint64{}
		for id, sent := range newTwin(w, DefaultOptions()).byID {
			rule := w.rules[id]
			key := rule.Worker.String() + " " + rule.Series.Name()
			samples[key] += uint64(len(sent))
			for i := 1; i < len(sent) && s.options.Health.Steady[rule.Series.Name()]; i++ {
				missed := math.Floor(float64(sent[i].timeMs-sent[i-1].timeMs)/float64(rule.IntervalMs)+0.5) - 1
				missing[key] += uint64(max(0, missed))
			}
		}
		for _, src := range s.sources {
			for _, m := range src.health.metrics {
				key := src.worker.String() + " " + m.name
				require.Equal(t, samples[key], m.samples, key)
				require.True(t, m.missing >= missing[key] || s.options.Health.Lazy[m.name], "%s misses %d, not %d", key,
					m.missing, missing[key])
				require.LessOrEqual(t, m.missing, missing[key]+60,
					"%s: beside what it misses before its end is marked, of a minute at most", key)
				ls := labels.FromStrings("__name__", "missing", "metric", m.name, "topology", "t", "worker",
					src.worker.String()).String()
				require.LessOrEqual(t, last(t, got[ls]), float64(m.missing))
				require.True(t, len(got[ls]) == 0 || len(got[ls]) > 1 && strings.HasSuffix(got[ls][0], " 0"),
					"%s starts at 0: %v", key, got[ls])
			}
		}
	})
}

// last returns the newest value of a series that is no marker.
func last(t require.TestingT, slices []string) float64 {
	for i := len(slices) - 1; i >= 0; i-- {
		var end int64
		var bits uint64
		_, err := fmt.Sscanf(slices[i], "%d %x", &end, &bits)
		require.NoError(t, err)
		if v := math.Float64frombits(bits); !math.IsNaN(v) {
			return v
		}
	}
	return 0
}
