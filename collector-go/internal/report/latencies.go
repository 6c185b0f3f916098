package report

import "math"

// LatencyChart draws a distribution of latencies as HdrHistogram's plots do: the share of the queries on an axis on which each unit is
// another nine. shares are from 0 to 1, seconds the latency that so many have or a smaller one.
func LatencyChart(name, title string, shares, seconds []float64) Chart {
	curve := marks{name: "latency", colour: workerColour(0), joined: true}
	for i, share := range shares {
		if share < 1 {
			curve.x = append(curve.x, -math.Log10(1-share))
			curve.y = append(curve.y, 1000*seconds[i])
		}
	}
	return Chart{
		Name: name, Title: title, xLabel: "share of the queries: 1 is 90%, 2 is 99%, 3 is 99.9%", yLabel: "latency from the intended start, ms",
		limit: Unknown, marks: []marks{curve},
	}
}
