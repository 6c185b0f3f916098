package journal

import (
	"testing"
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
