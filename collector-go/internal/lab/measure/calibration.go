package measure

import "math"

// Bounds of the calibration.
const (
	firstRate = 1000.0 // records a second
	// lowestRate and highestRate bound the search; one that ends there has found nothing (runstore.Calibration.Missed).
	// The highest is beyond what a source makes, so that it is no size of a host that ends a search.
	lowestRate  = 50.0
	highestRate = 10_000_000.0
	maxReadings = 8
	// closeEnough is how far from the target an idle ratio may be and still be taken, twice in a row: workers whose
	// code is still being compiled need less and less for the same records.
	closeEnough = 0.04
	// guessedBase is the busy ratio assumed to be there without any record, until two readings show it.
	guessedBase = 0.15
	// largestFactor bounds one change of the rate.
	largestFactor = 6.0
	// saturated is the idle ratio below which a reading says only that there was too much to do, not how much.
	saturated = 0.05
)

// reading is one look at the host: what ratio was idle at a record rate.
type reading struct{ rate, idle float64 }

// calibration searches for the record rate that leaves a target ratio of the host idle. It assumes that the busy ratio
// is a linear function of the rate, which holds well below saturation. It is pure: the session takes the readings.
type calibration struct {
	targetIdle float64
	readings   []reading
}

// next is the rate to try; done states that the search has ended and that it is the one to keep: where no reading was
// close, that of the closest one.
func (c *calibration) next() (rate float64, done bool) {
	if len(c.readings) == 0 {
		return firstRate, false
	}
	last := c.readings[len(c.readings)-1]
	if c.close(last) {
		settled := len(c.readings) > 1 && c.close(c.readings[len(c.readings)-2])
		return last.rate, settled || len(c.readings) >= maxReadings
	}
	rate = c.estimate(last)
	stuck := rate == last.rate // at a bound: another reading would try the same
	if stuck || len(c.readings) >= maxReadings {
		return c.closest(), true
	}
	return rate, false
}

// closest is the rate of the reading that is closest to the target, the last of several.
func (c *calibration) closest() float64 {
	best := c.readings[0]
	for _, r := range c.readings[1:] {
		if math.Abs(r.idle-c.targetIdle) <= math.Abs(best.idle-c.targetIdle) {
			best = r
		}
	}
	return best.rate
}

func (c *calibration) close(r reading) bool { return math.Abs(r.idle-c.targetIdle) <= closeEnough }

func (c *calibration) add(rate, idle float64) { c.readings = append(c.readings, reading{rate, idle}) }

func (c *calibration) estimate(last reading) float64 {
	busy, base := 1-last.idle, c.base(last)
	wanted := max(1-c.targetIdle-base, 0.01)
	factor := wanted / max(busy-base, 0.01)
	rate := last.rate * min(max(factor, 1/largestFactor), largestFactor)
	return math.Round(min(max(rate, lowestRate), highestRate))
}

// base is the busy ratio at no records: where the line through the last two readings meets the axis, if that makes
// sense.
func (c *calibration) base(last reading) float64 {
	guess := min(guessedBase, (1-last.idle)/2)
	if len(c.readings) < 2 || last.idle < saturated {
		return guess
	}
	before := c.readings[len(c.readings)-2]
	slope := (before.idle - last.idle) / (last.rate - before.rate)
	base := 1 - last.idle - slope*last.rate
	if !(slope > 0) || !(base >= 0 && base < 1-last.idle) {
		return guess
	}
	return base
}
