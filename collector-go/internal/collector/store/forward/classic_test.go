package forward

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheBoundsAreHalfStepsFromAMillisecondToAMinute(t *testing.T) {
	require.Len(t, BucketBounds, 34)
	assert.Equal(t, 1.0/1024, BucketBounds[0])
	assert.Equal(t, 64.0, BucketBounds[32])
	assert.True(t, math.IsInf(BucketBounds[33], 1))
	assert.Equal(t, []string{"0.0009765625", "0.0013810679320049755", "0.001953125"}, BucketBoundTexts[:3])
	assert.Equal(t, "+Inf", BucketBoundTexts[33])
	for k := 0; k < 33; k++ {
		assert.InEpsilon(t, math.Pow(2, float64(k-20)/2), BucketBounds[k], 1e-15)
	}
}

// native counts observations like a native histogram.
func native(schema int32, observations []float64) *histogram.Histogram {
	h := &histogram.Histogram{Schema: schema, ZeroThreshold: 0.0005, Count: uint64(len(observations))}
	counts := map[int32]int64{}
	for _, v := range observations {
		if v <= h.ZeroThreshold {
			h.ZeroCount++
			continue
		}
		counts[int32(math.Ceil(math.Log2(v)*math.Ldexp(1, int(schema))))]++
	}
	previous := int64(0)
	for i := int32(-400); i <= 400; i++ {
		h.PositiveBuckets = append(h.PositiveBuckets, counts[i]-previous)
		previous = counts[i]
	}
	h.PositiveSpans = []histogram.Span{{Offset: -400, Length: 801}}
	return h.Compact(0)
}

// For schemas 1 to 4, the counts equal those of the observations.
func TestCountsAreThoseOfTheObservations(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		observations := make([]float64, random.IntN(50))
		for i := range observations {
			observations[i] = math.Exp(random.Float64()*18 - 9) // 0.1 ms to 8000 s
		}
		h := native(int32(1+random.IntN(4)), observations)
		require.NoError(t, h.Validate())
		counts := BucketCounts(nil, h)
		require.Len(t, counts, len(BucketBounds))
		for i, bound := range BucketBounds {
			want := 0.0
			for _, v := range observations {
				if v <= bound {
					want++
				}
			}
			// The upper bound of the zero bucket is below the first of our bounds.
			require.Equal(t, want, counts[i], "at or below %g of %v", bound, observations)
		}
	}
}

// For a coarser schema no count is too high, because an observation that may be above a bound does not count below it.
func TestCountsOfCoarseHistogramsAreNeverTooHigh(t *testing.T) {
	h := native(-1, []float64{0.2, 0.3, 3, 20})
	counts := BucketCounts(nil, h)
	for i, bound := range BucketBounds {
		exact := 0.0
		for _, v := range []float64{0.2, 0.3, 3, 20} {
			if v <= bound {
				exact++
			}
		}
		assert.LessOrEqual(t, counts[i], exact)
	}
	assert.Equal(t, 4.0, counts[len(counts)-1])
}
