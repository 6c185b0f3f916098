package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// A worker's CPU is the sum of user and system time. Both parts are also known separately, unless the worker's system
// does not separate them.
func TestCPUIsGatheredTogetherAndApart(t *testing.T) {
	c := &stored{series: map[string][]Series{}}
	c.put(cpuMetric, rising(0.6), "worker", "h:1", "mode", "user")
	c.put(cpuMetric, rising(0.1), "worker", "h:1", "mode", "system")
	c.put(cpuMetric, rising(0.5), "worker", "h:2", "mode", "total")
	from := evidenceStart.Add(10 * time.Minute)
	run := &runstore.Figures{}
	require.NoError(t, gather(t.Context(), c, "bullet", from, from.Add(5*time.Minute), run))
	require.Len(t, run.Workers, 2)
	rise := func(s runstore.Slices) float64 {
		if len(s.Values) == 0 {
			return -1
		}
		return float64(s.Values[len(s.Values)-1]-s.Values[0]) / float64(len(s.Values)-1) / 10
	}
	parts, complete := run.Workers[0], run.Workers[1]
	assert.InDelta(t, 0.7, rise(parts.CPUSeconds), 1e-9)
	assert.InDelta(t, 0.6, rise(parts.CPUUserSeconds), 1e-9)
	assert.InDelta(t, 0.1, rise(parts.CPUSystemSeconds), 1e-9)
	assert.InDelta(t, 0.5, rise(complete.CPUSeconds), 1e-9)
	assert.Empty(t, complete.CPUUserSeconds.Values)
	assert.Empty(t, complete.CPUSystemSeconds.Values)
}
