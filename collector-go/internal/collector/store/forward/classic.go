package forward

import (
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

// The suffixes of the series that a histogram becomes, as Prometheus has them.
const (
	BucketSuffix = "_bucket"
	CountSuffix  = "_count"
	SumSuffix    = "_sum"
	// BucketLabel distinguishes the series of buckets: the bucket's upper bound.
	BucketLabel = model.BucketLabel
)

// BucketBounds are the upper bounds of the buckets: each power of two from 1/1024 (about 1 ms) to 64, with its half
// step, 2^(k/2). They are the same in all series and never change, so that each bucket's series is a counter from the
// beginning to the end. Every native histogram of schema 1 or finer has these bounds among its own, so that the counts
// are exact; of a coarser one, what may lie on either side of a bound counts above it.
var BucketBounds = bounds()

// halfSteps is the schema of two buckets to each power of two; the indices are those of the buckets that end at 1/1024
// and at 64.
const (
	halfSteps   = 1
	first, last = -20, 12
)

// bounds takes them from the library, so that they are to the bit those of native histograms.
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

// Classic returns a histogram's count and sum, and appends to counts the count of each bucket (see BucketCounts). For a
// gap's marker, which is nil, all of them are Prometheus' marker.
func Classic(counts []float64, h *histogram.Histogram) (count, sum float64, buckets []float64) {
	if h == nil {
		gap := math.Float64frombits(value.StaleNaN)
		return gap, gap, append(counts, slices.Repeat([]float64{gap}, len(BucketBounds))...)
	}
	return float64(h.Count), h.Sum, BucketCounts(counts, h)
}

// BucketCounts appends to counts how many observations of h lie at or below each of the Bounds.
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
