package busy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// storm simulates a task whose execution times scatter around a mean. Storm samples one of twenty tuples, in whole
// milliseconds. The function returns Storm's counts and the true share.
func storm(random *rand.Rand, meanMs, spanSeconds, load float64) (Estimate, float64) {
	e := Estimate{Span: spanSeconds, SampleRate: SampleRate}
	var spent float64
	for i, sampled := 0, 0; spent < load*spanSeconds*1000; i++ {
		if i%20 == 0 {
			sampled = random.IntN(20) // Storm's EvenSampler samples one of each twenty
		}
		took := random.ExpFloat64() * meanMs
		if i%20 == sampled {
			start := random.Float64()
			e.Tuples, e.Seconds = e.Tuples+20, e.Seconds+20*(math.Floor(start+took)-math.Floor(start))/1000
		}
		spent += took
	}
	return e, spent / spanSeconds / 1000
}

// In 1,000 simulated tasks, each known share is within its error of the true share.
func TestSharesHoldTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 1))
	known, wrong := 0, 0
	for range 1000 {
		e, truth := storm(random, math.Exp(random.Float64()*7-1), []float64{15, 60, 300}[random.IntN(3)],
			0.02+0.95*random.Float64())
		share, why := e.Share()
		if why != "" {
			continue
		}
		known++
		require.LessOrEqual(t, share, 1.0)
		if math.Abs(share-truth) > e.within() {
			wrong++
		}
	}
	t.Logf("%d known, %d of them off by more than two standard errors", known, wrong)
	assert.Greater(t, known, 500)
	assert.Less(t, float64(wrong), 0.06*float64(known))
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		e   Estimate
		why string
	}{
		"40 tuples in 15 s": {Estimate{Tuples: 40, Seconds: 15, Span: 15, SampleRate: 0.05},
			"Storm sampled only about 2 of its 40 executed tuples; at least 20 samples are required"},
		"more than the time": {Estimate{Tuples: 1e6, Seconds: 400, Span: 300, SampleRate: 0.05},
			"Storm reported an impossible busy share of 133%"},
		"less than none": {Estimate{Tuples: 1e6, Seconds: -100, Span: 300, SampleRate: 0.05},
			"Storm reported an impossible busy share of -33%"},
		"too large an error": {Estimate{Tuples: 1e6, Seconds: 100, Error: 80, Span: 300, SampleRate: 0.05},
			"the error of its busy share is 28%, above the limit of 20%"},
	} {
		_, why := c.e.Share()
		assert.Equal(t, c.why, why, name)
	}
	share, why := Estimate{Tuples: 1e6, Seconds: 303, Error: 6, Span: 300, SampleRate: 0.05}.Share()
	assert.Empty(t, why)
	assert.InDelta(t, 1, share, 1e-9, "full, within its error")
}
