package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestNextSlice(t *testing.T) {
	assert.Equal(t, int64(20_000), nextSlice(time.UnixMilli(10_001), 10*time.Second).UnixMilli())
	assert.Equal(t, int64(10_000), nextSlice(time.UnixMilli(10_000), 10*time.Second).UnixMilli())
}

// The host is a line with noise. Whatever the line, the calibration ends near the target or at its bounds.
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
		// A first rate that leaves nothing idle does not show the line, so such hosts are excluded here.
		if idleAt(firstRate) > 0.05 {
			assert.InDelta(t, 0.4, idleAt(rate), 0.1)
		}
	})
}

// ended runs a calibration on a host and returns its end.
func ended(target float64, idleAt func(rate float64) float64) (calibration, tuning.Calibration) {
	c := calibration{targetIdle: target}
	rate, done := c.next()
	for ; !done; rate, done = c.next() {
		c.add(rate, idleAt(rate))
	}
	return c, calibrationReport(c, rate)
}

// A search that ends at its bound, or without a response, has found nothing and must report that.
func TestACalibrationThatFindsNothingSaysSo(t *testing.T) {
	c, found := ended(0.4, func(float64) float64 { return 0 })
	assert.LessOrEqual(t, len(c.readings), maxReadings)
	assert.Contains(t, found.Missed(tuning.Unknown), "no record rate leaves 40% of the host idle")

	_, found = ended(0.5, func(rate float64) float64 { return max(0.03, 0.25-rate/5000) })
	assert.Equal(t, "no record rate leaves 50% of the host idle: 50 records/s left 24%, 1,000 records/s 5.0%",
		found.Missed(tuning.Unknown))

	_, found = ended(0.5, func(float64) float64 { return 0.97 })
	assert.NotEmpty(t, found.Missed(tuning.Unknown), "no rate changes anything")

	_, found = ended(0.5, func(rate float64) float64 { return 0.95 - rate/600_000 }) // a host with many cores
	assert.Empty(t, found.Missed(tuning.Unknown))
	assert.InDelta(t, 270_000, float64(found.RecordsPerSecond), 30_000)
}

// A rate that was not tried for lack of time is an estimate, until the step of 0 queries confirms it.
func TestARateThatWasNotTriedIsNoAnswer(t *testing.T) {
	found := tuning.Calibration{TargetIdle: 0.4, RecordsPerSecond: 3000,
		Readings: []tuning.Reading{{RecordsPerSecond: 1000, HostIdle: 0.8}}}
	assert.Contains(t, found.Missed(tuning.Unknown), "3,000 records/s is an estimate that was not measured")
	assert.Empty(t, found.Missed(0.43))
	assert.NotEmpty(t, found.Missed(0.7))
}
