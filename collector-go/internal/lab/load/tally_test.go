package load

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTally(t *testing.T) {
	tally := NewTally()
	for i := range 1000 {
		tally.Add(Outcome{End: Returned, LatencyUs: int64(i+1) * 1000, LateUs: 50, Records: 10, Expected: 10})
	}
	tally.Add(Outcome{End: Returned, LatencyUs: 5_000_000, Records: 7, Expected: 10, Missing: 3})
	tally.Add(Outcome{End: TimedOut, LatencyUs: 45_000_000, Error: "deadline"})
	tally.Add(Outcome{End: NotSubmitted, LatencyUs: 2_000_000})
	tally.Add(Outcome{End: Failed, LatencyUs: 1000, Error: "429"})
	tally.Add(Outcome{End: CutOff, LatencyUs: 1000, Error: "canceled"})
	r := tally.Result()
	assert.Equal(t, []int{1001, 1, 1, 1, 1}, []int{r.Returned, r.Failed, r.TimedOut, r.NotSubmitted, r.CutOff})
	assert.Equal(t, 1003, r.Latency.Count)
	assert.Equal(t, 2, r.LowerBounds)
	assert.InEpsilon(t, 0.5, r.Latency.P50, 0.01)
	assert.InEpsilon(t, 45, r.Latency.Most, 0.001)
	assert.InEpsilon(t, 50e-6, r.Lateness.P50, 0.01)
	assert.InDelta(t, 1-3/10010.0, r.Completeness(), 1e-12)
	assert.Equal(t, 1, r.Incomplete)
	assert.InDelta(t, 3/1004.0, r.FailedShare(), 1e-12)
	assert.Equal(t, []ErrorCount{{"429", 1}, {"deadline", 1}}, r.Errors, "what was cut off is no error")
}

func TestATallyOfNothing(t *testing.T) {
	r := NewTally().Result()
	assert.True(t, math.IsNaN(r.Latency.P99) && math.IsNaN(r.Completeness()) && math.IsNaN(r.FailedShare()))
}

func TestDifferentErrorsAreBounded(t *testing.T) {
	tally := NewTally()
	for i := range 3 * maxErrors {
		tally.Add(Outcome{End: Failed, Error: fmt.Sprint(i)})
	}
	r := tally.Result()
	assert.Len(t, r.Errors, maxErrors+1)
	assert.Equal(t, ErrorCount{otherErrors, 2 * maxErrors}, r.Errors[0])
}

func TestThresholds(t *testing.T) {
	tally := NewTally()
	for range 100 {
		tally.Add(Outcome{End: Returned, LatencyUs: 150_000, Expected: 10})
	}
	tally.Add(Outcome{End: Failed, Error: "429"})
	for text, kept := range map[string]bool{
		"p99<200ms": true, "p99 < 0.1s": false, "p(99.9)<=151ms": true, "p(95)>1s": false, "failed<1%": true,
		"failed<0.005":        false,
		"completeness>=0.999": true, "completeness>=100%": true, "returned>=100": true, "not_submitted<1": true,
		"max<1m": true, "client_late_p99<1s": true,
	} {
		threshold, err := ParseThreshold(text)
		require.NoError(t, err, text)
		assert.Equal(t, kept, threshold.Judge(tally.Result()).Kept, text)
	}
	threshold, err := ParseThreshold("p99<200ms")
	require.NoError(t, err)
	assert.Equal(t, "no value", threshold.Judge(NewTally().Result()).Shown)
	assert.False(t, threshold.Judge(NewTally().Result()).Kept, "nothing measured keeps nothing")
	for text, says := range map[string]string{
		"p99":            "is not a threshold",
		"p98<1s":         "unknown metric \"p98\"; known metrics: client_late_max,",
		"p99<200":        "add a unit, for example 200ms",
		"failed<1s":      "does not have the unit s",
		"returned>50%":   "does not have the unit %",
		"p99<1.2.3ms":    "is not a number",
		"completeness>x": "is not a threshold",
	} {
		_, err := ParseThreshold(text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), says)
	}
}

func TestATimelineKeepsWhatFits(t *testing.T) {
	var timeline Timeline
	for i := range 5 * maxMoments {
		timeline.add(Moment{TimeMs: int64(i)})
	}
	moments := timeline.Moments()
	assert.Less(t, len(moments), maxMoments)
	assert.Greater(t, len(moments), maxMoments/4)
	step := moments[1].TimeMs - moments[0].TimeMs
	for i, m := range moments {
		require.Equal(t, moments[0].TimeMs+int64(i)*step, m.TimeMs, "evenly spread")
	}
}

func TestATimelineWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timeline Timeline
		tally := NewTally()
		loop, err := NewOpenLoop(quick(), newCounter(), DefaultOpenOptions(20, 10*time.Second), tally.Add)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); timeline.Watch(ctx, time.Second, loop, tally, nil) }()
		loop.Run(t.Context())
		cancel()
		<-done
		moments := timeline.Moments()
		require.GreaterOrEqual(t, len(moments), 9)
		assert.InDelta(t, 100, moments[4].Returned, 2)
		assert.Equal(t, 1, moments[len(moments)-1].MostInFlight, "each has ended before the next begins")
		assert.NotNil(t, moments[4].P99Ms)
	})
}
