package tuning

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Filter bolts on two hosts whose clocks are 100 ms apart leave no skew that fits all records, and the report states
// why.
func TestSeveralClocksInOneIntervalAreFlagged(t *testing.T) {
	clocks := map[string]string{QuerySubmitted: "client", QueryReturned: "client", BulletFiltered: "filters",
		QueryReceived: "join", QueryFinished: "join"}
	var traces []Trace
	for i := range 20 {
		ahead := []float64{-50, 50}[i%2]
		traces = append(traces,
			Trace{AtMs: map[string]float64{QuerySubmitted: 0, QueryReceived: 2, BulletFiltered: 5 + ahead,
				QueryFinished: 8, QueryReturned: 10}})
	}
	all := TimelineOf(traces, 20, false, clocks).Skews
	notes := Clocks{"filters": 2}.Flag(all)
	s := all[0]
	require.Equal(t, []string{"client", "filters"}, []string{s.From, s.To})
	assert.True(t, s.Empty())
	assert.Equal(t, []int{0, 2}, []int{s.FromClocks, s.ToClocks})
	assert.Contains(t, notes[0],
		"No single skew between client and filters fits all records (at least 44 ms, at most -44 ms), because these are several clocks: one clock and those of 2 hosts.")

	assert.Contains(t, Clocks{}.Flag(all)[0], "contradict each other")
	assert.Contains(t, Clocks{"a": 3}.Flag([]Skew{{From: "a", To: "b", LeastMs: -1, MostMs: 4}})[0],
		"several clocks together (those of 3 hosts and one clock)")
	assert.Contains(t, Clocks{}.Flag([]Skew{{From: "a", To: "b", LeastMs: 2, MostMs: 4}})[0], "certainly differ")
	assert.Empty(t, Clocks{"a": 1}.Flag([]Skew{{From: "a", To: "b", LeastMs: -1, MostMs: 4},
		{From: "a", To: "c", LeastMs: Unknown, MostMs: 1}}))
}

func TestTheClockOfAHost(t *testing.T) {
	a, ok := HostClockOf("a", 2, []Figure{-12, Unknown, -4, -8})
	require.True(t, ok)
	assert.Equal(t, HostClock{Host: "a", Workers: 2, Readings: 3, AheadMs: -4, MeanMs: -8, DeviationMs: 4,
		LowestMs: -12}, a)
	b, _ := HostClockOf("b", 1, []Figure{31})
	assert.True(t, math.IsNaN(float64(b.DeviationMs)))
	_, ok = HostClockOf("c", 1, []Figure{Unknown})
	assert.False(t, ok)
	assert.InDelta(t, 35, float64(Apart([]HostClock{a, b})), 1e-9)
	assert.False(t, Apart([]HostClock{a}).Known())
}
