package slicer

import (
	"cmp"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// distributionState is the state that a distribution keeps from one slice to the next. It treats restarts by the same
// rules as counterState (restarts.go), but adds whole histograms instead of numbers.
type distributionState struct {
	base   distribution // the sum over earlier processes of the source, or over all deltas
	last   distribution // the source's last reading, if its readings are cumulative
	lastMs int64        // its event time
	history
	low   distribution // the newest reading, until it is known why it is below the last one
	lowMs int64
}

// foldDistribution writes one slice of a distribution from its readings, which are in order of time. The slice holds
// the cumulative histogram at its end.
func (s *Slicer) foldDistribution(in *input, readings []reading, endMs int64) {
	o := in.out
	if !s.begin(o, in.state, endMs) {
		s.late(in, len(readings))
		return
	}
	readings = s.onceEach(in, readings)
	s.came(in, endMs, len(readings), func(i int) int64 { return readings[i].timeMs })
	s.counts.InSlices += uint64(len(readings))
	if o.distribution == nil {
		o.distribution = &distributionState{}
	}
	for i := range readings {
		o.distribution.take(in, &readings[i], s.folding(in.state, endMs), s.options.MaxBuckets)
	}
	total := o.distribution.total(s.options.MaxBuckets)
	s.writeHistogram(o.ref, endMs, total.histogram())
	if in.rule.NegativeName != "" {
		s.write(o.ref+1, endMs, float64(total.negatives))
	}
}

// take adds a reading. A delta is added to the sum. A cumulative reading replaces the last one, unless the source
// restarted. Until it is known whether the source restarted, the last reading stays.
func (d *distributionState) take(in *input, r *reading, w fold, maxBuckets int) {
	now := readDistribution(r)
	if in.rule.Temporality == metric.Delta {
		d.base.merge(&now, maxBuckets)
		return
	}
	by := made{r.order, r.producer}
	if d.precedes(float64(now.count), r.timeMs, by, w.openMs) {
		return
	}
	starts, byMs := &in.state.source.starts, w.byMs
	if d.fell != nil && starts.between(d.fell.timeMs, d.fell.untilMs, byMs) {
		d.base.merge(&d.last, maxBuckets)
		d.last, d.lastMs, d.fell = d.low, d.lowMs, nil
	}
	newestMs := d.lastMs
	if d.fell != nil {
		newestMs = d.lowMs
	}
	below := now.count < d.last.count || now.negatives < d.last.negatives
	restarted := starts.between(newestMs, r.timeMs, byMs) && (below || in.mayRegrow(newestMs, r.timeMs))
	if restarted {
		d.past = &fallen{float64(d.last.count), d.lastMs, r.timeMs, by}
	} else if below {
		if d.fell == nil {
			d.fell = &fallen{float64(d.last.count), d.lastMs, r.timeMs, d.made}
		}
		var decided bool
		if restarted, decided = d.restarted(starts, r.timeMs, by, w); !decided {
			d.low, d.lowMs = now, r.timeMs
		}
		if !restarted {
			return
		}
	}
	if restarted {
		d.base.merge(&d.last, maxBuckets)
	}
	d.last, d.lastMs, d.made, d.fell = now, r.timeMs, by, nil
}

// total returns the cumulative distribution over all processes of the source. It is a copy, so a written slice does
// not change with later readings.
func (d *distributionState) total(maxBuckets int) distribution {
	total := d.base.clone()
	total.merge(&d.last, maxBuckets)
	return total
}

// distribution is an exponential histogram. It holds sparse counts by bucket index, in ascending order. Bucket i of
// schema n holds the values in (2^((i-1)/2^n), 2^(i/2^n)], as the specification of Prometheus' native histograms says.
//
// Prometheus' own type stores spans and differences, which are short but hard to merge. Counts by index can be merged
// and made coarser with one pass.
type distribution struct {
	schema        int32
	zeroThreshold float64
	zeroCount     uint64
	count         uint64
	sum           float64
	buckets       []indexed
	negatives     uint64 // below zero, in no bucket and not in count
}

// indexed is the count of one bucket. Buckets with no observations are left out.
type indexed struct {
	index int32
	count uint64
}

// maxIndex is far beyond the bucket of any float64 at the finest schema.
const maxIndex = 1 << 20

// plausible reports whether a reading can be merged. It checks the bucket indexes and that each bucket has a count, and
// readDistribution relies on both. Ingest has already checked that the counts add up.
func plausible(h *histogram.Histogram) bool {
	if !histogram.IsExponentialSchema(h.Schema) || len(h.NegativeBuckets) > 0 || math.IsNaN(h.Sum) ||
		!(h.ZeroThreshold >= 0) {
		return false
	}
	var index int64
	var buckets int
	for i, span := range h.PositiveSpans {
		if i > 0 && span.Offset < 0 || span.Length > maxIndex {
			return false
		}
		index += int64(span.Offset)
		if index < -maxIndex || index+int64(span.Length) > maxIndex {
			return false
		}
		index += int64(span.Length)
		buckets += int(span.Length)
	}
	return buckets == len(h.PositiveBuckets)
}

// readDistribution expands the spans and differences of a reading into counts by index. The caller must have called
// plausible first.
func readDistribution(r *reading) distribution {
	h := r.histogram
	d := distribution{schema: h.Schema, zeroThreshold: h.ZeroThreshold, zeroCount: h.ZeroCount, count: h.Count,
		sum: h.Sum, negatives: r.negatives, buckets: make([]indexed, 0, len(h.PositiveBuckets))}
	var index int32
	var count int64
	next := 0
	for _, span := range h.PositiveSpans {
		index += span.Offset
		for range span.Length {
			count += h.PositiveBuckets[next]
			next++
			if count > 0 {
				d.buckets = append(d.buckets, indexed{index, uint64(count)})
			}
			index++
		}
	}
	return d
}

func (d *distribution) clone() distribution {
	c := *d
	c.buckets = slices.Clone(d.buckets)
	return c
}

// empty reports whether nothing was read yet. The schema of an empty distribution has no meaning.
func (d *distribution) empty() bool {
	return d.count == 0 && d.negatives == 0 && d.zeroThreshold == 0 && len(d.buckets) == 0
}

// merge adds the counts of another distribution. The result has the coarser of the two schemas and the wider of the two
// zero buckets.
func (d *distribution) merge(other *distribution, maxBuckets int) {
	if other.empty() {
		return
	}
	if d.empty() {
		*d = other.clone()
		d.limit(maxBuckets)
		return
	}
	o := *other
	if o.schema > d.schema {
		o.buckets = coarser(o.buckets, o.schema-d.schema)
	} else if d.schema > o.schema {
		d.reduce(o.schema)
	}
	d.buckets = addBuckets(d.buckets, o.buckets)
	d.count += o.count
	d.zeroCount += o.zeroCount
	d.sum += o.sum
	d.negatives += o.negatives
	if o.zeroThreshold != d.zeroThreshold {
		d.widenZero(max(o.zeroThreshold, d.zeroThreshold))
	}
	d.limit(maxBuckets)
}

// minSchema is the coarsest schema that Prometheus supports.
const minSchema = -4

// limit merges neighbouring buckets until at most maxBuckets are left. Each step halves the resolution and loses no
// observation. At the coarsest schema it stops, even if there are more.
func (d *distribution) limit(maxBuckets int) {
	for len(d.buckets) > maxBuckets && d.schema > minSchema {
		d.reduce(d.schema - 1)
	}
}

// reduce lowers the resolution to the given schema, which must not be finer.
func (d *distribution) reduce(schema int32) {
	d.buckets = coarser(d.buckets, d.schema-schema)
	d.schema = schema
}

// coarser merges groups of 2^steps adjacent buckets into one bucket each.
func coarser(buckets []indexed, steps int32) []indexed {
	merged := make([]indexed, 0, len(buckets))
	for _, b := range buckets {
		index := (b.index-1)>>steps + 1
		if n := len(merged); n > 0 && merged[n-1].index == index {
			merged[n-1].count += b.count
		} else {
			merged = append(merged, indexed{index, b.count})
		}
	}
	return merged
}

func addBuckets(a, b []indexed) []indexed {
	sum := make([]indexed, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch cmp.Compare(a[0].index, b[0].index) {
		case -1:
			sum, a = append(sum, a[0]), a[1:]
		case 1:
			sum, b = append(sum, b[0]), b[1:]
		default:
			sum = append(sum, indexed{a[0].index, a[0].count + b[0].count})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(sum, a...), b...)
}

// widenZero moves the buckets that lie within a wider zero bucket into it.
func (d *distribution) widenZero(threshold float64) {
	d.zeroThreshold = threshold
	inside := 0
	for inside < len(d.buckets) && upperBound(d.buckets[inside].index, d.schema) <= threshold {
		d.zeroCount += d.buckets[inside].count
		inside++
	}
	d.buckets = d.buckets[inside:]
}

func upperBound(index, schema int32) float64 {
	return math.Exp2(math.Ldexp(float64(index), -int(schema)))
}

// histogram returns the distribution in the form that stores use. Runs of up to two empty buckets are written out, as
// Prometheus does, because a new span takes more space.
func (d *distribution) histogram() *histogram.Histogram {
	h := &histogram.Histogram{Schema: d.schema, ZeroThreshold: d.zeroThreshold, ZeroCount: d.zeroCount,
		Count: d.count, Sum: d.sum}
	var previous int64
	next := int32(0) // the index after the last written bucket
	put := func(count uint64) {
		h.PositiveBuckets = append(h.PositiveBuckets, int64(count)-previous)
		h.PositiveSpans[len(h.PositiveSpans)-1].Length++
		previous = int64(count)
		next++
	}
	for i, b := range d.buckets {
		if gap := b.index - next; i == 0 || gap > 2 {
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: gap})
			next = b.index
		}
		for next < b.index {
			put(0)
		}
		put(b.count)
	}
	return h
}
