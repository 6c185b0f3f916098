package tuning_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// search runs a search against a world that returns the verdict of each attempt, and returns the measurements.
func search(t require.TestingT, s tuning.Search, world func(value float64, attempt int) tuning.Verdict) (
	measured []tuning.Measured) {
	for {
		value, attempt, more := s.Next(measured)
		if !more {
			return measured
		}
		require.Contains(t, s.Values, value)
		measured = append(measured, tuning.Measured{Value: value, Verdict: world(value, attempt)})
		require.LessOrEqual(t, len(measured), len(s.Values)*(1+s.InconclusiveRepeats), "a search ends")
	}
}

func failsFrom(capacity float64) func(float64, int) tuning.Verdict {
	return func(value float64, _ int) tuning.Verdict {
		if value < capacity {
			return tuning.OK
		}
		return tuning.Fail
	}
}

func values(measured []tuning.Measured) (values []float64) {
	for _, m := range measured {
		values = append(values, m.Value)
	}
	return values
}

func TestTheOrdersOfTheSearches(t *testing.T) {
	grid := []float64{100, 200, 400, 300}
	for _, c := range []struct {
		kind tuning.SearchKind
		want []float64
	}{
		{tuning.FullSearch, []float64{100, 200, 400, 300}},
		{tuning.StepSearch, []float64{100, 200, 300}},
		{tuning.BinarySearch, []float64{300, 200}},
	} {
		measured := search(t, tuning.Search{Kind: c.kind, Values: grid}, failsFrom(250))
		assert.Equal(t, c.want, values(measured), c.kind)
		assert.Equal(t, "holds 200, fails at 300", tuning.IntervalOf(measured).String(), c.kind)
	}
}

// If verdicts are monotone, the three searches find the same interval, and the binary search takes at most
// logarithmically many steps.
func TestSearchesAgreeOnAMonotoneTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid := rapid.SliceOfNDistinct(rapid.Float64Range(0, 1000), 1, 40, rapid.ID[float64]).Draw(t, "grid")
		world := failsFrom(rapid.Float64Range(-1, 1001).Draw(t, "capacity"))
		full := search(t, tuning.Search{Kind: tuning.FullSearch, Values: grid}, world)
		step := search(t, tuning.Search{Kind: tuning.StepSearch, Values: grid}, world)
		binary := search(t, tuning.Search{Kind: tuning.BinarySearch, Values: grid}, world)
		assert.Len(t, full, len(grid))
		want := tuning.IntervalOf(full)
		assert.Equal(t, want, tuning.IntervalOf(step))
		assert.Equal(t, want, tuning.IntervalOf(binary))
		most := 1
		for n := len(grid); n > 1; n /= 2 {
			most++
		}
		assert.LessOrEqual(t, len(binary), most, "of %d", len(grid))
	})
}

// Whatever the verdicts, a search ends and never measures a decided value again. Its interval follows from its own
// verdicts.
func TestSearchesAreHonestOfAnyTruth(t *testing.T) {
	verdict := rapid.SampledFrom([]tuning.Verdict{tuning.OK, tuning.Fail, tuning.Inconclusive, tuning.Limited})
	rapid.Check(t, func(t *rapid.T) {
		grid := rapid.SliceOfNDistinct(rapid.Float64Range(0, 1000), 1, 12, rapid.ID[float64]).Draw(t, "grid")
		s := tuning.Search{Kind: rapid.SampledFrom(tuning.SearchKinds()).Draw(t, "kind"), Values: grid,
			InconclusiveRepeats: rapid.IntRange(0, 2).Draw(t, "repeats")}
		measured := search(t, s, func(float64, int) tuning.Verdict { return verdict.Draw(t, "verdict") })
		i := tuning.IntervalOf(measured)
		if i.LastOK != nil {
			assert.Contains(t, measured, tuning.Measured{Value: *i.LastOK, Verdict: tuning.OK})
		}
		if i.FirstFail != nil {
			assert.Contains(t, measured, tuning.Measured{Value: *i.FirstFail, Verdict: tuning.Fail})
		}
		if i.LastOK != nil && i.FirstFail != nil {
			assert.Less(t, *i.LastOK, *i.FirstFail)
		}
		for _, v := range i.Inconclusive {
			assert.NotContains(t, measured, tuning.Measured{Value: v, Verdict: tuning.OK})
			assert.Equal(t, 1+s.InconclusiveRepeats, len(slices.DeleteFunc(values(measured), func(other float64) bool {
				return other != v
			})))
		}
	})
}

func TestAnInconclusiveStepIsRepeatedUpToABound(t *testing.T) {
	grid := []float64{10, 20, 30}
	for _, kind := range tuning.SearchKinds() {
		s := tuning.Search{Kind: kind, Values: grid, InconclusiveRepeats: 2}
		settles := search(t, s, func(value float64, attempt int) tuning.Verdict {
			if value == 20 && attempt < 3 {
				return tuning.Inconclusive
			}
			return failsFrom(25)(value, attempt)
		})
		assert.Equal(t, "holds 20, fails at 30", tuning.IntervalOf(settles).String(), kind)
		never := search(t, s, func(value float64, attempt int) tuning.Verdict {
			if value == 20 {
				return tuning.Inconclusive
			}
			return failsFrom(25)(value, attempt)
		})
		i := tuning.IntervalOf(never)
		assert.Equal(t, "holds 10, fails at 30", i.String(), kind)
		assert.Equal(t, []float64{20}, i.Inconclusive, kind)
		assert.Contains(t, i.Note, "inconclusive at 20", kind)
	}
}

// Beyond a limit outside the topology there is nothing to learn about the topology.
func TestALimitAroundTheTopologyEndsASearch(t *testing.T) {
	world := func(value float64, _ int) tuning.Verdict {
		if value >= 30 {
			return tuning.Limited
		}
		return tuning.OK
	}
	for kind, want := range map[tuning.SearchKind][]float64{tuning.StepSearch: {10, 20, 30},
		tuning.BinarySearch: {30, 20}} {
		measured := search(t, tuning.Search{Kind: kind, Values: []float64{10, 20, 30, 40}, InconclusiveRepeats: 1},
			world)
		assert.Equal(t, want, values(measured), kind)
		i := tuning.IntervalOf(measured)
		assert.Equal(t, "at least 20", i.String(), kind)
		assert.Equal(t, []float64{30}, i.Limited, kind)
		assert.Contains(t, i.Note, "at 30 something outside the topology was at its limit")
	}
}

// Repeats that contradict each other say nothing about their value, so the interval is as wide as the other values
// allow.
func TestRepeatsThatContradictEachOther(t *testing.T) {
	i := tuning.IntervalOf([]tuning.Measured{{10, tuning.OK}, {20, tuning.OK}, {30, tuning.Fail}, {10, tuning.OK},
		{20, tuning.Fail}, {30, tuning.Fail}})
	assert.Equal(t, "holds 10, fails at 30", i.String())
	assert.Equal(t, []float64{20}, i.Inconclusive)
}

func TestIntervalsAsPeopleReadThem(t *testing.T) {
	of := func(measured ...tuning.Measured) tuning.Interval { return tuning.IntervalOf(measured) }
	censored := of(tuning.Measured{Value: 400, Verdict: tuning.OK})
	assert.Equal(t, "at least 400", censored.String())
	assert.True(t, censored.Censored)
	assert.Equal(t, "below 1,000", of(tuning.Measured{Value: 1000, Verdict: tuning.Fail}).String())
	assert.Equal(t, "unknown", of().String())
	odd := of(tuning.Measured{Value: 1, Verdict: tuning.OK}, tuning.Measured{Value: 2, Verdict: tuning.Fail},
		tuning.Measured{Value: 3, Verdict: tuning.OK})
	assert.Equal(t, "3 was OK although 2 failed: repeat these steps", odd.Note)
}

func TestOverlaps(t *testing.T) {
	interval := func(ok, fail float64) tuning.Interval {
		return tuning.IntervalOf([]tuning.Measured{{ok, tuning.OK}, {fail, tuning.Fail}})
	}
	assert.True(t, interval(10, 20).Overlaps(interval(15, 30)))
	assert.False(t, interval(10, 20).Overlaps(interval(20, 30)))
	assert.True(t, interval(10, 20).Overlaps(tuning.IntervalOf(nil)))
	assert.True(t, interval(10, 20).Overlaps(tuning.IntervalOf([]tuning.Measured{{5, tuning.OK}})), "a lower bound")
	assert.False(t, interval(10, 20).Overlaps(tuning.IntervalOf([]tuning.Measured{{20, tuning.OK}})))
}

// An ascending search ends by repeating its bounds. A bound that cannot be repeated is not a bound, and the search
// continues.
func TestBoundsAreConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		kind     tuning.SearchKind
		verdicts map[float64][]tuning.Verdict // by value, in the order of attempts
		want     []float64
		interval string
	}{
		"both repeat": {tuning.StepSearch,
			map[float64][]tuning.Verdict{1: {tuning.OK}, 2: {tuning.OK, tuning.OK}, 3: {tuning.Fail, tuning.Fail}},
			[]float64{1, 2, 3, 2, 3}, "holds 2, fails at 3"},
		"the last OK does not": {tuning.StepSearch, map[float64][]tuning.Verdict{1: {tuning.OK, tuning.OK},
			2: {tuning.OK, tuning.Fail}, 3: {tuning.Fail, tuning.Fail}}, []float64{1, 2, 3, 2, 1, 3}, "holds 1, fails at 3"},
		"the first FAIL does not": {tuning.StepSearch,
			map[float64][]tuning.Verdict{1: {tuning.OK}, 2: {tuning.OK, tuning.OK}, 3: {tuning.Fail, tuning.OK},
				4: {tuning.Fail, tuning.Fail}},
			[]float64{1, 2, 3, 2, 3, 4, 4}, "holds 2, fails at 4"},
		"nothing failed": {tuning.StepSearch, map[float64][]tuning.Verdict{1: {tuning.OK}, 2: {tuning.OK},
			3: {tuning.OK}, 4: {tuning.OK, tuning.OK}}, []float64{1, 2, 3, 4, 4}, "at least 4"},
		"all at once fails": {tuning.StepSearch, map[float64][]tuning.Verdict{1: {tuning.Fail, tuning.Fail}},
			[]float64{1, 1}, "below 1"},
		"inconclusive at last": {tuning.StepSearch, map[float64][]tuning.Verdict{1: {tuning.OK, tuning.Inconclusive},
			2: {tuning.Fail, tuning.Inconclusive}}, []float64{1, 2, 1, 2}, "holds 1, fails at 2"},
		"a full search": {tuning.FullSearch, map[float64][]tuning.Verdict{1: {tuning.OK}, 2: {tuning.OK},
			3: {tuning.Fail}, 4: {tuning.Fail}}, []float64{1, 2, 3, 4}, "holds 2, fails at 3"},
	} {
		t.Run(name, func(t *testing.T) {
			search := tuning.Search{Kind: c.kind, Values: []float64{1, 2, 3, 4}, Confirm: true}
			var measured []tuning.Measured
			var order []float64
			for len(order) < 20 {
				value, attempt, more := search.Next(measured)
				if !more {
					break
				}
				require.LessOrEqual(t, attempt, len(c.verdicts[value]), "%v", value)
				order = append(order, value)
				measured = append(measured, tuning.Measured{Value: value, Verdict: c.verdicts[value][attempt-1]})
			}
			assert.Equal(t, c.want, order)
			assert.Equal(t, c.interval, tuning.IntervalOf(measured).String())
		})
	}
}
