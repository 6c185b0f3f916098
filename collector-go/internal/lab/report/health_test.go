package report_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
)

func of(v float64) *float64 { return &v }

// whole returns a collection of two workers, of which the second misses the given samples.
func whole(missing uint64) *collection.Collection {
	c := &collection.Collection{Topology: "bullet", Complete: missing == 0,
		Counts:          collection.Counts{Samples: 1200, Missing: missing},
		Dropped:         map[string]uint64{"queue_full": missing, "expired": 0},
		IntervalSeconds: map[string]float64{"bullet_worker_heap_used_bytes": 1, "storm_uptime_seconds": 60}}
	for i, name := range []string{"127.0.0.1:6700", "127.0.0.1:6701"} {
		counts := collection.Counts{Samples: 600, Refused: map[string]uint64{"nonsense": 6}}
		if i == 1 {
			counts.Missing = missing
		}
		c.Workers = append(c.Workers, collection.Worker{Worker: name, SkewSeconds: of(-0.094), Counts: counts,
			IntervalSeenRatio: of(1.5), Metrics: []collection.Metric{
				{Metric: "bullet_worker_heap_used_bytes", IntervalSeconds: of(1), SeenMedianSeconds: of(1.002),
					SeenMaxSeconds: of(1.5), Counts: counts, Silent: missing > 0 && i == 1}}})
	}
	return c
}

func TestTheCollectionIsInEveryReport(t *testing.T) {
	run := synthetic()
	run.Health = whole(0)
	text := markdown(t, run)
	assert.Contains(t, text, "Collection complete: all 1,200 samples of 2 workers arrived.")
	assert.Contains(t, text, "| 127.0.0.1:6700 | 600 | 0 | 0 | 6 nonsense | 1.5 | -0.094 | 0 |")
	assert.NotContains(t, text, "Metrics with missing samples")
	assert.Contains(t, text, "| storm_uptime_seconds | 60 |")
	assert.Contains(t, text,
		"| 127.0.0.1:6701 | bullet_worker_heap_used_bytes | 1 | 1.002 | 1.5 | 600 | 0 | 0 | 6 nonsense |",
		"what was refused")

	run.Health = whole(7)
	r := build(t, run)
	for _, form := range []string{markdown(t, run), page(t, run)} {
		assert.Contains(t, form,
			"Collection with gaps: 7 of 1,207 samples of 2 workers are missing (0.58%); 0 of them came too late; the plugin dropped 7 queue_full.")
		assert.Contains(t, form, "Metrics with missing samples")
		assert.Contains(t, form, "bullet_worker_heap_used_bytes (silent at the end)")
	}
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var decoded struct {
		Collection struct{ Health *collection.Collection }
	}
	require.NoError(t, json.Unmarshal(data, &decoded))
	assert.Equal(t, run.Health, decoded.Collection.Health)
}

// A run whose collector reported no health still has a report.
func TestAReportWithoutTheCollectionsHealth(t *testing.T) {
	text := markdown(t, synthetic())
	assert.Contains(t, text, "worker slices are missing")
	assert.NotContains(t, text, "Collection complete")
}
