package grid

import (
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// head holds slices in memory until they are written into parts. It has one column for numbers and one for
// distributions, because their values have different types. A frozen head never changes, so queries and the writer can
// read it without copying.
type head struct {
	table         *table
	numbers       column[float64]
	distributions column[*histogram.Histogram]
	heap          int // estimate of the memory that histograms take, in bytes
}

func newHead(t *table) *head {
	return &head{
		table:         t,
		numbers:       column[float64]{same: sameBits},
		distributions: column[*histogram.Histogram]{same: sameHistogram},
	}
}

// sameBits compares numbers by their bits: NaN equals itself, and 0 differs from -0. A replayed slice must be
// recognised as the same one, whatever its value.
func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func sameHistogram(a, b *histogram.Histogram) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equals(b)
}

// slices returns the number of slices, gap markers included.
func (h *head) slices() int { return h.numbers.slices + h.distributions.slices }

// series returns the number of series with slices. A series with numbers and distributions counts twice.
func (h *head) series() int { return h.numbers.series + h.distributions.series }

// bytes returns the memory that the head takes, without its table.
func (h *head) bytes() int { return h.numbers.bytes() + h.distributions.bytes() + h.heap }

// histogramBytes estimates the memory that a histogram takes, in bytes.
func histogramBytes(v *histogram.Histogram) int {
	if v == nil {
		return 0
	}
	return 160 + 8*(len(v.PositiveSpans)+len(v.NegativeSpans)+len(v.PositiveBuckets)+len(v.NegativeBuckets)+
		len(v.CustomValues))
}

// holds reports whether a series may have slices within [minMs, maxMs].
func (h *head) holds(id uint32, minMs, maxMs int64) bool {
	return h.numbers.holds(id, minMs, maxMs) || h.distributions.holds(id, minMs, maxMs)
}

// reading holds the buffers for making runs from a head. While a part is written they are reused for each series.
type reading struct {
	numbers       collector[float64]
	distributions collector[*histogram.Histogram]
}

func (k *reading) reset() {
	k.numbers.reset()
	k.distributions.reset()
}

// runs appends the runs of a series' slices within [minMs, maxMs], without slices outside of it. The values of the runs
// belong to k, and are valid until its next reset.
func (h *head) runs(k *reading, id uint32, minMs, maxMs int64, to []run.Run) []run.Run {
	first := len(to)
	h.numbers.collect(&k.numbers, id, minMs, maxMs, func(r run.Run, values []float64) {
		r.Values = values
		to = append(to, r)
	})
	h.distributions.collect(&k.distributions, id, minMs, maxMs, func(r run.Run, values []*histogram.Histogram) {
		r.Histograms = values
		to = append(to, r)
	})
	sortRuns(to[first:])
	return to
}

// partitions returns the beginnings of all partitions of widthMs in which the head has slices, in ascending order.
func (h *head) partitions(widthMs int64) []int64 {
	all := map[int64]bool{}
	last := int64(math.MinInt64)
	note := func(endMs int64) {
		if at := floor(endMs, widthMs); at != last {
			all[at], last = true, at
		}
	}
	h.numbers.times(widthMs, note)
	h.distributions.times(widthMs, note)
	return slices.Sorted(maps.Keys(all))
}

// floor returns the largest multiple of width that is not above ms.
func floor(ms, width int64) int64 { return ms - ((ms%width)+width)%width }
