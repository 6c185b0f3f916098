package ingest

import (
	"fmt"
	"math"
	"math/bits"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// The bounds of a distribution: the schemas of Prometheus' native histograms, and far more buckets than the latency
// hook sends.
const (
	minSchema, maxSchema = -4, 8
	maxBuckets           = 4096
	maxBucketIndex       = 1 << 20 // far beyond the index of any float64 at the finest schema
)

// checkHistogram returns an error that explains what is wrong with a distribution. A distribution that passes can be
// stored and merged with any other. Without this check, a store would refuse a bad one only after it was acknowledged.
func checkHistogram(h *pb.HistogramSample, ofHistograms bool) error {
	switch {
	case !ofHistograms:
		return fmt.Errorf("the series has numbers, but the sample is a histogram")
	case h.GetSchema() < minSchema || h.GetSchema() > maxSchema:
		return fmt.Errorf("schema %d is not from %d to %d", h.GetSchema(), minSchema, maxSchema)
	case !finite(h.GetSum()) || !finite(h.GetZeroThreshold()) || h.GetZeroThreshold() < 0:
		return fmt.Errorf("sum %v or zero threshold %v is invalid", h.GetSum(), h.GetZeroThreshold())
	case len(h.GetPositiveCounts()) > maxBuckets || len(h.GetPositiveSpans()) > maxBuckets:
		return fmt.Errorf("%d buckets, at most %d are allowed", len(h.GetPositiveCounts()), maxBuckets)
	}
	if err := checkSpans(h); err != nil {
		return err
	}
	return checkCounts(h)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// checkSpans checks that the spans of buckets are in order and match the number of counts. Otherwise a count could
// belong to no bucket.
func checkSpans(h *pb.HistogramSample) error {
	var buckets, index int64
	for i, span := range h.GetPositiveSpans() {
		if i > 0 && span.GetOffset() < 0 {
			return fmt.Errorf("span %d goes back by %d", i, span.GetOffset())
		}
		index += int64(span.GetOffset())
		if index < -maxBucketIndex || index+int64(span.GetLength()) > maxBucketIndex {
			return fmt.Errorf("bucket index %d is out of range", index)
		}
		index += int64(span.GetLength())
		buckets += int64(span.GetLength())
	}
	if buckets != int64(len(h.GetPositiveCounts())) {
		return fmt.Errorf("spans of %d buckets for %d counts", buckets, len(h.GetPositiveCounts()))
	}
	return nil
}

// checkCounts checks that the buckets add up to the count of observations, without overflow.
func checkCounts(h *pb.HistogramSample) error {
	sum, carry := h.GetZeroCount(), uint64(0)
	for _, n := range h.GetPositiveCounts() {
		if sum, carry = bits.Add64(sum, n, 0); carry != 0 {
			return fmt.Errorf("counts overflow")
		}
	}
	if sum != h.GetCount() {
		return fmt.Errorf("buckets hold %d observations, count is %d", sum, h.GetCount())
	}
	return nil
}
