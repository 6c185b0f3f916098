package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Points that say nothing about the topology change neither capacity nor knee. A point that was judged by more than
// its latency keeps its verdict, unless the requested limit is stricter.
func TestVerdictsThatWereGiven(t *testing.T) {
	row := func(latencies map[int]float64, verdicts map[int]tuning.Verdict) tuning.QueryRow {
		var points []tuning.QueryPoint
		for queries, ms := range latencies {
			points = append(points, tuning.QueryPoint{FilterBolts: 4, Queries: queries, LatencyMs: ms,
				TopologyCPUCores: 10, TopologyMemoryMiB: tuning.Unknown, Verdict: verdicts[queries]})
		}
		q, err := tuning.AnalyzeQueries(points, tuning.QueryGoals{LimitMs: 200, Headroom: 0.2, Confidence: 0.95})
		require.NoError(t, err)
		return q.Rows[0]
	}
	latencies := map[int]float64{10: 7, 20: 8, 30: 9, 40: 12, 50: 160, 60: 1000}
	plain := row(latencies, nil)
	assert.Equal(t, []float64{50, 60}, []float64{*plain.Capacity.LastOK, *plain.Capacity.FirstFail})
	require.NotNil(t, plain.Knee)
	assert.Equal(t, 40, plain.Knee.Queries)

	spoilt := row(map[int]float64{10: 7, 20: 8, 25: 500, 30: 9, 40: 12, 45: 180, 50: 160, 60: 1000},
		map[int]tuning.Verdict{25: tuning.Inconclusive, 45: tuning.Limited})
	assert.Equal(t, plain.Capacity, spoilt.Capacity)
	assert.Equal(t, plain.Knee, spoilt.Knee)
	assert.Len(t, spoilt.Points, 8, "they are shown")

	failed := row(latencies, map[int]tuning.Verdict{30: tuning.Fail})
	assert.Equal(t, []float64{20, 30}, []float64{*failed.Capacity.LastOK, *failed.Capacity.FirstFail})
	stricter := row(latencies, map[int]tuning.Verdict{60: tuning.OK})
	assert.Equal(t, 60.0, *stricter.Capacity.FirstFail, "OK by a limit that was not this one")
}
