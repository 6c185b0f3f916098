package remote

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
)

// classicSeries holds the labels of the series of a classic histogram: one for each bucket, and those of count and sum.
type classicSeries struct {
	buckets    [][]prompb.Label
	count, sum []prompb.Label
}

// newClassicSeries is called once, when the series is defined. All histograms have the same bucket bounds.
func newClassicSeries(l labels.Labels) *classicSeries {
	name := l.Get(model.MetricNameLabel)
	s := &classicSeries{
		count: prompb.FromLabels(named(l, name+forward.CountSuffix).Labels(), nil),
		sum:   prompb.FromLabels(named(l, name+forward.SumSuffix).Labels(), nil),
	}
	for _, bound := range forward.BucketBoundTexts {
		s.buckets = append(s.buckets,
			prompb.FromLabels(named(l, name+forward.BucketSuffix).Set(forward.BucketLabel, bound).Labels(), nil))
	}
	return s
}

// classic adds a histogram as its buckets, count and sum. A gap is written to all of them.
func (p *Protocol) classic(ref slice.Ref, s *classicSeries, endMs int64, h *histogram.Histogram) {
	count, sum, buckets := forward.Classic(p.counts[:0], h)
	p.counts = buckets
	p.number(key{ref, 1}, s.count, endMs, count)
	p.number(key{ref, 2}, s.sum, endMs, sum)
	for i, l := range s.buckets {
		p.number(key{ref, 3 + i}, l, endMs, buckets[i])
	}
}
