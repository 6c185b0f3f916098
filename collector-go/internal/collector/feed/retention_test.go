package feed

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

func TestRetentionWaitsForTheSlowestFeed(t *testing.T) {
	var released []journal.Position
	r := NewRetention(func(p journal.Position) error { released = append(released, p); return nil })
	r.Join("fast", nil)
	r.Join("slow", nil)
	require.NoError(t, r.Need("fast", 100))
	assert.Empty(t, released, "the slow feed has not said what it needs")
	require.NoError(t, r.Need("slow", 40))
	require.NoError(t, r.Need("fast", 200))
	assert.Equal(t, []journal.Position{40, 40}, released)
}

// unhurried is a store that makes its data durable only when it is asked to.
type unhurried struct{ *memory }

func (s unhurried) Flush(context.Context) error {
	s.sync()
	return nil
}

// TestWhoKeepsUpDoesNotFillTheJournal checks that a store which keeps up does not fill a small journal, although its
// next checkpoint is far off. The feed saves one when the journal is nearly full.
func TestWhoKeepsUpDoesNotFillTheJournal(t *testing.T) {
	small := journal.DefaultOptions()
	small.SegmentBytes, small.MaxBytes = 4<<10, 32<<10
	w := newWorldIn(t, small)
	retention := NewRetention(w.journal.Release)
	o := options(t.TempDir())
	o.CheckpointTicks = 1e9
	f, err := New(w.journal, unhurried{newMemory()}, retention, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{f, cancel, make(chan error, 1)}
	go func() { r.done <- f.Run(ctx) }()
	for range 1200 { // three times the capacity
		w.second()
		r.awaitEnd(t, w)
		require.NoError(t, retention.Relieve(ctx, w.journal.NearlyFull))
	}
	require.NoError(t, w.journal.Close())
	require.NoError(t, <-r.done)
	require.NotZero(t, w.journal.Oldest())
	require.Equal(t, f.Accounting().Read, f.Accounting().InSlices+f.Accounting().Open, "%+v", f.Accounting())
	cancel()
}
