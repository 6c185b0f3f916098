package remote

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// valueOf converts an answer to the engine's types.
func valueOf(answer model.Value) (parser.Value, error) {
	switch v := answer.(type) {
	case *model.Scalar:
		return promql.Scalar{T: int64(v.Timestamp), V: float64(v.Value)}, nil
	case *model.String:
		return promql.String{T: int64(v.Timestamp), V: v.Value}, nil
	case model.Vector:
		return vectorOf(v)
	case model.Matrix:
		return matrixOf(v)
	}
	return nil, fmt.Errorf("unexpected type of result: %T", answer)
}

func vectorOf(answer model.Vector) (promql.Vector, error) {
	all := make(promql.Vector, len(answer))
	for i, s := range answer {
		all[i] = promql.Sample{Metric: labelsOf(s.Metric), T: int64(s.Timestamp), F: float64(s.Value)}
		if s.Histogram != nil {
			h, err := histogramOf(s.Histogram)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].Metric, err)
			}
			all[i].H = h
		}
	}
	return all, nil
}

func matrixOf(answer model.Matrix) (promql.Matrix, error) {
	all := make(promql.Matrix, len(answer))
	for i, stream := range answer {
		s := &all[i]
		s.Metric = labelsOf(stream.Metric)
		s.Floats = make([]promql.FPoint, len(stream.Values))
		for j, v := range stream.Values {
			s.Floats[j] = promql.FPoint{T: int64(v.Timestamp), F: float64(v.Value)}
		}
		for _, v := range stream.Histograms {
			h, err := histogramOf(v.Histogram)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Metric, err)
			}
			s.Histograms = append(s.Histograms, promql.HPoint{T: int64(v.Timestamp), H: h})
		}
	}
	slices.SortFunc(all, func(x, y promql.Series) int { return labels.Compare(x.Metric, y.Metric) })
	return all, nil
}

func labelsOf(metric model.Metric) labels.Labels {
	all := labels.NewScratchBuilder(len(metric))
	for name, v := range metric {
		all.Add(string(name), string(v))
	}
	all.Sort()
	return all.Labels()
}

// minSchema and maxSchema are the coarsest and the finest schema of exponential buckets.
const (
	minSchema = -4
	maxSchema = 8
)

// near compares bounds with a tolerance for rounding. Buckets of the finest schema are 3 in 1,000 wide.
func near(x, y float64) bool { return math.Abs(x-y) <= 1e-9*y }

// histogramOf reconstructs a native histogram from its text form. The bounds of its buckets are integer powers of
// 2^(2^-schema). The text form omits empty buckets, including an empty zero bucket, which does not change the result.
func histogramOf(from *model.SampleHistogram) (*histogram.FloatHistogram, error) {
	h := &histogram.FloatHistogram{Schema: maxSchema, Count: float64(from.Count), Sum: float64(from.Sum)}
	var positive, negative []bucket
	for _, b := range from.Buckets {
		lower, upper := float64(b.Lower), float64(b.Upper)
		if lower <= 0 && upper >= 0 {
			h.ZeroCount, h.ZeroThreshold = float64(b.Count), upper
			continue
		}
		if upper < 0 {
			lower, upper = -upper, -lower
		}
		schema := -int32(math.Round(math.Log2(math.Log2(upper / lower))))
		width := math.Exp2(-float64(schema)) // of a bucket, as a power of two
		index := math.Round(math.Log2(upper) / width)
		if schema < minSchema || schema > maxSchema || len(positive)+len(negative) > 0 && schema != h.Schema ||
			!near(upper, math.Exp2(index*width)) || !near(lower, math.Exp2((index-1)*width)) {
			return nil, fmt.Errorf("native histogram with a bucket that is not exponential: [%g, %g]", b.Lower, b.Upper)
		}
		h.Schema = schema
		place := bucket{int32(index), float64(b.Count)}
		if b.Upper < 0 {
			negative = append(negative, place)
		} else {
			positive = append(positive, place)
		}
	}
	h.PositiveSpans, h.PositiveBuckets = spans(positive)
	h.NegativeSpans, h.NegativeBuckets = spans(negative)
	return h, nil
}

// bucket is one bucket of a histogram: the index of its upper bound and its count.
type bucket struct {
	index int32
	count float64
}

// spans sorts buckets and converts them to the spans and counts of a histogram.
func spans(buckets []bucket) (all []histogram.Span, counts []float64) {
	slices.SortFunc(buckets, func(x, y bucket) int { return int(x.index - y.index) })
	for i, b := range buckets {
		counts = append(counts, b.count)
		if i > 0 && b.index == buckets[i-1].index+1 {
			all[len(all)-1].Length++
			continue
		}
		offset := b.index
		if i > 0 {
			offset -= buckets[i-1].index + 1
		}
		all = append(all, histogram.Span{Offset: offset, Length: 1})
	}
	return all, counts
}
