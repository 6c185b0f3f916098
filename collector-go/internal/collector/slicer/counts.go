package slicer

import "maps"

// Reason is why the slicer refused a sample.
type Reason string

// The reasons.
const (
	RefusedNonsense    Reason = "nonsense"     // a value or a time that makes no sense for its metric
	RefusedShape       Reason = "shape"        // a number for a distribution, or the reverse
	RefusedCollision   Reason = "collision"    // another series has the same name and labels
	RefusedSeriesLimit Reason = "series_limit" // more series than MaxSeries
	RefusedOpenLimit   Reason = "open_limit"   // more open samples than MaxOpenSamples

	// RefusedRepeated counts samples of a time that their worker's clock had reached before: it was set back.
	RefusedRepeated Reason = "repeated_time"
	// RefusedDuplicate counts samples beside another of the same series and time: two producers report one worker, or
	// one task reports two metrics of one name.
	RefusedDuplicate Reason = "duplicate"

	// Unlimited counts limits whose value means "no limit" (-1 or beyond any real one): not stored. Counted with the
	// refused, but not a fault.
	Unlimited Reason = "unlimited"
)

// Counts are the slicer's side of the books, since the journal's beginning: every sample that Add took is in one of
// these, or was handed back by Retract.
type Counts struct {
	InSlices uint64            // samples that are part of a closed slice
	Open     uint64            // samples of slices that are still open
	Late     uint64            // samples whose slice was closed when they came
	Refused  map[Reason]uint64 // samples that are of no use

	Slices  uint64 // values that were written: a gauge's slice with its least and greatest counts three
	Markers uint64 // gap markers that were written
	Series  uint64 // series that are defined now
	Sources uint64 // workers that are known now
}

// Counts are the books now.
func (s *Slicer) Counts() Counts {
	c := s.counts
	c.Open = uint64(s.open)
	c.Refused = maps.Clone(s.counts.Refused)
	c.Series = uint64(len(s.outputs))
	c.Sources = uint64(len(s.sources))
	return c
}
