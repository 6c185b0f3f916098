package registry

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// Blocks say who reports as columns do, and what the journal forgets is gone.
func TestSourcesOfBlocks(t *testing.T) {
	all := newSources()
	for id := range journal.SeriesID(4) { // two of each of two tasks
		all.define(&journal.SeriesDefined{ID: id + 1, Series: metric.Raw{Worker: metric.Worker{Host: "h", Port: 1}, Component: "c", Task: int32(id / 2), Name: "n"}})
	}
	all.defineLayout(&journal.LayoutDefined{ID: 7, Series: []journal.SeriesID{1, 2, 3, 4}})
	seen := func(presence []byte) map[int32]int64 {
		tasks := map[int32]int64{}
		b := journal.Block{Layout: 7, Block: block.Block{Columns: 4, Rows: 2, FirstMs: 1000, StepMs: 10, Presence: presence}}
		for _, src := range all.seenIn(&journal.Batch{Blocks: []journal.Block{b}}) {
			tasks[src.task] = src.newestMs
		}
		return tasks
	}
	require.Equal(t, map[int32]int64{0: 1010, 1: 1010}, seen(nil))
	require.Equal(t, map[int32]int64{0: 1010}, seen([]byte{0b00001001}))
	require.Equal(t, map[int32]int64{1: 1000}, seen([]byte{0b00010000}))
	all.forget(&journal.Forgotten{Series: []journal.SeriesID{3, 4}, Layouts: []journal.LayoutID{7}})
	require.Empty(t, seen(nil))
	require.Len(t, all.unique, 1)
	require.Len(t, all.bySeries, 2)
}
