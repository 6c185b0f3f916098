package read_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/disk/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/gridtest"
)

// The twin over the whole store: some slices in memory and some in parts, hours late or on time, across flushes and restarts.
func TestTheStoreAnswersAsPrometheus(t *testing.T) {
	for seed := range int64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			world := gridtest.NewWorld(uint64(100+seed), 1_700_000_000_000, (2 * time.Hour).Milliseconds())
			options := grid.DefaultOptions()
			options.Partition, options.FlushHandOvers, options.MinFreeBytes = 37*time.Minute, 1000, 0
			options.Now = func() time.Time { return time.UnixMilli(world.LastMs).Add(5 * time.Hour) }
			options.FS = disktest.NewMemory(1)
			var store *grid.Store
			closeIt := func() {
				if store != nil {
					require.NoError(t, store.Close(t.Context()))
				}
			}
			open := func() {
				var err error
				store, err = grid.Open("/grid", options)
				require.NoError(t, err)
			}
			open()
			random := rand.New(rand.NewPCG(uint64(seed), 5))
			upTo := uint64(0)
			for _, late := range []bool{false, true} {
				for ms := world.FirstMs; ms <= world.LastMs+time.Hour.Milliseconds(); {
					nextMs := ms + 1 + random.Int64N(900_000)
					upTo++
					rejected, err := store.Append(t.Context(), upTo, world.Columns(ms, nextMs-1, late))
					require.NoError(t, err)
					require.Empty(t, rejected)
					ms = nextMs
					switch random.IntN(6) {
					case 0:
						require.NoError(t, store.Flush(t.Context()))
					case 1:
						closeIt()
						open()
					}
				}
			}
			prometheus := world.Prometheus(t)
			gridtest.Compare(t, seed, 300, store, prometheus, world.Spec())
			closeIt()
			open()
			gridtest.Compare(t, seed+50, 150, store, prometheus, world.Spec())
			closeIt()
		})
	}
}
