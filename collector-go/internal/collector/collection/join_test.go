package collection

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func of(v float64) *float64 { return &v }

func TestJoin(t *testing.T) {
	earlier := &Collection{Topology: "bullet-1", Start: "1", End: "2", Dropped: map[string]uint64{"expired": 1},
		StormDropped: 2, IntervalSeconds: map[string]float64{"heap": 10, "cpu": 10}, Workers: []Worker{
			{Worker: "h:1", Restarts: 1, SkewSeconds: of(0.5), IntervalSeenRatio: of(3),
				Counts: Counts{Samples: 100, Missing: 2, Refused: map[string]uint64{"nonsense": 1}}, Metrics: []Metric{
					{Metric: "heap", IntervalSeconds: of(10), SeenMaxSeconds: of(30),
						Counts: Counts{Samples: 10, Missing: 2, Refused: map[string]uint64{"nonsense": 1}}}}},
			{Worker: "h:3", Counts: Counts{Samples: 1}}}}
	later := &Collection{Topology: "bullet-2", Start: "3", End: "4", Dropped: map[string]uint64{},
		IntervalSeconds: map[string]float64{"heap": 5}, Workers: []Worker{
			{Worker: "h:1", SkewSeconds: of(-1), Counts: Counts{Samples: 50, Late: 1,
				Refused: map[string]uint64{"nonsense": 2}}, Metrics: []Metric{
				{Metric: "heap", IntervalSeconds: of(5), SeenMaxSeconds: of(10),
					Counts: Counts{Samples: 5, Late: 1, Refused: map[string]uint64{"nonsense": 2}}}}}}}
	earlier.finish()
	later.finish()
	assert.False(t, earlier.Complete)
	assert.True(t, later.Complete)
	both := earlier.Join(later)
	assert.Equal(t, "1", both.Start)
	assert.Equal(t, "4", both.End)
	assert.Equal(t, "bullet-2", both.Topology)
	assert.False(t, both.Complete)
	assert.Equal(t, map[string]float64{"heap": 5, "cpu": 10}, both.IntervalSeconds)
	assert.Equal(t, Counts{Samples: 151, Missing: 2, Late: 1, Refused: map[string]uint64{"nonsense": 3}}, both.Counts)
	assert.Equal(t, uint64(2), both.StormDropped)
	assert.Len(t, both.Workers, 2)
	heap := both.Workers[0].Metrics[0]
	assert.Equal(t, []float64{5, 30, -1, 3}, []float64{*heap.IntervalSeconds, *heap.SeenMaxSeconds,
		*both.Workers[0].SkewSeconds, *both.Workers[0].IntervalSeenRatio})
	assert.Equal(t, uint64(150), both.Workers[0].Samples)
	assert.Equal(t, uint64(15), heap.Samples)
	assert.Equal(t, uint64(10), earlier.Workers[0].Metrics[0].Samples, "what is joined stays as it was")
	assert.Same(t, later, (*Collection)(nil).Join(later))
	assert.Same(t, earlier, earlier.Join(nil))
}

func TestWhatIsComplete(t *testing.T) {
	for name, c := range map[string]*Collection{
		"nothing came": {},
		"missing":      {Workers: []Worker{{Counts: Counts{Samples: 5, Missing: 1}}}},
		"no room": {
			Workers: []Worker{{Counts: Counts{Samples: 5, Refused: map[string]uint64{"series_limit": 1}}}}},
		"plugin dropped": {Dropped: map[string]uint64{"queue_full": 1},
			Workers: []Worker{{Counts: Counts{Samples: 5}}}},
		"storm dropped": {StormDropped: 1, Workers: []Worker{{Counts: Counts{Samples: 5}}}},
		"whole: nonsense": {
			Workers: []Worker{{Counts: Counts{Samples: 5, Refused: map[string]uint64{"nonsense": 1}}}}},
		"whole: no drops": {Dropped: map[string]uint64{"queue_full": 0},
			Workers: []Worker{{Counts: Counts{Samples: 5}}}},
	} {
		c.finish()
		assert.Equal(t, name[:5] == "whole", c.Complete, name)
	}
}
