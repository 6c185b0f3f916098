package experiment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestNextSlice(t *testing.T) {
	assert.Equal(t, int64(20_000), nextSlice(time.UnixMilli(10_001), 10*time.Second).UnixMilli())
	assert.Equal(t, int64(10_000), nextSlice(time.UnixMilli(10_000), 10*time.Second).UnixMilli())
}

// The host of the property is a line with noise; whatever the line, the calibration ends near the target or at its
// bounds.
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
		// A first rate that leaves nothing idle shows nothing of the line; the others lead there.
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
