package grid

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// A column returns the same as a plain map, for any slices in any order and any query.
func TestColumnIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &column[float64]{same: sameBits}
		twin := []map[int64]float64{{}, {}, {}}
		steps := rapid.SliceOfN(rapid.SampledFrom([]int64{1, 7, 1000, 10_000, 30_000, 3_600_000, maxStepMs}), 1,
			3).Draw(t, "steps")
		at := rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "at")
		for range rapid.IntRange(0, 400).Draw(t, "slices") {
			id := rapid.Uint32Range(0, 2).Draw(t, "id")
			step := rapid.SampledFrom(steps).Draw(t, "step")
			switch rapid.IntRange(0, 9).Draw(t, "how") {
			case 0:
				at += rapid.Int64Range(-100, 100).Draw(t, "jump") * step
			case 1:
				at += rapid.Int64Range(-3, 3).Draw(t, "shift")
			case 2: // a repetition
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
				require.LessOrEqual(t, len(values), maxRunSlots)
				for i := range values {
					if ms := r.FirstMs + int64(i)*r.StepMs; r.Has(i) {
						require.NotContains(t, got, ms)
						got[ms] = values[i]
					}
				}
				require.True(t, r.Has(0) && r.Has(r.Slots()-1), "a run begins and ends with a slice")
			})
			require.Equal(t, want, got)
		}
		require.Equal(t, len(twin[0])+len(twin[1])+len(twin[2]), c.slices)
	})
}

// handOvers returns a head in which each of the Refs 0 to series-1 is bound to a series of its own.
func handOvers(series int, stepMs func(i int) int64) *handing {
	t := newTable()
	for i := range series {
		l := labels.FromStrings(model.MetricNameLabel, "gauge", "task", strconv.Itoa(i))
		t.define(slice.Definition{Ref: slice.Ref(i), Series: metric.Series{Labels: l}, IntervalMs: stepMs(i)}, series)
	}
	return &handing{head: newHead(t), bound: t.bound, oldestMs: -farthestMs, rejected: map[string]int{}}
}

// Hand-overs give the same as a plain map, whether series arrive together, separately, late, twice or not at all.
func TestHandOversAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := rapid.IntRange(1, 70).Draw(t, "series")
		steps := rapid.SliceOfN(rapid.SampledFrom([]int64{1000, 10_000, 30_000}), 1, 2).Draw(t, "steps")
		h := handOvers(series, func(i int) int64 { return steps[i/7%len(steps)] })
		twin := make([]map[int64]float64, series)
		lags := make([]int64, series) // in distances
		for i := range twin {
			twin[i] = map[int64]float64{}
		}
		wantTaken, wantRepeated, wantConflicts := 0, 0, 0
		hand := func(c *slice.Columns, i int, endMs int64, v float64) {
			c.Refs, c.EndsMs, c.Values = append(c.Refs, slice.Ref(i)), append(c.EndsMs, endMs), append(c.Values, v)
			switch old, there := twin[i][endMs]; {
			case !there:
				twin[i][endMs] = v
				wantTaken++
			case old == v:
				wantRepeated++
			default:
				wantConflicts++
			}
		}
		tick := rapid.Int64Range(-100, 100).Draw(t, "first")
		for range rapid.IntRange(1, 150).Draw(t, "hand-overs") {
			tick += rapid.SampledFrom([]int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 20, -1, -30}).Draw(t, "ticks")
			c := &slice.Columns{}
			from := rapid.SampledFrom([]int{0, 0, 0, 0, series / 2}).Draw(t, "from")
			without := rapid.IntRange(-4*series, series-1).Draw(t, "without")
			for k := range series {
				if i := (from + k) % series; i != without {
					hand(c, i, (tick-lags[i])*steps[i/7%len(steps)]+3, float64(tick%7))
				}
			}
			switch i := rapid.IntRange(0, series-1).Draw(t, "of"); rapid.IntRange(0, 14).Draw(t, "how") {
			case 0:
				lags[i]++
			case 1:
				lags[i] = 0
			case 2: // off the grid
				hand(c, i, tick*1000+rapid.Int64Range(0, 999).Draw(t, "off"), 1)
			case 3: // one slice is early or repeated
				hand(c, i, (tick+rapid.Int64Range(-2, 70).Draw(t, "early"))*steps[i/7%len(steps)]+3, 1)
			}
			switch i := rapid.IntRange(0, series-1).Draw(t, "series defined again"); rapid.IntRange(0, 20).Draw(t,
				"interval") {
			case 0:
				h.stepsMs[i] = rapid.SampledFrom([]int64{1000, 10_000, 30_000}).Draw(t, "another")
			case 1:
				for i := range h.stepsMs {
					h.stepsMs[i] = 1000
				}
			}
			h.take(c)
			if rapid.IntRange(0, 5).Draw(t, "replayed") == 0 {
				wantRepeated += len(c.Refs)
				for i, ref := range c.Refs {
					if twin[ref][c.EndsMs[i]] != c.Values[i] {
						wantRepeated--
						wantConflicts++
					}
				}
				h.take(c)
			}
		}
		require.Equal(t, wantTaken, h.taken)
		require.Equal(t, wantTaken, h.slices())
		require.Equal(t, wantRepeated, h.repeated)
		require.Equal(t, wantConflicts, h.rejected[RejectedConflict])
		ends := map[int64]bool{}
		for id, want := range twin {
			got := map[int64]float64{}
			for _, r := range h.runs(&reading{}, uint32(id), math.MinInt64, math.MaxInt64, nil) {
				for i := range r.Values {
					if r.Has(i) {
						got[r.FirstMs+int64(i)*r.StepMs] = r.Values[i]
					}
				}
			}
			require.Equal(t, want, got, "series %d", id)
			for ms := range want {
				ends[floor(ms, 100_000)] = true
			}
		}
		require.Subset(t, h.partitions(100_000), slices.Collect(maps.Keys(ends)))
	})
}

// A series whose interval changed may have two chunks over the same time. A slice in one of them must not be stored in
// the other again, whatever arrives together with it.
func TestIntervalsThatMix(t *testing.T) {
	h := handOvers(2, func(int) int64 { return 1000 })
	hand := func(of string, endMs int64) {
		c := &slice.Columns{}
		for i, name := range "ab" {
			if strings.ContainsRune(of, name) {
				c.Refs, c.EndsMs, c.Values = append(c.Refs, slice.Ref(i)), append(c.EndsMs, endMs), append(c.Values, 7)
			}
		}
		h.take(c)
	}
	hand("ab", 131_003)
	h.stepsMs[1] = 10_000
	hand("b", 70_003)
	hand("b", 140_003) // on both grids
	require.Equal(t, 4, h.taken)
	hand("ab", 140_003)
	assert.Equal(t, 5, h.taken)
	assert.Equal(t, 1, h.repeated)
	hand("ab", 150_003)
	hand("ab", 150_003)
	assert.Equal(t, 7, h.taken)
	assert.Equal(t, 3, h.repeated)
}

// Slices that arrive in order need no search, and take little more memory than their values.
func TestColumnInOrder(t *testing.T) {
	const series = 20
	h := handOvers(series, func(int) int64 { return 10_000 })
	for at := range int64(6000) {
		c := &slice.Columns{}
		for id := range series {
			c.Refs, c.EndsMs, c.Values = append(c.Refs, slice.Ref(id)), append(c.EndsMs, 7000+at*10_000),
				append(c.Values, float64(at))
		}
		n := h.numbers.row(h.ids, c.Refs, c.EndsMs, c.Values)
		require.Equal(t, at%chunkSlots == 0, n == 0, "the first row of a chunk makes it")
		if n == 0 {
			h.take(c)
		}
	}
	require.Equal(t, 6000*series, h.slices())
	assert.Less(t, h.bytes(), series*6000*8*5/4)
	runs := h.runs(&reading{}, 3, math.MinInt64, math.MaxInt64, nil)
	require.Len(t, runs, 1)
	assert.Nil(t, runs[0].Present)
	assert.Equal(t, 6000, runs[0].Slots())
}
