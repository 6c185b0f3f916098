package tuning

import "math"

// The shares of the first expected capacity that the loads of a cost's phase have: the cost is that of a topology with
// room to spare.
const (
	lesserLoad  = 0.25
	greaterLoad = 0.5
)

// MirroredLoads is the order in which loads are measured for what a query costs: 0, a, b, b, a, 0. What the topology
// drifts by evenly adds to each load as much and cancels out of the slope, and shows itself between the two
// measurements of each load. b is half of the first expected capacity at most. With less than 4 queries to expect there
// are no two such loads, and the order is empty.
func MirroredLoads(expectedCapacity float64) []float64 {
	a, b := math.Floor(lesserLoad*expectedCapacity), math.Floor(greaterLoad*expectedCapacity)
	if !(a >= 1 && b > a) || math.IsInf(b, 0) {
		return []float64{}
	}
	return []float64{0, a, b, b, a, 0}
}

// steadyBound is by how much of itself the cost of a record may differ from what it was just before, and be at rest.
const steadyBound = 0.05

// Steady reports whether what a record costs has come to rest, by the CPU a record in slices that follow each other:
// the mean of the last LeastSlices differs by less than a twentieth from that of as many before. What is not known
// leaves it open, which is not steady.
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
