package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// TestASeriesThatComesBackIsStored checks a series that was idle for a day and returns under another id. It is stored,
// although the first id was active when it was forgotten.
func TestASeriesThatComesBackIsStored(t *testing.T) {
	s := NewState(DefaultOptions())
	assert.Equal(t, []string{"1 stored"}, say(s.Define(1, new(heap(60_000)))))
	assert.Empty(t, say(s.Forget([]uint32{1, 99})))
	assert.Equal(t, []string{"2 stored"}, say(s.Define(2, new(heap(60_000)))))
	verdict, _ := s.Judge(1)
	assert.Equal(t, Verdict{Outcome: Refused, Reason: ReasonUndefined}, verdict)

	// A journal that does not report what it forgot names the same series twice: the later id is valid.
	assert.Equal(t, []string{"2 left out: repeat", "3 stored"}, say(s.Define(3, new(heap(60_000)))))
	restored, err := Restore(s.Snapshot(), DefaultOptions())
	require.NoError(t, err)
	assert.Equal(t, []string{"2 left out: repeat", "3 stored"}, say(restored.Resume()))
}

// TestForgettingGivesWay checks that a series which a forgotten one overruled is stored from then on.
func TestForgettingGivesWay(t *testing.T) {
	s := NewState(DefaultOptions())
	s.Define(1, new(heap(10_000)))
	assert.Empty(t, say(s.Define(2, new(heap(60_000)))), "the shorter interval is stored")
	assert.Equal(t, []string{"2 stored"}, say(s.Forget([]uint32{1})))
	assert.Equal(t, []string{"2 left out: sampler", "3 stored"}, say(s.Define(3, new(sampledHeap()))))
	assert.Equal(t, []string{"2 stored"}, say(s.Forget([]uint32{3})), "the sampler is gone")
}

// TestForgettingLeavesNothing checks that a catalog that forgot its series equals a new one.
func TestForgettingLeavesNothing(t *testing.T) {
	raws := []metric.Raw{heap(10_000), heap(60_000), sampledHeap(), sampledGC()}
	rapid.Check(t, func(t *rapid.T) {
		forgot, never := NewState(DefaultOptions()), NewState(DefaultOptions())
		gone := rapid.SliceOfDistinct(rapid.IntRange(0, len(raws)-1), rapid.ID[int]).Draw(t, "gone")
		for i, raw := range raws {
			forgot.Define(uint32(i), &raw)
		}
		var ids []uint32
		for _, i := range gone {
			ids = append(ids, uint32(i))
		}
		forgot.Forget(ids)
		for i, raw := range raws {
			if forgot.entries.get(uint32(i)) != nil {
				never.Define(uint32(i), &raw)
			}
		}
		require.Equal(t, never.Snapshot(), forgot.Snapshot())
		require.Equal(t, say(never.Resume()), say(forgot.Resume()))
		require.Equal(t, len(never.stored), len(forgot.stored))
		require.Equal(t, never.candidates, forgot.candidates)
	})
}
