package load

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

func TestSummarise(t *testing.T) {
	at := func(submitted, took int64, end End, records int) Outcome {
		return Outcome{IntendedMs: submitted - 10, SubmittedMs: submitted, FinishedMs: submitted + took, LateUs: 2000,
			End: end, Records: records}
	}
	outcomes := []Outcome{
		at(509, 9000, Returned, 1),    // scheduled in the step before
		at(600, 300, Returned, 1),     // ends in the warm-up
		at(900, 190, Returned, 10),    // lives into the measured time
		at(1500, 30_000, Returned, 7), // ends long after the window and belongs to it
		at(1600, 5, Failed, 0),        //
		at(1700, 5, CutOff, 0),        //
		at(2010, 100, Returned, 1),    // scheduled after the window
	}
	window := Window{time.UnixMilli(500), time.UnixMilli(1000), time.UnixMilli(2000)}
	s := Summarise(outcomes, window)
	assert.Equal(t, []int{4, 2, 1, 1}, []int{s.Submitted, s.Returned, s.Failed, s.CutOff})
	assert.InDelta(t, 8.5, float64(s.AverageResultSize), 1e-12)
	assert.InDelta(t, 200, float64(s.LatencyP50Ms), 1e-12, "counted from the intended start")
	assert.InDelta(t, 30_010, float64(s.LatencyP99Ms), 1e-12)
	assert.InDelta(t, 15_105, float64(s.LatencyMeanMs), 1e-12)
	assert.InDelta(t, 2, float64(s.LatenessP99Ms), 1e-12)
	assert.Zero(t, s.LowerBounds)
}

// A stall delays queries beyond the window, or prevents their submission or answer. None of them may be left out.
func TestWhatAStallHoldsUpIsInTheSummary(t *testing.T) {
	window := Window{time.UnixMilli(0), time.UnixMilli(1000), time.UnixMilli(2000)}
	outcomes := []Outcome{
		{IntendedMs: 1100, SubmittedMs: 1100, FinishedMs: 1110, LatencyUs: 10_000, End: Returned},
		// submitted after the window
		{IntendedMs: 1900, SubmittedMs: 2300, FinishedMs: 2310, LatencyUs: 410_000, LateUs: 400_000, End: Returned},
		{IntendedMs: 1200, SubmittedMs: 1200, FinishedMs: 46_200, LatencyUs: 45_000_000, End: TimedOut},
		{IntendedMs: 1300, SubmittedMs: 1300, FinishedMs: 41_300, LatencyUs: 40_000_000, End: Unfinished},
		{IntendedMs: 1400, SubmittedMs: 2000, FinishedMs: 2000, LatencyUs: 600_000, End: NotSubmitted},
		{IntendedMs: 1500, SubmittedMs: 1500, FinishedMs: 1501, LatencyUs: 1000, End: Failed, Refused: true},
	}
	s := Summarise(outcomes, window)
	assert.Equal(t, runstore.Clients{Submitted: 5, Returned: 2, Failed: 2, Unfinished: 1, NotSubmitted: 1, Refused: 1,
		LowerBounds:   3,
		LatencyMeanMs: (10 + 410 + 45_000 + 40_000 + 600) / 5.0, LatencyP50Ms: 600, LatencyP99Ms: 45_000,
		LatenessP99Ms: 400}, s)
	assert.Equal(t, []float64{10, 410, 600, 40_000, 45_000}, Latencies(outcomes, window))
}

// Expected records count only if they are known, and no query lacks more records than were expected.
func TestSummariseCountsWhatWasScheduled(t *testing.T) {
	s := Summarise([]Outcome{
		{SubmittedMs: 1, FinishedMs: 5, End: Returned, Records: 9, Generated: 12, Expected: 10, Missing: 1},
		// too short to know which records were expected
		{SubmittedMs: 1, FinishedMs: 5, End: Returned, Records: 1, Generated: 3, Missing: 2},
		// at most all expected records are missing
		{SubmittedMs: 1, FinishedMs: 5, End: Returned, Records: 0, Generated: 5, Expected: 4, Missing: 9},
		// a failed query has no answer
		{SubmittedMs: 1, FinishedMs: 5, End: Failed, Records: 0, Generated: 12, Expected: 10, Missing: 10},
	}, Window{End: time.UnixMilli(10)})
	assert.Equal(t, []int{20, 14, 5}, []int{s.GeneratedRecords, s.ExpectedRecords, s.MissingRecords})
}

func TestSummariseNothing(t *testing.T) {
	s := Summarise(nil, Window{End: time.UnixMilli(1)})
	assert.True(t, math.IsNaN(float64(s.AverageResultSize)))
	assert.True(t, math.IsNaN(float64(s.LatencyP99Ms)))
	assert.True(t, math.IsNaN(float64(s.LatenessP99Ms)))
	assert.Zero(t, s.Submitted)
}
