package grid

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

var seeds = cases.Flag("grid.seeds", 500, 50, "how many histories TestAnyFault plays")

// Whatever happens to the machine and the disk, the store has everything that was handed over once the journal is
// replayed from its durable position.
func TestAnyFault(t *testing.T) {
	for seed := range seeds.N() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { anyFault(t, seed) })
	}
}

func anyFault(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	w.disk = disktest.NewMemory(seed)
	w.open(t)
	generation := map[int]int{}
	for range 10 + w.random.IntN(15) {
		w.turn(generation)
		if w.disk.Off() {
			w.restart(w.random.IntN(4) > 0)
		}
	}
	w.disk.SetFault(nil)
	w.disk.SetRoom(0)
	for w.next < len(w.steps) {
		require.True(t, w.hand())
	}
	w.same()
	require.NoError(t, w.store.Flush(context.Background()))
	w.same()
	w.restart(true)
	w.files()
	require.Equal(t, len(w.steps), w.next+w.lag(), "everything was durable")
	w.same()
	w.drop()
	require.NoError(t, Check(w.disk, dir, func(damage *run.DamageError) { require.NoError(t, damage) }))
}

// lag returns how many of the steps that would be replayed are durable.
func (w *world) lag() (n int) {
	for _, step := range w.steps[w.next:] {
		if step.upTo <= w.store.Durable() {
			n++
		}
	}
	return n
}

// turn makes one random thing happen.
func (w *world) turn(generation map[int]int) {
	switch w.random.IntN(12) {
	case 0, 1:
		_ = w.store.Flush(context.Background())
	case 2: // the machine dies at a call
		at := w.disk.Calls() + 1 + w.random.IntN(60)
		w.disk.SetFault(func(call int, _, _ string) error {
			if call >= at {
				return disktest.ErrPowerless
			}
			return nil
		})
	case 3: // some calls fail
		rate, random := 1+w.random.IntN(20), rand.New(rand.NewPCG(w.random.Uint64(), 1)) // the disk asks one at a time
		w.disk.SetFault(func(int, string, string) error {
			if random.IntN(rate) == 0 {
				return disktest.ErrInputOutput
			}
			return nil
		})
	case 4:
		w.disk.SetFault(nil)
		w.disk.SetRoom(0)
	case 5:
		w.disk.Fill()
	case 6:
		w.nowMs += w.random.Int64N(15 * 3_600_000)
	case 7: // the process dies
		w.restart(false)
		return
	case 8: // the feed starts over
		w.replay()
		if w.next > 0 {
			w.store.Rewind(w.steps[w.next-1].upTo)
		}
	case 9:
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_ = w.store.Close(ctx)
		cancel()
		w.restart(false)
		return
	}
	for range w.random.IntN(25) {
		w.happen(generation)
	}
	for w.next < len(w.steps) && w.hand() && !w.disk.Off() {
		if w.random.IntN(3) == 0 {
			w.store.workers.Wait()
		}
	}
	w.store.workers.Wait()
	w.look()
	if w.next == len(w.steps) && !w.disk.Off() {
		w.same()
	}
}
