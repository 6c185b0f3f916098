package grid

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A series with ten minutes of slices takes at most 1 KB including its labels, and the store estimates that correctly.
func TestMemoryOfASeries(t *testing.T) {
	const series, ticks = 50_000, 60
	p := newHarness(t, tame, func(o *Options) { o.HeadBytes = 1 << 30 })
	s := p.open(t)
	before := heap()
	c := cluster(series)
	for i := range ticks {
		for at := range c.EndsMs {
			c.EndsMs[at], c.Values[at] = today+int64(i)*10_000, float64(i*at)
		}
		_, err := s.Append(t.Context(), uint64(i+1), c)
		require.NoError(t, err)
		c.Definitions = nil // only the store refers to the labels now
	}
	columns := 24*len(c.Refs) + 8*len(c.Refs)
	c = &slice.Columns{}
	taken := heap() - before
	slices, table := s.Memory()
	t.Logf("%d B a series with %d slices: %d B in chunks, %d B in labels and index (columns of a hand-over: %d B)",
		taken/series, ticks, slices/series, table/series, columns/series)
	assert.Less(t, taken/series, 1000)
	assert.InEpsilon(t, taken, slices+table, 0.2)
	runtime.KeepAlive(c)
}
