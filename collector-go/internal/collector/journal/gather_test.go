package journal

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// TestSmallBatchesShareAWrite sets the interval to an hour. Batches become durable earlier only if they came first, if
// many were queued, or if the journal closed.
func TestSmallBatchesShareAWrite(t *testing.T) {
	o := DefaultOptions()
	o.FS, o.GatherInterval = disktest.NewMemory(1), time.Hour
	j, err := Open("/journal", o)
	require.NoError(t, err)
	answers := make(chan uint64, 100)
	sequence := uint64(0)
	add := func(notes int) {
		sequence++
		b := oneBatch(t, j, sequence)
		if notes > 0 {
			b.Notes = &bulletmetricsv1.Batch{
				Annotations: []*bulletmetricsv1.Annotation{{Text: string(make([]byte, notes))}}}
		}
		of := sequence
		_, err := j.Append(b, func(err error) {
			require.NoError(t, err)
			answers <- of
		})
		require.NoError(t, err)
	}
	add(0)
	require.Equal(t, uint64(1), <-answers, "after a rest a write is not put off")
	written := j.Durable()
	for range 20 {
		add(0)
	}
	require.Equal(t, written, j.Durable())
	require.Empty(t, answers)
	add(plentyBytes)
	for want := uint64(2); want <= 22; want++ {
		require.Equal(t, want, <-answers)
	}
	add(0)
	require.NoError(t, j.Close())
	require.Equal(t, uint64(23), <-answers)
}

// TestRareBatchesShareAWrite sends a batch at fixed intervals. The clock is the test's own, and the disk takes no time.
func TestRareBatchesShareAWrite(t *testing.T) {
	for _, c := range []struct {
		streams   int
		every     time.Duration
		writes    int // for 40 batches
		atTheMost time.Duration
	}{
		{1, 2300 * time.Microsecond, 19, 5 * time.Millisecond},
		// The first write waits, because the minute before was calm.
		{100, 2300 * time.Microsecond, 6, 69 * time.Millisecond},
		{1, 60 * time.Millisecond, 40, 0},
		{2, 60 * time.Millisecond, 21, 60 * time.Millisecond},
		{3, 60 * time.Millisecond, 14, 120 * time.Millisecond},
		{100, 7 * time.Millisecond, 10, 210 * time.Millisecond},
		{100, 9 * time.Millisecond, 3, 250 * time.Millisecond},
		{100, 60 * time.Millisecond, 11, 250 * time.Millisecond},
		{100, 91 * time.Millisecond, 16, 250 * time.Millisecond},
		{100, time.Second, 40, 0},
	} {
		t.Run(fmt.Sprintf("%d streams, a batch every %s", c.streams, c.every), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := DefaultOptions()
				o.FS, o.GatherInterval, o.CalmInterval = disktest.NewMemory(1), Gather, Calm
				j, err := Open("/journal", o)
				require.NoError(t, err)
				first := oneBatch(t, j, 1)
				_, err = j.Append(first, func(error) {})
				require.NoError(t, err)
				for range c.streams {
					require.NoError(t, j.AppendControl(&Connected{Producer: first.Producer}))
				}
				<-time.After(time.Minute)

				writes, longest := map[time.Time]bool{}, time.Duration(0)
				for sequence := range uint64(40) {
					sent, next := time.Now(), *first
					next.Sequence = sequence + 2
					_, err := j.Append(&next, func(err error) {
						require.NoError(t, err)
						longest, writes[time.Now()] = max(longest, time.Since(sent)), true
					})
					require.NoError(t, err)
					<-time.After(c.every)
				}
				require.NoError(t, j.Close())
				require.Equal(t, c.writes, len(writes))
				require.LessOrEqual(t, longest, c.atTheMost)
			})
		})
	}
}
