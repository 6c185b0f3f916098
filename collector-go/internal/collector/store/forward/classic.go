package forward

import (
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

// These suffixes name the series of a classic histogram, as in Prometheus.
const (
	BucketSuffix = "_bucket"
	CountSuffix  = "_count"
	SumSuffix    = "_sum"
	// BucketLabel distinguishes the series of the buckets. Its value is the bucket's upper bound.
	BucketLabel = model.BucketLabel
)

// BucketBounds are the upper bounds of the buckets: the powers 2^(k/2) from 1/1024 (about 1 ms) to 64, and infinity.
// All series have the same bounds, and these never change, so that each bucket's series is a counter from beginning to
// end. Every native histogram of schema 1 or finer has these bounds among its own, so the counts are exact. For a
// coarser histogram, observations that may lie on either side of a bound count above it.
var BucketBounds = bounds()

// halfSteps is the native histogram schema with two buckets per power of two. first and last are the indices of the
// buckets whose upper bounds are 1/1024 and 64.
const (
	halfSteps   = 1
	first, last = -20, 12
)

// bounds computes the bounds with the histogram library, so that they equal those of native histograms bit by bit.
func bounds() []float64 {
	h := histogram.Histogram{Schema: halfSteps,
		PositiveSpans:   []histogram.Span{{Offset: first, Length: last - first + 1}},
		PositiveBuckets: make([]int64, last-first+1)}
	var all []float64
	for buckets := h.PositiveBucketIterator(); buckets.Next(); {
		all = append(all, buckets.At().Upper)
	}
	return append(all, math.Inf(1))
}

// BucketBoundTexts are the bounds as values of the label "le".
var BucketBoundTexts = texts(BucketBounds)

func texts(bounds []float64) []string {
	all := make([]string, len(bounds))
	for i, bound := range bounds {
		all[i] = strconv.FormatFloat(bound, 'g', -1, 64)
	}
	return all
}

// Classic returns a histogram's count and sum, and appends the count of each bucket to counts (see BucketCounts). If h
// is nil, which marks a gap, all of them are Prometheus' stale NaN.
func Classic(counts []float64, h *histogram.Histogram) (count, sum float64, buckets []float64) {
	if h == nil {
		gap := math.Float64frombits(value.StaleNaN)
		return gap, gap, append(counts, slices.Repeat([]float64{gap}, len(BucketBounds))...)
	}
	return float64(h.Count), h.Sum, BucketCounts(counts, h)
}

// BucketCounts appends to counts, for each of the BucketBounds, how many observations of h are at or below it.
func BucketCounts(counts []float64, h *histogram.Histogram) []float64 {
	var below float64
	next := 0
	upTo := func(bound float64) {
		for next < len(BucketBounds)-1 && BucketBounds[next] < bound {
			counts = append(counts, below)
			next++
		}
	}
	if h.ZeroCount > 0 {
		upTo(h.ZeroThreshold)
		below += float64(h.ZeroCount)
	}
	buckets := h.PositiveBucketIterator()
	for buckets.Next() {
		bucket := buckets.At()
		upTo(bucket.Upper)
		below += float64(bucket.Count)
	}
	upTo(math.Inf(1))
	return append(counts, float64(h.Count))
}
