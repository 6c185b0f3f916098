package feed

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// onMemory returns a journal of two minutes on a disk in memory, which is read only from its file.
func onMemory(t *testing.T) (*world, *disktest.Memory) {
	m, o := disktest.NewMemory(1), journal.DefaultOptions()
	o.FS, o.RingBytes = m, 0
	w := newWorldIn(t, o)
	for range 120 {
		w.second()
	}
	return w, m
}

// readDamaged feeds the content of a world's journal from a disk. Reads of its first segment between two offsets fail
// for the given number of reads.
func readDamaged(t *testing.T, from, to int64, failures int64) (*memory, *Feed) {
	w, m := onMemory(t)
	f, err := New(w.journal, newMemory(), NewRetention(w.journal.Release), options(t.TempDir()))
	require.NoError(t, err)
	f.patience = journal.Backoff{First: 100 * time.Microsecond, Last: time.Millisecond, SkipAfter: 3 * time.Millisecond}
	require.NoError(t, w.journal.Close())
	var left atomic.Int64
	left.Store(failures)
	m.SetReadFault(func(name string, off, length int64) error {
		if strings.HasSuffix(name, ".segment") && off < to && off+length > from && left.Add(-1) >= 0 {
			return disktest.ErrInputOutput
		}
		return nil
	})
	require.NoError(t, f.Run(context.Background()))
	store := f.store.(*memory)
	store.sync()
	return store, f
}

// TestAJournalThatCannotBeReadIsTriedAgain checks that a few failed reads do not lose any slice.
func TestAJournalThatCannotBeReadIsTriedAgain(t *testing.T) {
	steady, _ := readDamaged(t, 0, 0, 0)
	store, f := readDamaged(t, 0, 1<<40, 5)
	assert.Equal(t, steady.durable, store.durable)
	assert.Zero(t, testutil.ToFloat64(f.figures.unreadable))
	assert.Equal(t, 5.0, testutil.ToFloat64(f.figures.failures))
}

// TestWhatStaysUnreadableIsSteppedOver checks that a part which the disk never returns is skipped and counted. The rest
// arrives, and the accounting balances over what was read.
func TestWhatStaysUnreadableIsSteppedOver(t *testing.T) {
	steady, complete := readDamaged(t, 0, 0, 0)
	store, f := readDamaged(t, 8000, 9000, 1<<40)
	assert.Positive(t, testutil.ToFloat64(f.figures.unreadable))
	counts, all := f.pipeline.accounting(), complete.pipeline.accounting()
	read := fate{"read", ""}
	assert.Less(t, counts[read], all[read])
	assert.Greater(t, counts[read], all[read]/2)
	requireBalance(t, f.pipeline)
	assert.Less(t, len(store.durable), len(steady.durable)+20)
	assert.Greater(t, len(store.durable), len(steady.durable)/2)
}

// TestASegmentThatIsGoneIsSteppedOver checks that a segment whose file disappears at run time is skipped too.
func TestASegmentThatIsGoneIsSteppedOver(t *testing.T) {
	o := journal.DefaultOptions()
	m := disktest.NewMemory(1)
	o.FS, o.RingBytes, o.SegmentBytes = m, 0, 4<<10
	w := newWorldIn(t, o)
	for range 120 {
		w.second()
	}
	f, err := New(w.journal, newMemory(), NewRetention(w.journal.Release), options(t.TempDir()))
	require.NoError(t, err)
	f.patience = journal.Backoff{First: 100 * time.Microsecond, Last: time.Millisecond, SkipAfter: 3 * time.Millisecond}
	require.NoError(t, m.Remove(filepath.Join(w.dir, "0000000002.segment")))
	require.NoError(t, w.journal.Close())
	require.NoError(t, f.Run(context.Background()))
	assert.Equal(t, 1.0, testutil.ToFloat64(f.figures.unreadable))
	requireBalance(t, f.pipeline)
	assert.Greater(t, f.pipeline.accounting()[fate{"read", ""}], uint64(100))
}
