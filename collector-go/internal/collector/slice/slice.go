// Package slice defines what the slicer passes to a store: closed slices, as columns. Slicer and stores depend on this
// package, so that neither imports the other. It also holds the bounds on clock skew (clock.go), which the slicer and
// the registry share.
package slice

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Ref identifies an output series within one feed. Refs are dense from 0. A replay of the same journal assigns the same
// refs.
type Ref uint32

// Definition introduces a series. It comes in the same Columns as the first slice that uses its Ref, or in earlier
// ones. After a restore from a checkpoint, every live definition comes again.
type Definition struct {
	Ref    Ref
	Series metric.Series
	// IntervalMs is the distance of the series' slices in ms: the slice width or the series' own interval, whichever is
	// larger.
	IntervalMs int64
}

// Columns are closed slices. A closed slice never changes: if a store gets the same columns again after a replay, they
// are equal bit by bit.
//
// Values[i] of series Refs[i] belongs to the slice that ends at EndsMs[i]. The marker of a gap is Prometheus' stale NaN
// (model/value.StaleNaN). Histograms have columns of their own, and a nil histogram is the marker of a gap.
type Columns struct {
	Definitions []Definition

	Refs   []Ref
	EndsMs []int64
	Values []float64

	// Retired are series that get no more slices under their Ref. A store may forget a Ref when it has stored what
	// closed before.
	Retired []Ref

	HistogramRefs   []Ref
	HistogramEndsMs []int64
	Histograms      []*histogram.Histogram
}

// Len returns the number of slices, gap markers included.
func (c *Columns) Len() int { return len(c.Refs) + len(c.HistogramRefs) }

// Reset empties the columns and keeps their memory for reuse.
func (c *Columns) Reset() {
	c.Definitions, c.Retired = c.Definitions[:0], c.Retired[:0]
	c.Refs, c.EndsMs, c.Values = c.Refs[:0], c.EndsMs[:0], c.Values[:0]
	c.HistogramRefs, c.HistogramEndsMs, c.Histograms = c.HistogramRefs[:0], c.HistogramEndsMs[:0], c.Histograms[:0]
}
