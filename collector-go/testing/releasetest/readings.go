package releasetest

import (
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// readings are how many a release was sent, one a second; slices of the first of them were stored before those after
// stored came.
const readings, stored = 95, 80

// The shapes that a sample may have: a gauge, a counter, a distribution.
var (
	depth    = sender.Series{Name: "depth", Interval: time.Second}
	requests = sender.Series{Name: "requests", Cumulative: true, Interval: time.Second}
	latency  = sender.Series{Name: "bullet_query_latency_seconds", Key: [2]string{"raw"}, Histogram: true,
		Cumulative: true, Interval: time.Second}
)

// reading is the i-th of all three.
func reading(at time.Time, i int) []sender.Sample {
	n := uint64(i + 1)
	return []sender.Sample{
		{Series: depth, Time: at, Value: float64(i%7) * 1.25},
		{Series: requests, Time: at, Value: float64(10 * i)},
		{Series: latency, Time: at, Histogram: &pb.HistogramSample{Schema: 5, ZeroThreshold: 0.0005, Count: 2 * n,
			Sum:           0.25 * float64(n),
			PositiveSpans: []*pb.BucketSpan{{Offset: -90, Length: 2}}, PositiveCounts: []uint64{n, n}}},
	}
}
