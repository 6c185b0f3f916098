package tuning

import "math"

// Loads of the cost steps, as shares of the first expected capacity. They are well below it, because the cost is that
// of a topology that is not overloaded.
const (
	lesserLoad  = 0.25
	greaterLoad = 0.5
)

// MirroredLoads returns the order of the cost steps: 0, a, b, b, a, 0. A steady drift of the topology adds the same
// amount to each load, so it cancels out of the slope. It shows as the difference between the two measurements of each
// load. b is at most half of the first expected capacity. An expected capacity below 4 has no two such loads, and the
// result is empty.
func MirroredLoads(expectedCapacity float64) []float64 {
	a, b := math.Floor(lesserLoad*expectedCapacity), math.Floor(greaterLoad*expectedCapacity)
	if !(a >= 1 && b > a) || math.IsInf(b, 0) {
		return []float64{}
	}
	return []float64{0, a, b, b, a, 0}
}

// steadyBound is the largest relative change of the cost of a record that counts as steady.
const steadyBound = 0.05

// Steady reports whether the cost of a record is steady, from the CPU per record in consecutive slices. The mean of
// the last LeastSlices must differ by less than a twentieth from that of as many before. An unknown slice means not
// steady.
func Steady(costs []Figure) bool {
	n := len(costs)
	if n < 2*LeastSlices {
		return false
	}
	before, now := Figure(0), Figure(0)
	for i := range LeastSlices {
		before, now = before+costs[n-2*LeastSlices+i], now+costs[n-LeastSlices+i]
	}
	return math.Abs(float64(now-before)) < steadyBound*float64(before)
}
