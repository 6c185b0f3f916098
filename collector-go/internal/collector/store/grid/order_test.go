package grid

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever labels series have, and however many arrive at once, their order is the same as if all were compared with
// each other.
func TestOrderOfSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newTable()
		var o order
		var lock sync.RWMutex
		name := rapid.SampledFrom([]string{"__name__", "a", "b", "bb", "c", "z"})
		value := rapid.SampledFrom([]string{"", "1", "10", "2", "a", "b", "\xff"})
		for range rapid.IntRange(1, 3).Draw(t, "flushes") {
			some := rapid.SliceOfN(rapid.MapOfN(name, value, 1, 6), 1, 60).Draw(t, "series")
			many := rapid.SampledFrom([]int{0, 0, manyNew}).Draw(t, "others")
			for i := range many {
				some = append(some, map[string]string{"b": fmt.Sprint(i), "m": "of many"})
			}
			for _, one := range some {
				l := labels.FromMap(one).WithoutEmpty()
				if _, known := table.find(l); !known && !l.IsEmpty() {
					table.add(l)
				}
			}
			all := slices.Clone(table.labels)
			table.add(labels.FromStrings("later", fmt.Sprint(len(all)))) // not part of the order
			got := o.of(&lock, table, all)
			var want []uint32
			for id := range all {
				want = append(want, uint32(id))
			}
			slices.SortFunc(want, func(a, b uint32) int { return labels.Compare(all[a], all[b]) })
			require.Equal(t, want, got)
			if len(all) > 0 {
				require.Equal(t, want, byLabels(table.index.valuesByName(), len(all)))
			}
		}
	})
}
