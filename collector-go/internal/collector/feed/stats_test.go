package feed

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

func drop(reason bulletmetricsv1.DropReason, total uint64) *bulletmetricsv1.Drop {
	return &bulletmetricsv1.Drop{Reason: reason, TotalSamples: total}
}

func TestDropsOfASenderAreCumulativeAndThoseOfSendersAdd(t *testing.T) {
	l := newStats()
	full := bulletmetricsv1.DropReason_DROP_REASON_QUEUE_FULL
	l.dropped(journal.Epoch{1}, "t", drop(full, 5))
	l.dropped(journal.Epoch{1}, "t", drop(full, 5)) // reported again
	l.dropped(journal.Epoch{1}, "t", drop(full, 7))
	l.dropped(journal.Epoch{1}, "t", drop(full, 6)) // an older batch, sent again
	l.dropped(journal.Epoch{2}, "t", drop(full, 10))
	l.dropped(journal.Epoch{2}, "t", drop(99, 1)) // a newer plugin's reason
	assert.Equal(t, map[dropKey]uint64{{"t", "queue_full"}: 17, {"t", "unspecified"}: 1}, l.drops)
}

func TestStatsSurviveACheckpoint(t *testing.T) {
	l := newStats()
	l.read, l.badHistograms = 1_000_000, 3
	for i := range 5 {
		l.dropped(journal.Epoch{byte(i)}, "topology", drop(bulletmetricsv1.DropReason_DROP_REASON_EXPIRED, uint64(i)))
	}
	restored, err := restoreStats(l.snapshot())
	require.NoError(t, err)
	assert.Equal(t, l, restored)
	assert.Equal(t, l.snapshot(), restored.snapshot())
}

func TestSendersAreBounded(t *testing.T) {
	l := newStats()
	for i := range maxSenders + 100 {
		l.dropped(journal.Epoch{byte(i), byte(i >> 8)}, "t", drop(bulletmetricsv1.DropReason_DROP_REASON_CLOSED, 1))
	}
	assert.Len(t, l.senders, maxSenders)
	assert.Equal(t, uint64(maxSenders+100), l.drops[dropKey{"t", "closed"}])
}

func FuzzRestoreStats(f *testing.F) {
	l := newStats()
	l.dropped(journal.Epoch{1}, "t", drop(bulletmetricsv1.DropReason_DROP_REASON_EXPIRED, 2))
	f.Add(l.snapshot())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if restored, err := restoreStats(data); err == nil {
			again, err := restoreStats(restored.snapshot())
			require.NoError(t, err)
			require.Equal(t, restored.snapshot(), again.snapshot())
		}
	})
}
