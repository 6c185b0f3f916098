package experiment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestUnboundedPlan(t *testing.T) {
	p := newPlan(DefaultOptions(), 0)
	require.Len(t, p.steps, 4)
	assert.Equal(t, plannedStep{queries: 40, warmUp: 20 * time.Second, measured: 40 * time.Second}, p.steps[3])
	assert.Equal(t, time.Minute, p.reportSlice)
}

func TestBoundedPlan(t *testing.T) {
	for _, c := range []struct {
		bound, available time.Duration
		steps            int
		length, slice    time.Duration
	}{
		{3 * time.Minute, 95 * time.Second, 3, 30 * time.Second, 10 * time.Second},
		{3 * time.Minute, 125 * time.Second, 4, 30 * time.Second, 10 * time.Second},
		{3 * time.Minute, 5 * time.Second, 3, 20 * time.Second, 10 * time.Second}, // three steps are held even if it takes longer
		{10 * time.Minute, 8 * time.Minute, 4, time.Minute, time.Minute},
	} {
		o := DefaultOptions()
		o.Bound = c.bound
		p := newPlan(o, c.available)
		require.Len(t, p.steps, c.steps, "%+v", c)
		assert.Equal(t, c.length, p.steps[0].length(), "%+v", c)
		assert.Equal(t, c.slice, p.reportSlice, "%+v", c)
	}
}

func TestAPlanFitsItsTimeWhereverThreeLeastStepsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := DefaultOptions()
		o.Bound = time.Hour
		available := time.Duration(rapid.IntRange(60, 3000).Draw(t, "available")) * time.Second
		total := time.Duration(0)
		for _, s := range newPlan(o, available).steps {
			assert.GreaterOrEqual(t, s.measured, o.SliceWidth)
			assert.GreaterOrEqual(t, s.warmUp, o.SliceWidth)
			assert.Zero(t, s.length()%o.SliceWidth)
			total += s.length()
		}
		assert.LessOrEqual(t, total, available)
	})
}

func TestNextSlice(t *testing.T) {
	assert.Equal(t, int64(20_000), nextSlice(time.UnixMilli(10_001), 10*time.Second).UnixMilli())
	assert.Equal(t, int64(10_000), nextSlice(time.UnixMilli(10_000), 10*time.Second).UnixMilli())
}

// The host of the property is a line with noise; whatever the line, the calibration ends near the target or at its bounds.
func TestCalibrationFindsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Float64Range(0.02, 0.5).Draw(t, "base")
		per := rapid.Float64Range(1e-5, 1e-3).Draw(t, "busy per record")
		idleAt := func(rate float64) float64 { return max(0, 1-base-per*rate) }
		c := calibration{targetIdle: 0.4}
		rate, done := c.next()
		for ; !done; rate, done = c.next() {
			c.add(rate, idleAt(rate))
		}
		assert.LessOrEqual(t, len(c.readings), maxReadings)
		assert.True(t, rate >= lowestRate && rate <= highestRate)
		// A first rate that leaves nothing idle tells nothing of the line; the others lead there.
		if idleAt(firstRate) > 0.05 {
			assert.InDelta(t, 0.4, idleAt(rate), 0.1)
		}
	})
}

func TestCalibrationOfASaturatedHostStaysBounded(t *testing.T) {
	c := calibration{targetIdle: 0.4}
	rate, done := c.next()
	for ; !done; rate, done = c.next() {
		c.add(rate, 0)
	}
	assert.GreaterOrEqual(t, rate, lowestRate)
	assert.Less(t, rate, firstRate/4, "each reading without any idle lowers the rate")
}
