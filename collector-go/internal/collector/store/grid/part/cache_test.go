package part

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// A sequence of parts, each with some of the series, is the same whether it is written with a cache or without.
func TestCacheChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []labels.Labels
		for i := range rapid.IntRange(1, 400).Draw(t, "series") {
			all = append(all, labels.FromStrings("__name__", "m", "task", fmt.Sprintf("%04d", i), "worker",
				fmt.Sprint(i%7)))
		}
		fs, cache := disktest.NewMemory(1), &Cache{}
		for number := range rapid.IntRange(1, 6).Draw(t, "parts") {
			from := rapid.IntRange(0, len(all)-1).Draw(t, "from")
			if rapid.Bool().Draw(t, "all") {
				from = 0
			}
			some := all[from:]
			without := rapid.IntRange(0, 3*len(some)).Draw(t, "without")
			write := func(name string, o WriterOptions) []byte {
				w, err := Create(fs, name, o)
				require.NoError(t, err)
				for i, l := range some {
					if i != without {
						require.NoError(t, w.Add(l, []run.Run{{FirstMs: 1, StepMs: 1, Values: []float64{float64(i)}}}))
					}
				}
				_, err = w.Finish()
				require.NoError(t, err)
				f, err := fs.Open(name)
				require.NoError(t, err)
				size, err := f.Size()
				require.NoError(t, err)
				b := make([]byte, size)
				_, _ = f.ReadAt(b, 0)
				require.NoError(t, f.Close())
				return b
			}
			require.Equal(t, write(fmt.Sprintf("plain-%d", number), WriterOptions{}),
				write(fmt.Sprintf("cached-%d", number), WriterOptions{Cache: cache}))
		}
	})
}

// Series that are out of order are refused even if the cache has them.
func TestCacheKeepsOrder(t *testing.T) {
	a, b := labels.FromStrings("a", "1"), labels.FromStrings("a", "2")
	fs, cache := disktest.NewMemory(1), &Cache{}
	one := []run.Run{{FirstMs: 1, StepMs: 1, Values: []float64{1}}}
	w, err := Create(fs, "first", WriterOptions{Cache: cache})
	require.NoError(t, err)
	require.NoError(t, w.Add(a, one))
	require.NoError(t, w.Add(b, one))
	_, err = w.Finish()
	require.NoError(t, err)
	w, err = Create(fs, "second", WriterOptions{Cache: cache})
	require.NoError(t, err)
	require.NoError(t, w.Add(b, one))
	require.Error(t, w.Add(a, one))
	require.NoError(t, w.Abandon())
}
