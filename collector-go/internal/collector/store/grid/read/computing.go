package read

import (
	"math"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// computing is an iterator over results instead of slices. For every instant it returns the result of a function over
// the window that ends there, or a gap marker if there is no result. It computes all windows when it first moves. The
// engine then treats the results as samples of a plain selector (decision 15).
type computing struct {
	iterator
	begun   bool
	windows windows
	results []float64
	at      int
}

// reset prepares the iterator for another series, and keeps its buffers.
func (c *computing) reset(s *series) {
	c.iterator.reset(s)
	c.begun, c.results, c.at = false, c.results[:0], -1
}

// begin computes all windows. It first tries without the slices of sources that levels describe. If these overlap with
// slices of other sources, it reads everything and computes again.
func (c *computing) begin() {
	c.begun = true
	c.windows.spans = c.windows.spans[:0]
	if c.outlined(); c.err == nil && !c.compute() {
		c.windows.spans = c.windows.spans[:0]
		c.iterator.reset(c.series) // after this, no source is skipped
		c.compute()
	}
}

// compute reads the sources without an outline, and computes. It returns false if an outlined source overlaps with
// slices of others. A distribution ends the query with plan.ErrNotComputed, and the engine then evaluates it alone.
func (c *computing) compute() bool {
	if c.start(); c.err != nil || c.series.noSlices {
		return true
	}
	alone := true
	for i := range c.all {
		if c.all[i].Histograms != nil {
			c.err = plan.ErrNotComputed
			return true
		}
		alone = alone && (i == 0 || c.all[i].msOf(c.all[i].first) > c.all[i-1].msOf(c.all[i-1].last))
	}
	switch {
	case alone:
		function := c.series.windows.Function
		for i := range c.all {
			c.windows.addRun(&c.all[i], function == plan.Rate || function == plan.Increase)
		}
		if !c.windows.inOrder() {
			return false
		}
	case len(c.skip) > 0:
		return false
	default:
		c.windows.addMerged(&c.iterator)
	}
	c.results = c.windows.compute(c.series.windows, c.results)
	c.end()
	return true
}

// Next moves to the next instant.
func (c *computing) Next() chunkenc.ValueType {
	if !c.begun {
		c.begin()
	}
	c.at++
	return c.stands()
}

// Seek moves to the first instant whose result is not before ms. It does not move if that is already so.
func (c *computing) Seek(ms milliseconds) chunkenc.ValueType {
	if !c.begun {
		c.begin()
	}
	w := &c.series.windows
	if c.at = max(c.at, 0); ms > w.FirstMs+w.OffsetMs {
		c.at = max(c.at, int(min((ms-w.FirstMs-w.OffsetMs+w.StepMs-1)/w.StepMs, math.MaxInt32)))
	}
	return c.stands()
}

// stands returns whether the iterator is at a result.
func (c *computing) stands() chunkenc.ValueType {
	if c.at >= len(c.results) {
		c.at = len(c.results)
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

// At returns the time and value of the current result.
func (c *computing) At() (int64, float64) { return c.AtT(), c.results[c.at] }

// AtT returns the time of the current result.
func (c *computing) AtT() int64 {
	w := &c.series.windows
	return w.FirstMs + int64(c.at)*w.StepMs + w.OffsetMs
}

// stale is the gap marker, which stands for a window without a result.
var stale = math.Float64frombits(value.StaleNaN)
