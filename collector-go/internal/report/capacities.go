package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// ComparedCapacity is the capacity of one configuration before and after.
type ComparedCapacity struct {
	Unit   string          `json:"unit"`
	Before tuning.Interval `json:"before"`
	After  tuning.Interval `json:"after"`
	// Overlap tells whether one capacity could lie in both intervals; null where nothing is known of one of them.
	Overlap *bool `json:"intervals_overlap"`
}

// compareCapacities is nil where the steps ascend along nothing that has a capacity, or not along the same.
func compareCapacities(a, b configuration) *ComparedCapacity {
	if a.unit == "" || a.unit != b.unit {
		return nil
	}
	c := &ComparedCapacity{Unit: a.unit, Before: a.capacity(), After: b.capacity()}
	if known(c.Before) && known(c.After) {
		overlap := c.Before.Overlaps(c.After)
		c.Overlap = &overlap
	}
	return c
}

// known tells whether an interval has an end.
func known(i tuning.Interval) bool { return i.LastOK != nil || i.FirstFail != nil }

// capacity is that of all launches of the configuration, their repeated attempts included.
func (c configuration) capacity() tuning.Interval {
	var all []tuning.Measured
	for _, l := range c.launches {
		all = append(all, l.judged...)
	}
	return tuning.IntervalOf(all)
}

// capacityUnit is what the capacity of a plan's configurations counts, "" where they have none.
func capacityUnit(plan rundir.Plan) string {
	if plan.Analysis == rundir.OfTimeline {
		return ""
	}
	return plan.Axis.Unit()
}

// text is the answer in a sentence without its full stop.
func (c ComparedCapacity) text() string {
	text := fmt.Sprintf("%s before, %s after (%s)", intervalText(c.Before), intervalText(c.After), c.Unit)
	switch {
	case c.Overlap == nil:
		return text + ": of one side nothing is known, so that they cannot be compared"
	case *c.Overlap:
		return text + ": the intervals overlap, so that the capacity may be the same"
	}
	return text + ": the intervals do not overlap, so that the capacity is another"
}

// overlapText is the answer in a cell.
func (c ComparedCapacity) overlapText() string {
	switch {
	case c.Overlap == nil:
		return "unknown"
	case *c.Overlap:
		return "yes"
	}
	return "no"
}

// capacityTable has a row for each configuration.
func (c *Comparison) capacityTable() table {
	t := table{Heads: []string{"Configuration", "Capacity before", "Capacity after", "Unit", "Intervals overlap"}, Numeric: []bool{false, true, true, false, false}}
	for _, p := range c.Configurations {
		if p.Capacity == nil {
			continue
		}
		name := p.After
		switch {
		case p.Before != p.After && p.Before != "":
			name = p.Before + " against " + p.After
		case name == "":
			name = "the only one"
		}
		t.Rows = append(t.Rows, []string{name, intervalText(p.Capacity.Before), intervalText(p.Capacity.After), p.Capacity.Unit, p.Capacity.overlapText()})
	}
	return t
}
