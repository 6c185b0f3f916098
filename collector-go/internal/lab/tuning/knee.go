package tuning

import (
	"math"
	"slices"
)

// Knee is the point at which latency begins to rise steeply.
type Knee struct {
	Queries int `json:"queries"`
	// Stable states that omitting any one point moves the knee by at most one measured step.
	Stable bool `json:"stable"`
}

// LatencyPoint is the latency measured with a number of concurrent queries.
type LatencyPoint struct {
	Queries   int
	LatencyMs float64
}

// kneePoints is the minimum number of points for a knee. With fewer, omitting one would leave no curve.
const kneePoints = 4

// FindKnee returns the knee of a row whose points ascend, or the reason why there is none. It uses Kneedle (Satopää et
// al., "Finding a 'Kneedle' in a Haystack", 2011) for an increasing convex curve, with sensitivity 1. It omits the
// smoothing, which a row of a few averages does not need.
//
// Two changes are ours. Latency counts by its logarithm, because it spans decades. The curve ends with the first point
// above limitMs, so that measurements far beyond the limit do not move the knee.
func FindKnee(points []LatencyPoint, limitMs float64) (*Knee, string) {
	if len(points) < kneePoints {
		return nil, "fewer than four points"
	}
	at := kneedle(upToFailure(points, limitMs))
	if at < 0 {
		return nil, "the latency has no bend up to the first FAIL"
	}
	knee := &Knee{Queries: points[at].Queries, Stable: true}
	for left := range points {
		others := slices.Delete(slices.Clone(points), left, left+1)
		found := kneedle(upToFailure(others, limitMs))
		if found >= left {
			found++ // its index among all points
		}
		if found < 0 || found < at-1 || found > at+1 {
			knee.Stable = false
		}
	}
	return knee, ""
}

func upToFailure(points []LatencyPoint, limitMs float64) []LatencyPoint {
	if first := slices.IndexFunc(points, func(p LatencyPoint) bool { return p.LatencyMs > limitMs }); first >= 0 {
		return points[:first+1]
	}
	return points
}

// kneedle returns the index of the knee; -1 if the curve has none.
func kneedle(points []LatencyPoint) int {
	n := len(points)
	if n < 3 {
		return -1
	}
	// A latency of 0 counts as the smallest other latency, because it has no logarithm.
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if p.LatencyMs > 0 {
			least, most = min(least, math.Log(p.LatencyMs)), max(most, math.Log(p.LatencyMs))
		}
	}
	if !(most > least) {
		return -1
	}
	width := float64(points[n-1].Queries - points[0].Queries)
	below := make([]float64, n) // distance of the curve below the straight line between its ends
	for i, p := range points {
		x := float64(p.Queries-points[0].Queries) / width
		below[i] = x - (math.Log(math.Max(p.LatencyMs, math.Exp(least)))-least)/(most-least)
	}
	at := slices.Index(below, slices.Max(below))
	if threshold := below[at] - 1/float64(n-1); !slices.ContainsFunc(below[at:],
		func(v float64) bool { return v < threshold }) {
		return -1
	}
	return at
}
