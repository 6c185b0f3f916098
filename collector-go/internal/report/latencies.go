package report

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/chart"
)

// LatencyChart draws a distribution of latencies as HdrHistogram's plots do: the share of the queries on an axis on
// which each unit is another nine. shares are from 0 to 1, seconds the latency that so many have or a smaller one.
func LatencyChart(name, title string, shares, seconds []float64) chart.Figure {
	curve := chart.Points{Name: "latency", Colour: chart.Series(0), Joined: true}
	for i, share := range shares {
		if share < 1 {
			curve.X, curve.Y = append(curve.X, -math.Log10(1-share)), append(curve.Y, 1000*seconds[i])
		}
	}
	return chart.Plot{
		Name: name, Title: title, XLabel: "share of the queries: 1 is 90%, 2 is 99%, 3 is 99.9%",
		YLabel: "latency from the intended start, ms", Limit: chart.NoLimit, Points: []chart.Points{curve},
	}.Figure()
}
