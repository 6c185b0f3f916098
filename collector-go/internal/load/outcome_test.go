package load

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSummarise(t *testing.T) {
	at := func(submitted, took int64, end End, records int) Outcome {
		return Outcome{IntendedMs: submitted - 10, SubmittedMs: submitted, FinishedMs: submitted + took, End: end, Records: records}
	}
	outcomes := []Outcome{
		at(499, 9000, Returned, 1),    // of the step before
		at(600, 300, Returned, 1),     // ends in the warm-up
		at(900, 190, Returned, 10),    // lives into the measured time
		at(1500, 30_000, Returned, 7), // ends long after the window and belongs to it
		at(1600, 5, Failed, 0),        //
		at(1700, 5, Unfinished, 0),    //
		at(2000, 100, Returned, 1),    // after the window
	}
	s := Summarise(outcomes, Window{time.UnixMilli(500), time.UnixMilli(1000), time.UnixMilli(2000)})
	assert.Equal(t, []int{4, 2, 1, 1}, []int{s.Submitted, s.Returned, s.Failed, s.Unfinished})
	assert.InDelta(t, 8.5, s.AverageResultSize, 1e-12)
	assert.InDelta(t, 200, s.LatencyP50Ms, 1e-12, "counted from the intended start")
	assert.InDelta(t, 30_010, s.LatencyP99Ms, 1e-12)
	assert.InDelta(t, 15_105, s.LatencyMeanMs, 1e-12)
}

// Records that had to come count where it can be told which they are, and no query lacks more than it had to have.
func TestSummariseCountsWhatWasDue(t *testing.T) {
	s := Summarise([]Outcome{
		{SubmittedMs: 1, FinishedMs: 5, End: Returned, Records: 9, Generated: 12, Due: 10, Missing: 1},
		{SubmittedMs: 1, FinishedMs: 5, End: Returned, Records: 1, Generated: 3, Missing: 2},          // too short to tell
		{SubmittedMs: 1, FinishedMs: 5, End: Returned, Records: 0, Generated: 5, Due: 4, Missing: 9},  // no more than all
		{SubmittedMs: 1, FinishedMs: 5, End: Failed, Records: 0, Generated: 12, Due: 10, Missing: 10}, // has no answer
	}, Window{End: time.UnixMilli(10)})
	assert.Equal(t, []int{20, 14, 5}, []int{s.Generated, s.Due, s.Missing})
}

func TestSummariseNothing(t *testing.T) {
	s := Summarise(nil, Window{End: time.UnixMilli(1)})
	assert.True(t, math.IsNaN(s.AverageResultSize))
	assert.True(t, math.IsNaN(s.LatencyP99Ms))
	assert.Zero(t, s.Submitted)
}
