package optimize

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestWhatTheBestIsMadeOfHasItsCost(t *testing.T) {
	s := twoSettings(t)
	r, _ := run(t, s, DefaultOptions())
	assert.Equal(t, []Resource{{"x.filter", "filter", "2", 2}, {"x.heap", "heap", "1024", 1.024}}, r.Resources)
	assert.Equal(t, 10.0, r.BaseCost)
	s.Space.Cost = parsed(t, "filter + heap / 1000 + 10")
	r, _ = run(t, s, DefaultOptions())
	assert.False(t, r.Resources[0].Cost.Known(), "which part of a formula is a setting's, nobody knows")
	assert.Zero(t, r.BaseCost)
}

// If the required resources are proportional to the load, twice a value that held is enough for twice the load. Twice a
// value that failed is not enough.
func TestTwiceTheLoadTakesBetweenTwiceWhatFailedAndTwiceWhatHeld(t *testing.T) {
	s := twoSettings(t)
	r, _ := run(t, s, DefaultOptions())
	require.Len(t, r.TwiceTheLoad, 2)
	assert.Equal(t, Requirement{"x.filter", "filter", "2", "1", 2, 4, "8", true}, r.TwiceTheLoad[0])
	assert.Equal(t, Requirement{"x.heap", "heap", "1024", "512", 1024, 2048, "1024", false}, r.TwiceTheLoad[1])

	less := &Simulation{Space: Space{Settings: []Setting{setting("rate", Less, -1, 1, 2, 4, 8),
		setting("mode", Neither, 0, 1)}}, Target: latencyTarget(200), Latency: parsed(t, "60 * rate")}
	r, _ = run(t, less, DefaultOptions())
	assert.Equal(t, []Requirement{{"x.rate", "rate", "2", "4", 2, 1, "1", true}}, r.TwiceTheLoad,
		"a sample rate of 2 held, 4 failed: half of these; what has no order has no double")

	all := twoSettings(t)
	all.Target.LatencyMs = 1e6
	r, _ = run(t, all, DefaultOptions())
	require.Len(t, r.TwiceTheLoad, 2)
	assert.Empty(t, r.TwiceTheLoad[0].Failed)
	assert.False(t, r.TwiceTheLoad[0].Beyond.Known())
	assert.Equal(t, tuning.Figure(2), r.TwiceTheLoad[0].Enough)

	all.Target.LatencyMs = 1e-3
	r, _ = run(t, all, DefaultOptions())
	require.Nil(t, r.Best)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"resources":[],"base_cost":10,"twice_the_load":[]`)
}
