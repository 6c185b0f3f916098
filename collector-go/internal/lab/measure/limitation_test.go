package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A worker that fell silent after the time up to which silence may matter limits nothing. One that was silent before
// that time does. If the topology ended with the range, the shares are of the time before that.
func TestSilenceAfterItMayMatterLimitsNothing(t *testing.T) {
	const start, end, hour = 31 * 60, 36 * 60, 3600
	at := func(second int) time.Time { return evidenceStart.Add(time.Duration(second) * time.Second) }
	for name, c := range map[string]struct {
		workers map[string]func(float64) float64
		heard   time.Time
		silent  string
	}{
		"killed after the alert began": {map[string]func(float64) float64{"h:1": each(10, 0, end-60),
			"h:2": each(10, 0, end-70)}, at(end - 120), ""},
		"silent at the end": {map[string]func(float64) float64{"h:1": each(10, 0, end-60),
			"h:2": each(10, 0, end-70)}, at(end), "2 of 2 workers sent no more samples"},
		"one was silent before": {map[string]func(float64) float64{"h:1": each(10, 0, end-60),
			"h:2": each(10, 0, start+30)}, at(end - 120), "1 of 2 workers sent no more samples"},
		"all report": {map[string]func(float64) float64{"h:1": each(10, 0, hour), "h:2": each(10, 0, hour)},
			at(end - 120), ""},
	} {
		t.Run(name, func(t *testing.T) {
			stored := &stored{series: map[string][]Series{}}
			for worker, cpu := range c.workers {
				stored.put(cpuMetric, cpu, "worker", worker, "mode", "total")
			}
			topology := testTopology()
			topology.Workers = []KnownWorker{{}, {}}
			text, found, err := Limitation(t.Context(), stored, topology, stretchAt(31, 0), c.heard)
			require.NoError(t, err)
			assert.Equal(t, c.silent != "", found, text)
			assert.Contains(t, text, c.silent)
			if c.silent == "" {
				assert.NotContains(t, text, "sent no more samples")
			}
		})
	}
}
