package measure

import "math"

// Bounds of the calibration.
const (
	firstRate = 1000.0 // records/s
	// lowestRate and highestRate bound the search. A search that ends at a bound has not reached its target
	// (tuning.Calibration.Missed). The highest rate is more than any source can emit, so that a large host does not
	// end the search.
	lowestRate  = 50.0
	highestRate = 10_000_000.0
	maxReadings = 8
	// closeEnough is the largest accepted distance between an idle ratio and the target. Two readings in a row must be
	// that close, because the cost of a record falls while the JVMs still compile.
	closeEnough = 0.04
	// guessedBase is the assumed busy ratio without any records, until two readings determine it.
	guessedBase = 0.15
	// largestFactor bounds the factor by which the rate changes from one reading to the next.
	largestFactor = 6.0
	// saturated is the idle ratio below which the host is overloaded. Such a reading does not show by how much.
	saturated = 0.05
)

// reading is one measurement of the host: the idle ratio at a record rate.
type reading struct{ rate, idle float64 }

// calibration searches for the record rate that leaves a target ratio of the host idle. It assumes that the busy ratio
// is a linear function of the rate, which holds well below saturation. It does no I/O: the session takes the readings.
type calibration struct {
	targetIdle float64
	readings   []reading
}

// next returns the next rate to try. If done is true, the search has ended and the rate is its result. If no reading
// was close enough, that is the rate of the closest reading.
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
	if rate < last.rate && !c.warm() {
		return last.rate, false
	}
	return rate, false
}

// warm reports whether two readings in a row at the same rate left about the same idle. Until then the workers may
// still compile, so a busy host is no reason to lower the rate.
func (c *calibration) warm() bool {
	for i, r := range c.readings[1:] {
		if before := c.readings[i]; before.rate == r.rate && r.idle-before.idle < closeEnough {
			return true
		}
	}
	return false
}

// closest returns the rate of the reading that is closest to the target. Of equally close readings it takes the last.
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

// base returns the busy ratio without records. It extrapolates the line through the last two readings, and returns a
// guess if there is only one reading or the line is not plausible.
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
