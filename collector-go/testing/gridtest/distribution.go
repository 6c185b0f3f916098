package gridtest

import (
	"math/rand/v2"

	"github.com/prometheus/prometheus/model/histogram"
)

// distribution counts observations in exponential buckets, as a source does between two restarts.
type distribution struct {
	schema   int32
	zero     uint64
	negative bool
	counts   map[int32]uint64 // by bucket
	below    map[int32]uint64 // of negative observations
	sum      float64
	hints    hints
	last     *histogram.FloatHistogram // that it gave
}

// hints are what a source reports about resets.
type hints int

const (
	noHints    hints = iota
	resetHints       // whether it started again, which is what its buckets say too
	gaugeHints       // that it does not count
)

func newDistribution(r *rand.Rand) *distribution {
	d := &distribution{schema: int32(r.IntN(4)), negative: r.IntN(4) == 0, hints: hints(r.IntN(3))}
	d.restart()
	return d
}

// restart begins with one observation on each side that will have some: whether a side has buckets at all decides how
// far the zero bucket reaches, and Prometheus' store gives distributions of one chunk the empty buckets of those that
// come later in it.
func (d *distribution) restart() {
	d.zero, d.sum, d.counts, d.below = 0, 1, map[int32]uint64{0: 1}, map[int32]uint64{}
	if d.negative {
		d.below[0] = 1
	}
}

// observe adds some observations; now and then the source restarts, or merges to the coarser schema.
func (d *distribution) observe(r *rand.Rand) {
	switch r.IntN(120) {
	case 0:
		d.restart()
	case 1:
		d.restart()
		d.schema = int32(r.IntN(4))
	case 2:
		d.coarsen()
	}
	for range r.IntN(6) {
		bucket := int32(r.IntN(12)+r.IntN(12)) - 6
		d.counts[bucket] += uint64(1 + r.IntN(40))
		d.sum += r.ExpFloat64()
		if d.negative && r.IntN(3) == 0 {
			d.below[bucket]++
			d.sum -= r.Float64()
		}
	}
	d.zero += uint64(r.IntN(2))
}

// coarsen goes one schema down and keeps the counts, if there is one.
func (d *distribution) coarsen() {
	if d.schema == 0 {
		return
	}
	d.schema--
	for _, counts := range []*map[int32]uint64{&d.counts, &d.below} {
		merged := map[int32]uint64{}
		for bucket, n := range *counts {
			merged[(bucket+1)>>1] += n
		}
		*counts = merged
	}
}

func (d *distribution) cumulative() *histogram.Histogram {
	h := &histogram.Histogram{Schema: d.schema, ZeroThreshold: 0.0005, ZeroCount: d.zero, Count: d.zero, Sum: d.sum}
	h.PositiveSpans, h.PositiveBuckets = spans(d.counts)
	h.NegativeSpans, h.NegativeBuckets = spans(d.below)
	for _, counts := range []map[int32]uint64{d.counts, d.below} {
		for _, n := range counts {
			h.Count += n
		}
	}
	d.hint(h)
	return h
}

func (d *distribution) hint(h *histogram.Histogram) {
	now := h.ToFloat(nil)
	switch {
	case d.hints == gaugeHints:
		h.CounterResetHint = histogram.GaugeType
	case d.hints == resetHints && d.last != nil:
		h.CounterResetHint = histogram.NotCounterReset
		if now.DetectReset(d.last) {
			h.CounterResetHint = histogram.CounterReset
		}
	}
	d.last = now
}

// spans are the buckets in the form of a native histogram: counts as differences.
func spans(counts map[int32]uint64) (spans []histogram.Span, differences []int64) {
	last, lastCount := int32(0), int64(0)
	for bucket := int32(-100); bucket <= 100; bucket++ {
		n, found := counts[bucket]
		if !found {
			continue
		}
		switch {
		case len(spans) == 0:
			spans = append(spans, histogram.Span{Offset: bucket, Length: 1})
		case bucket == last+1:
			spans[len(spans)-1].Length++
		default:
			spans = append(spans, histogram.Span{Offset: bucket - last - 1, Length: 1})
		}
		differences = append(differences, int64(n)-lastCount)
		last, lastCount = bucket, int64(n)
	}
	return spans, differences
}
