package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsMissedIsSteady(t *testing.T) {
	steady := Steady()
	for _, name := range []string{"bullet_worker_cpu_seconds_total", "bullet_worker_heap_used_bytes",
		"bullet_worker_gc_seconds_total", "bullet_active_queries",
		"storm_executed_total", "storm_receive_queue_population"} {
		assert.True(t, steady[name], name)
	}
	assert.True(t, Lazy()["storm_executed_total"])
	assert.False(t, Lazy()["bullet_worker_heap_used_bytes"])
	for _, name := range []string{"bullet_filter_latency_mean_seconds", "bullet_query_latency_seconds",
		"storm_connection_sent_messages_total"} {
		assert.False(t, steady[name], name)
	}
	for _, name := range []string{CollectionInterval, CollectionSeen, CollectionSamples, CollectionMissing,
		CollectionLate, CollectionRefused, CollectionDropped, CollectionSkew,
		CollectionWorkerSamples, CollectionWorkerMissing, CollectionWorkerLate, CollectionWorkerRefused,
		CollectionWorkerRatio} {
		assert.False(t, steady[name], name)
		assert.Contains(t, byName, name)
		least, greatest := byName[name].spread()
		assert.Empty(t, least+greatest, "%s has one value a period", name)
	}
}
