package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// TestWhatIsHandedOutSurvivesPowerLoss covers a process that ends after it wrote a segment and before the segment's
// name was durable. The next process finds the segment, cannot start another one for lack of space, and serves its
// content to readers. After that, no power failure may cause its ids to be assigned again.
func TestWhatIsHandedOutSurvivesPowerLoss(t *testing.T) {
	named := func(name string) metric.Raw {
		return metric.Raw{Worker: metric.Worker{Topology: "t", Host: "h", Port: 6700}, Component: "FilterBolt", Task: 3,
			Name: name, IntervalMs: 10_000}
	}
	for seed := uint64(1); seed <= 16; seed++ {
		o := DefaultOptions()
		o.RetryInterval = time.Millisecond
		fail := func(fs *disktest.Memory, fails string, with error) {
			fs.SetFault(func(_ int, op, _ string) error {
				if op == fails {
					return with
				}
				return nil
			})
		}
		open := func(fs *disktest.Memory, fails string, with error) *Journal {
			fail(fs, fails, with)
			o.FS = fs
			j, err := Open("journal", o)
			require.NoError(t, err)
			return j
		}

		fs := disktest.NewMemory(seed)
		killed := open(fs, "syncdir", errors.New("input/output error"))
		first, err := killed.Define(named("first"))
		require.NoError(t, err)
		fail(fs, "syncdir", disktest.ErrPowerless)
		require.Eventually(t, fs.Off, 30*time.Second, time.Millisecond)
		found := fs.Reboot(false)
		_ = killed.Close() // of a disk that is gone

		crowded := open(found, "create", errors.New("no room"))
		reader, err := crowded.Reader(0)
		require.NoError(t, err)
		ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
		_, entry, err := reader.Next(ctx)
		end()
		require.NoError(t, err)
		require.Equal(t, &SeriesDefined{ID: first, Series: named("first")}, entry)
		require.NoError(t, reader.Close())
		after := found.Reboot(true)
		_ = crowded.Close()

		j := open(after, "", nil)
		second, err := j.Define(named("second"))
		require.NoError(t, err)
		require.NotEqual(t, first, second, "seed %d", seed)
		require.NoError(t, j.Close())
	}
}
