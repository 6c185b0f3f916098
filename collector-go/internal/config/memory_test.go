package config

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBoundsFitTheMemory(t *testing.T) {
	const mib = int64(1 << 20)
	for name, c := range map[string]struct {
		heap  int64
		given []string
		want  []int // series, series of a topology, open samples, streams, bytes of a batch, samples of a query
		warns int
	}{
		"a large machine": {64 << 10 * mib, nil, []int{8_384_512, 250_000, 32 << 20, 384, 4 << 20, 50_000_000}, 0},
		"1 GiB":           {819 * mib, nil, []int{100_736, 100_736, 3_223_552, 256, 1_611_776, 6_447_104}, 0},
		"256 MiB":         {204 * mib, nil, []int{22_016, 22_016, 704_512, 86, 1 << 20, 1_409_024}, 0},
		"less than it needs": {10 * mib, nil, []int{leastSeries, leastSeries, leastSamples, leastStreams, leastBatch,
			leastSamples}, 0},
		"what is set stays": {204 * mib, []string{"limits.series_per_topology", "query.max_samples"},
			[]int{500_000, 250_000, 704_512, 86, 1 << 20, 50_000_000}, 2},
	} {
		fitted := Default()
		warnings := fitted.FitMemory(c.heap, func(key string) bool { return slices.Contains(c.given, key) })
		assert.Equal(t, c.want, []int{fitted.Memory.Series, fitted.Limits.SeriesPerTopology, fitted.Limits.OpenSamples,
			fitted.Limits.Streams, fitted.Limits.BatchBytes, fitted.Query.MaxSamples}, name)
		assert.Len(t, warnings, c.warns, name)
		assert.NoError(t, fitted.Validate(), name)
	}
}

// Each store on the network has a slicer of its own, which takes memory for each series.
func TestSeriesThatFitGetFewerWithEachStore(t *testing.T) {
	one, two := Default(), Default()
	two.Stores = map[string]map[string]*Store{"remote_write": {"a": {}}}
	never := func(string) bool { return false }
	one.FitMemory(1<<30, never)
	two.FitMemory(1<<30, never)
	assert.InEpsilon(t, one.Memory.Series*2/3, two.Memory.Series, 0.01)
}
