package slicer

import "maps"

// Reason identifies why the slicer refused a sample. It is the value of the label "reason".
type Reason string

// The reasons for which samples are refused.
const (
	RefusedNonsense    Reason = "nonsense"     // a value or a time that makes no sense for its metric
	RefusedShape       Reason = "shape"        // a number for a distribution, or the reverse
	RefusedCollision   Reason = "collision"    // another series has the same name and labels
	RefusedSeriesLimit Reason = "series_limit" // more series than MaxSeries
	RefusedOpenLimit   Reason = "open_limit"   // more open samples than MaxOpenSamples

	// RefusedRepeated counts samples whose time the worker's clock had reached before: the clock was set back.
	RefusedRepeated Reason = "repeated_time"
	// RefusedDuplicate counts samples of a series that already has a sample of that time. Either two producers report
	// one worker, or one task reports two metrics with the same name.
	RefusedDuplicate Reason = "duplicate"

	// Unlimited counts values that mean "no limit": -1, or a value beyond any real limit. They are not stored. They are
	// counted with the refused samples but are not a fault.
	Unlimited Reason = "unlimited"
)

// Counts is the slicer's part of the accounting, since the journal's beginning. Every sample that Add accepted is in
// one of the first four counts, or was returned by Retract.
type Counts struct {
	InSlices uint64            // samples that are part of a closed slice
	Open     uint64            // samples of slices that are still open
	Late     uint64            // samples whose slice was already closed when they arrived
	Refused  map[Reason]uint64 // samples that cannot be used

	Slices  uint64 // values that were written: a slice of a gauge with least and greatest counts as three
	Markers uint64 // gap markers that were written
	Series  uint64 // series that are defined now
	Sources uint64 // workers that are known now
}

// Counts returns a copy of the counts.
func (s *Slicer) Counts() Counts {
	c := s.counts
	c.Open = uint64(s.open)
	c.Refused = maps.Clone(s.counts.Refused)
	c.Series = uint64(len(s.outputs))
	c.Sources = uint64(len(s.sources))
	return c
}
