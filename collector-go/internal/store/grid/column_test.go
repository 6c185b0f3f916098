package grid

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// Any slices in any order are what a plain map holds of them, whatever is asked for.
func TestColumnIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &column[float64]{same: sameBits}
		twin := []map[int64]float64{{}, {}, {}}
		steps := rapid.SliceOfN(rapid.SampledFrom([]int64{1, 7, 1000, 10_000, 30_000, 3_600_000, maxStepMs}), 1, 3).Draw(t, "steps")
		at := rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "at")
		for range rapid.IntRange(0, 400).Draw(t, "slices") {
			id := rapid.Uint32Range(0, 2).Draw(t, "id")
			step := rapid.SampledFrom(steps).Draw(t, "step")
			switch rapid.IntRange(0, 9).Draw(t, "how") {
			case 0:
				at += rapid.Int64Range(-100, 100).Draw(t, "jump") * step
			case 1:
				at += rapid.Int64Range(-3, 3).Draw(t, "shift")
			case 2: // again
			default:
				at += step
			}
			at = max(min(at, farthestMs), -farthestMs)
			v := float64(rapid.IntRange(0, 1).Draw(t, "value"))
			want := taken
			if old, there := twin[id][at]; there {
				want = repeated
				if old != v {
					want = conflict
				}
			} else {
				twin[id][at] = v
			}
			require.Equal(t, want, c.put(id, step, at, v), "slice of %d at %d", id, at)
		}
		ends := slices.Collect(maps.Keys(twin[0]))
		minMs, maxMs := int64(math.MinInt64), int64(math.MaxInt64)
		if len(ends) > 0 && rapid.Bool().Draw(t, "a part") {
			minMs = rapid.SampledFrom(ends).Draw(t, "from")
			maxMs = rapid.SampledFrom(ends).Draw(t, "to")
		}
		for id, all := range twin {
			want := map[int64]float64{}
			for ms, v := range all {
				if ms >= minMs && ms <= maxMs {
					want[ms] = v
				}
			}
			got := map[int64]float64{}
			var k collector[float64]
			c.collect(&k, uint32(id), minMs, maxMs, func(r run.Run, values []float64) {
				r.Values = values
				require.LessOrEqual(t, len(values), maxRunPlaces)
				for i := range values {
					if ms := r.FirstMs + int64(i)*r.StepMs; r.Has(i) {
						require.NotContains(t, got, ms)
						got[ms] = values[i]
					}
				}
				require.True(t, r.Has(0) && r.Has(r.Places()-1), "a run begins and ends with a slice")
			})
			require.Equal(t, want, got)
		}
		require.Equal(t, len(twin[0])+len(twin[1])+len(twin[2]), c.slices)
	})
}

// Slices in order find their place without a search, and take little more memory than their values.
func TestColumnInOrder(t *testing.T) {
	c := &column[float64]{same: sameBits}
	for at := range int64(6000) {
		for id := range uint32(20) {
			require.Equal(t, taken, c.put(id, 10_000, 7000+at*10_000, float64(at)))
		}
	}
	assert.Less(t, c.bytes(), 20*6000*8*5/4)
	var runs []run.Run
	c.collect(&collector[float64]{}, 0, math.MinInt64, math.MaxInt64, func(r run.Run, values []float64) {
		assert.Nil(t, r.Present)
		r.Values = values
		runs = append(runs, r)
	})
	require.Len(t, runs, 1)
	assert.Equal(t, 6000, runs[0].Places())
}
