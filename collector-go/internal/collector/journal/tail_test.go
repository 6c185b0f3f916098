package journal

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// TestWhereAFailedWriteEnds covers a failed fsync of a write with many batches, if truncating them fails too. The next
// segment header may record the end of the segment, or the process or machine ends before that.
//
// Readers, recovery and Check must agree about the content at every start, whether the last write is incomplete or not.
// Refused batches are there once after they were sent again.
func TestWhereAFailedWriteEnds(t *testing.T) {
	for _, powerLoss := range []bool{false, true} {
		for _, named := range []bool{false, true} { // by a header
			t.Run(fmt.Sprintf("power loss %v, named %v", powerLoss, named), func(t *testing.T) {
				torn := 0
				eachSeed(t, uint64(cases.Number(40, 8)), func(t *testing.T, seed uint64) {
					w := failedWrite(t, seed, named)
					require.Equal(t, w.acknowledged, readFrom(t, w.j), "what is refused is not read")
					next := w.fs.Reboot(powerLoss)
					require.NoError(t, w.j.Close())
					if found := w.agreed(t, next); found != w.sent && found != len(w.acknowledged) {
						torn++
					}
					require.Equal(t, w.sent, w.agreed(t, next))
				})
				require.Equal(t, powerLoss && !named, torn > 0, "a tail of which a part is whole")
			})
		}
	}
}

// failure is a journal whose write has failed.
type failure struct {
	fs           *disktest.Memory
	j            *Journal
	sent         int // sequences from 1 on
	acknowledged map[batchKey]int
}

// failedWrite fails a write of many batches at its fsync. If named is set, a segment with some of them follows.
// Otherwise no segment can be created.
func failedWrite(t *testing.T, seed uint64, named bool) *failure {
	w := &failure{fs: disktest.NewMemory(seed), acknowledged: map[batchKey]int{}}
	o := smallOptions(w.fs)
	o.SegmentBytes = 64 << 10
	var err error
	w.j, err = Open("/journal", o)
	require.NoError(t, err)
	entered, queued := make(chan struct{}), make(chan struct{})
	syncs := 0
	w.fs.SetFault(func(_ int, op, name string) error {
		switch {
		case op == "sync" && name == segmentName(1):
			if syncs++; syncs == 1 { // the next write contains everything that was queued meanwhile
				close(entered)
				<-queued
				return nil
			}
			return disktest.ErrInputOutput
		case op == "truncate", op == "create" && !named:
			return disktest.ErrInputOutput
		}
		return nil
	})
	var answers []chan error
	for w.sent < 20 {
		w.sent++
		answer := make(chan error, 1)
		_, err := w.j.Append(oneBatch(t, w.j, uint64(w.sent)), func(err error) { answer <- err })
		require.NoError(t, err)
		if answers = append(answers, answer); w.sent == 1 {
			<-entered
		}
	}
	close(queued)
	for i, answer := range answers {
		if err := <-answer; i > 0 {
			require.ErrorIs(t, err, ErrFull)
		} else {
			require.NoError(t, err)
		}
	}
	w.acknowledged[batchKey{Epoch{9}, 1}] = 1
	if named {
		awaitReady(w.j)
		for _, sequence := range []uint64{5, 6} {
			require.False(t, appended(t, w.j, oneBatch(t, w.j, sequence)))
			w.acknowledged[batchKey{Epoch{9}, sequence}] = 1
		}
	}
	return w
}

// agreed starts the journal on a disk, and checks that readers, recovery and Check agree. It returns the number of
// batches. Then all batches are sent again.
func (w *failure) agreed(t *testing.T, fs disk.FS) int {
	j, err := Open("/journal", smallOptions(fs))
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	found := readFrom(t, j)
	for key := range w.acknowledged {
		require.Contains(t, found, key)
	}
	known := map[batchKey]int{}
	j.mu.Lock()
	for sequence := uint64(1); sequence <= uint64(w.sent); sequence++ {
		if j.state.epochs.has(origin{epoch: Epoch{9}, topology: place.Topology}, sequence) {
			known[batchKey{Epoch{9}, sequence}] = 1
		}
	}
	j.mu.Unlock()
	require.Equal(t, known, found, "what readers get is what is known, once")
	report, err := Check("/journal", fs)
	require.NoError(t, err)
	require.Equal(t, len(found), report.Batches)

	want := maps.Clone(found)
	for sequence := uint64(1); sequence <= uint64(w.sent); sequence++ {
		key := batchKey{Epoch{9}, sequence}
		require.Equal(t, found[key] == 1, appended(t, j, oneBatch(t, j, sequence)))
		want[key] = 1
	}
	require.Equal(t, want, readFrom(t, j))
	return len(found)
}

// readFrom returns the batches that a reader from the beginning receives.
func readFrom(t *testing.T, j *Journal) map[batchKey]int {
	r := newReading()
	r.catchUp(t, j)
	return r.batches
}
