// Package slice defines what the slicer hands to a store: closed slices, as columns. It is the port between the two, so
// that neither imports the other. It also holds the bounds on clock skew (clock.go), which the slicer and the registry
// share.
package slice

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Ref names an output series within one feed; refs are dense, from 0, and the same after a replay of the same journal.
type Ref uint32

// Definition introduces a series; it comes before the first slice that uses its Ref, in the same Columns or an earlier
// one. After a restore from a checkpoint every live definition comes again.
type Definition struct {
	Ref    Ref
	Series metric.Series
	// IntervalMs is how far apart the series' slices are: the larger of the slice's width and the series' own interval.
	IntervalMs int64
}

// Columns are closed slices. A slice never changes once it is here: a store that is given the same columns again (after
// a replay) is given the same bits.
//
// Values[i] of series Refs[i] belongs to the slice that ends at EndsMs[i]. A gap's marker is Prometheus' stale NaN
// (model/value.StaleNaN). Histograms are apart, in the same manner; a nil histogram is a gap's marker.
type Columns struct {
	Definitions []Definition

	Refs   []Ref
	EndsMs []int64
	Values []float64

	// Retired are series that get no further slice under their Ref: whatever is kept by it can go, once what closed
	// before is stored.
	Retired []Ref

	HistogramRefs   []Ref
	HistogramEndsMs []int64
	Histograms      []*histogram.Histogram
}

// Len is the number of slices, markers included.
func (c *Columns) Len() int { return len(c.Refs) + len(c.HistogramRefs) }

// Reset empties the columns and keeps their memory.
func (c *Columns) Reset() {
	c.Definitions, c.Retired = c.Definitions[:0], c.Retired[:0]
	c.Refs, c.EndsMs, c.Values = c.Refs[:0], c.EndsMs[:0], c.Values[:0]
	c.HistogramRefs, c.HistogramEndsMs, c.Histograms = c.HistogramRefs[:0], c.HistogramEndsMs[:0], c.Histograms[:0]
}
